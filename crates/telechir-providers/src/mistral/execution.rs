//! Tools executed by the service: code interpreter and image generation as such, any other tool as
//! a hosted function call.

use serde_json::{Value, json};
use telechir_protocol::{Arguments, Content, FunctionCall, HostedCall, Meta, json_limits};

use super::PROVIDER;
use crate::content_text::hosted_texts;
use crate::json::{Fields, joined_texts, object, object_of, owned, present, text};

/// Stores the arguments and the outcome (`info`) unchanged.
const ARGUMENTS: &str = "arguments";
const INFO: &str = "info";
/// Marks a call that the service executed.
const EXECUTION: &str = "execution";

/// Decodes a `tool.execution` entry.
pub(super) fn read(entry: &Fields, mut meta: Meta) -> Option<Vec<Content>> {
    let name = text(entry, "name")?;
    meta.set_property(PROVIDER, EXECUTION, name.into());
    for member in [ARGUMENTS, INFO] {
        if let Some(value) = present(entry, member) {
            meta.set_property(PROVIDER, member, value.clone());
        }
    }
    let argument_text = |member: &str| argument(entry, member);
    let call = |inputs: Vec<Content>, meta| HostedCall {
        call_id: text(entry, "id").map(Into::into),
        inputs,
        meta,
        ..HostedCall::default()
    };
    let texts = |text: Option<String>| text.map(Content::text).into_iter().collect();
    Some(match name {
        "code_interpreter" => {
            let info = object(entry, INFO);
            let code = info.and_then(|info| owned(info, "code"));
            let code = code.or_else(|| argument_text("code"));
            let call_content = Content::CommandCall(call(texts(code), meta));
            let output = info.and_then(|info| owned(info, "code_output"));
            let result = output.map(|output| HostedCall {
                results: vec![Content::text(output)],
                ..call(Vec::new(), Meta::default())
            });
            std::iter::once(call_content)
                .chain(result.map(Content::CommandResult))
                .collect()
        }
        "image_generation" => {
            vec![Content::ImageGenerationCall(call(
                texts(argument_text("prompt")),
                meta,
            ))]
        }
        _ => vec![Content::FunctionCall(other(entry, name, meta))],
    })
}

fn other(entry: &Fields, name: &str, meta: Meta) -> FunctionCall {
    let arguments = match present(entry, ARGUMENTS) {
        Some(Value::Object(members)) => Arguments::Json(members.clone()),
        Some(Value::String(text)) => Arguments::Text(text.clone()),
        _ => Arguments::Text(String::new()),
    };
    FunctionCall {
        call_id: text(entry, "id").map(Into::into),
        item_id: owned(entry, "id"),
        requires_local_execution: false,
        meta,
        ..FunctionCall::new(name, arguments)
    }
}

fn argument(entry: &Fields, member: &str) -> Option<String> {
    let arguments = present(entry, ARGUMENTS)?;
    let parsed = arguments
        .as_str()
        .and_then(|text| json_limits::parse(text.as_bytes()).ok());
    let arguments = parsed.as_ref().unwrap_or(arguments);
    arguments.get(member)?.as_str().map(str::to_owned)
}

/// Whether the service executed the call.
pub(super) fn is_execution(meta: &Meta) -> bool {
    meta.property(PROVIDER, EXECUTION).is_some()
}

/// Encodes a `tool.execution` entry and returns the number of contents used; `None` if the content
/// is no such tool.
pub(super) fn write(rest: &[Content]) -> Option<(Fields, usize)> {
    let entry = |name: &str, arguments: Value, info: Value, meta: &Meta| {
        let property = |member: &str| meta.property(PROVIDER, member).cloned();
        let is_original = is_execution(meta);
        // Arguments stay absent if they were absent originally; new entries require them.
        let arguments = match property(ARGUMENTS) {
            Some(own) => own,
            None if is_original => Value::Null,
            None => arguments,
        };
        let info = if is_original {
            property(INFO).unwrap_or_default()
        } else {
            info
        };
        object_of([
            ("type", "tool.execution".into()),
            ("name", name.into()),
            (ARGUMENTS, arguments),
            (INFO, info),
        ])
    };
    let first = rest.first()?;
    if let Content::CommandCall(call) = first {
        let result = match rest.get(1) {
            Some(Content::CommandResult(result)) if result.call_id == call.call_id => Some(result),
            _ => None,
        };
        let code = joined_texts(&call.inputs, "\n");
        let output = result.map(|result| hosted_texts(result).join("\n"));
        let info = object_of([
            ("code", code.as_str().into()),
            ("code_output", output.into()),
        ]);
        let arguments = json!({"code": code}).to_string().into();
        let written = entry("code_interpreter", arguments, info.into(), &call.meta);
        return Some((written, 1 + usize::from(result.is_some())));
    }
    if let Content::ImageGenerationCall(call) = first {
        let prompt = joined_texts(&call.inputs, "\n");
        let arguments = json!({"prompt": prompt}).to_string().into();
        let written = entry("image_generation", arguments, json!({}), &call.meta);
        return Some((written, 1));
    }
    let Content::FunctionCall(call) = first else {
        return None;
    };
    is_execution(&call.meta).then(|| {
        let arguments = call.arguments.to_text().into();
        (entry(&call.name, arguments, json!({}), &call.meta), 1)
    })
}
