//! Function and custom tools. Calls of telechir's own functions become the neutral calls they
//! represent.

use serde_json::Value;
use telechir_protocol::{
    Arguments, CallId, CommandOutput, ComputerResult, Content, Failure, FailureKind, FunctionCall,
    FunctionResult, Meta, ShellOutcome, ShellResult,
};

use super::computer::unfinished;
use super::message::part;
use super::{CallContext, ItemReader};
use crate::extra_tools;
use crate::json::{into_media, kind, owned, present, text, text_of_content};
use crate::openai::PROVIDER;
use crate::openai::call_form::form_property;
use crate::openai::item::{Item, keep, raw};

/// Call fields without a neutral equivalent.
pub(in crate::openai) const TOOL_CALL_FIELDS: [&str; 4] =
    ["namespace", "async", "caller", "status"];

/// Output fields without a neutral equivalent.
pub(in crate::openai) const OUTPUT_FIELDS: [&str; 5] =
    ["id", "namespace", "async", "caller", "status"];

/// Prefix of a failure in outputs written by this dialect.
pub(in crate::openai) const ERROR: &str = "Error: ";

impl ItemReader {
    pub(super) fn tool_call(&mut self, item: &Item) -> Option<Content> {
        let name = owned(item, "name");
        let missing = || Some("`name` is missing".to_owned()).filter(|_| name.is_none());
        let problem = missing().or_else(|| unfinished(item));
        let name = name.unwrap_or_default();
        let custom = kind(item) == "custom_tool_call";
        let mut meta = raw(item);
        keep(&mut meta, item, &TOOL_CALL_FIELDS);
        let arguments = match present(item, if custom { "input" } else { "arguments" }) {
            Some(Value::Object(members)) => Arguments::Json(members.clone()),
            Some(Value::String(text)) => Arguments::Text(text.clone()),
            _ => Arguments::Text(String::new()),
        };
        if custom {
            meta.set_property(PROVIDER, form_property::NAME, form_property::CUSTOM.into());
        } else if let Some(call) = self.extra_tool_call(item, &name, &arguments, &meta) {
            return Some(call);
        }
        Some(Content::FunctionCall(FunctionCall {
            call_id: text(item, "call_id").map(CallId::from),
            item_id: owned(item, "id"),
            name,
            arguments,
            requires_local_execution: true,
            could_be_structured_output: false,
            exception: problem,
            meta,
        }))
    }

    /// Decodes a call of one of telechir's own functions and records it for decoding its output.
    fn extra_tool_call(
        &mut self,
        item: &Item,
        name: &str,
        args: &Arguments,
        meta: &Meta,
    ) -> Option<Content> {
        let call_id = text(item, "call_id")?;
        let mut meta = meta.clone();
        meta.set_property(
            PROVIDER,
            form_property::NAME,
            form_property::FUNCTION.into(),
        );
        if let Some(mut call) = extra_tools::decode_computer_call(name, call_id, args) {
            let call_contexts = if extra_tools::is_browser(name) {
                CallContext::Browser
            } else {
                CallContext::ComputerAction
            };
            self.call_contexts.insert(call_id.to_owned(), call_contexts);
            call.exception = call.exception.or_else(|| unfinished(item));
            call.item_id = owned(item, "id");
            call.status = owned(item, "status");
            call.meta = meta;
            return Some(Content::ComputerCall(call));
        }
        let mut call = extra_tools::decode_shell_call(name, call_id, args)?;
        self.call_contexts
            .insert(call_id.to_owned(), CallContext::ShellSession);
        call.exception = call.exception.or_else(|| unfinished(item));
        call.item_id = owned(item, "id");
        call.status = owned(item, "status");
        call.meta = meta;
        Some(Content::ShellCall(call))
    }

    pub(super) fn tool_output(&mut self, item: &Item) -> Content {
        let mut meta = raw(item);
        keep(&mut meta, item, &OUTPUT_FIELDS);
        if kind(item) == "custom_tool_call_output" {
            meta.set_property(PROVIDER, form_property::NAME, form_property::CUSTOM.into());
        }
        let output = present(item, "output");
        let parts: Vec<Content> = output
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(part)
            .collect();
        let call_id = text(item, "call_id");
        match call_id.and_then(|id| Some((id, self.call_contexts.get(id)?))) {
            Some((id, CallContext::Browser)) => {
                computer_result(id, extra_tools::BROWSER, output, parts, meta)
            }
            Some((id, CallContext::ComputerAction)) => {
                computer_result(id, extra_tools::COMPUTER_GROUP, output, parts, meta)
            }
            Some((id, CallContext::ShellSession)) => shell_result(id, output, meta),
            Some((_, CallContext::AnsweredByProvider | CallContext::Client)) | None => {
                Content::FunctionResult(FunctionResult {
                    call_id: call_id.map(CallId::from),
                    name: owned(item, "name"),
                    items: parts,
                    result: output.filter(|output| !output.is_array()).cloned(),
                    error: None,
                    meta,
                })
            }
        }
    }
}

/// Splits the text of an output into plain text and an error marked by [`ERROR`].
fn text_and_error(output: Option<&Value>, parts: &[Content]) -> (Option<String>, Option<Failure>) {
    let texts = parts.iter().filter_map(text_of_content);
    let lines: Vec<&str> = output
        .and_then(Value::as_str)
        .into_iter()
        .chain(texts)
        .collect();
    let (errors, texts): (Vec<&str>, Vec<&str>) =
        lines.into_iter().partition(|text| text.starts_with(ERROR));
    let error = errors.first().and_then(|text| text.strip_prefix(ERROR));
    let text = (!texts.is_empty()).then(|| texts.join("\n"));
    (
        text,
        error.map(|message| Failure::new(FailureKind::Device, message)),
    )
}

fn computer_result(
    call_id: &str,
    group: &str,
    output: Option<&Value>,
    parts: Vec<Content>,
    meta: Meta,
) -> Content {
    let mut result = ComputerResult::new(call_id);
    (result.text_output, result.error) = text_and_error(output, &parts);
    result.group = Some(group.to_owned());
    result.screenshot = parts.into_iter().rev().find_map(into_media);
    result.meta = meta;
    Content::ComputerResult(result)
}

fn shell_result(call_id: &str, output: Option<&Value>, meta: Meta) -> Content {
    let (text, error) = text_and_error(output, &[]);
    let stdout = text.unwrap_or_default();
    let entry = CommandOutput {
        stdout,
        outcome: if error.is_some() {
            ShellOutcome::Error
        } else {
            ShellOutcome::Success
        },
        ..CommandOutput::default()
    };
    let mut result = ShellResult::new(call_id, vec![entry]);
    result.combined = true;
    result.error = error;
    result.meta = meta;
    Content::ShellResult(result)
}
