//! Encodes results as outputs that match the item type of their call.

use serde_json::{Value, json};
use telechir_protocol::{CallId, EditResult, Failure, FunctionResult, Meta, ToolResult};

use super::ItemWriter;
use super::message::input_part;
use crate::EncodeError;
use crate::content_text;
use crate::json::object_of;
use crate::openai::MAX_TEXT_CHARS;
use crate::openai::call_form::{CallForm, CallItem, form_property};
use crate::openai::decode::{ERROR, OUTPUT_FIELDS};
use crate::openai::item::{property, restore};
use crate::openai::item_kinds::TOOL_SEARCH;

impl ItemWriter {
    /// Encodes the result of any call.
    pub(in crate::openai) fn result(
        &mut self,
        result: &ToolResult,
        path: &str,
    ) -> Result<(), EncodeError> {
        match result {
            ToolResult::Computer(result) => self.computer_result(result, path)?,
            ToolResult::Shell(result) => self.shell_result(result, path),
            ToolResult::Edit(result) => self.edit_result(result),
            ToolResult::Function(result) => self.function_result(result, path),
        }
        Ok(())
    }

    pub(super) fn call_form(&self, call_id: &CallId) -> Option<&CallForm> {
        self.call_forms.get(call_id)
    }

    /// The output of a function or custom tool call.
    pub(super) fn function_output(&self, call_id: &CallId, output: Value, meta: &Meta) -> Value {
        let call_form = self.call_form(call_id);
        let custom = match call_form {
            Some(call_form) => call_form.item == CallItem::Custom,
            None => property(meta, form_property::NAME) == Some(form_property::CUSTOM),
        };
        let kind = if custom {
            "custom_tool_call_output"
        } else {
            "function_call_output"
        };
        let mut item = object_of([
            ("type", kind.into()),
            ("call_id", call_id.as_str().into()),
            ("output", output),
        ]);
        restore(&mut item, meta, &OUTPUT_FIELDS);
        let caller = call_form.and_then(|call_form| call_form.caller.clone());
        item.extend(caller.map(|caller| ("caller".to_owned(), caller)));
        Value::Object(item)
    }

    pub(super) fn edit_result(&mut self, result: &EditResult) {
        let patch = self
            .call_form(&result.call_id)
            .is_none_or(|call_form| call_form.item == CallItem::Patch);
        let text = match &result.error {
            Some(failure) if patch => Some(failure.message.clone()),
            Some(failure) => Some(error_text(failure)),
            None => result.text.clone(),
        };
        let text = text.map(|text| truncated(&text).to_owned());
        if !patch {
            let output = self.function_output(
                &result.call_id,
                text.unwrap_or_default().into(),
                &result.meta,
            );
            return self.push(output);
        }
        let status = if result.error.is_some() {
            "failed"
        } else {
            "completed"
        };
        let caller = self
            .call_form(&result.call_id)
            .and_then(|call_form| call_form.caller.clone());
        self.push(Value::Object(object_of([
            ("type", "apply_patch_call_output".into()),
            ("call_id", result.call_id.as_str().into()),
            ("status", status.into()),
            ("output", text.into()),
            ("caller", caller.into()),
            ("id", property(&result.meta, "id").into()),
        ])));
    }

    pub(super) fn function_result(&mut self, result: &FunctionResult, path: &str) {
        let called = result.call_id.as_ref();
        let form = called.and_then(|id| Some((id, &self.call_form(id)?.item)));
        if let Some((call_id, CallItem::Other(kind))) = form
            && kind == TOOL_SEARCH
        {
            return self.tool_search_output(&call_id.clone(), result, path);
        }
        let mut parts: Vec<Value> = result.items.iter().filter_map(input_part).collect();
        for item in result
            .items
            .iter()
            .filter(|item| input_part(item).is_none())
        {
            let why = "an output holds only text, images and files";
            let label = content_text::label(item);
            let Some(text) = content_text::as_text(item) else {
                self.report.lost(label, path, why);
                continue;
            };
            self.report.preserved(label, path, why, "as text");
            parts.push(json!({"type": "input_text", "text": text}));
        }
        let to_text = |value: &Value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        };
        let plain_text = result.result.as_ref().map(to_text);
        let failure_text = result.error.as_ref().map(error_text);
        let text = match (failure_text, plain_text) {
            (Some(failure_text), Some(plain_text)) => Some(format!("{failure_text}\n{plain_text}")),
            (failure_text, plain_text) => failure_text.or(plain_text),
        };
        let output = if parts.is_empty() {
            Value::from(truncated(&text.unwrap_or_default()))
        } else {
            if let Some(text) = text {
                parts.insert(0, json!({"type": "input_text", "text": truncated(&text)}));
            }
            Value::Array(parts)
        };
        if let Some(call_id) = &result.call_id {
            let output = self.function_output(call_id, output, &result.meta);
            return self.push(output);
        }
        let mut item = object_of([
            ("type", "function_call_output".into()),
            ("name", result.name.as_deref().into()),
            ("output", output),
        ]);
        restore(&mut item, &result.meta, &OUTPUT_FIELDS);
        self.push(Value::Object(item));
    }
}

/// Formats a failure so that it is decoded as a failure again.
pub(super) fn error_text(failure: &Failure) -> String {
    let message = failure.message.as_str();
    format!("{ERROR}{}", message.strip_prefix(ERROR).unwrap_or(message))
}

/// Truncates a text to the provider's limit.
pub(super) fn truncated(text: &str) -> &str {
    text.char_indices()
        .nth(MAX_TEXT_CHARS)
        .map_or(text, |(end, _)| &text[..end])
}
