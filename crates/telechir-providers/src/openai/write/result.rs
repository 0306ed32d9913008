//! Results as outputs, in the form that their call has.

use serde_json::{Value, json};
use telechir_protocol::{CallId, EditResult, Failure, FunctionResult, Meta, ToolResult};

use super::Writer;
use super::message::input_part;
use crate::EncodeError;
use crate::openai::LONGEST_TEXT;
use crate::openai::call_form::{Asked, Form, form};
use crate::openai::item::{object_of, property, restore};
use crate::openai::read::{ERROR, KEPT_OF_OUTPUTS};

impl Writer {
    /// The output of any call.
    pub(in crate::openai) fn result(
        &mut self,
        result: &ToolResult,
        place: &str,
    ) -> Result<(), EncodeError> {
        match result {
            ToolResult::Computer(result) => self.computer_result(result, place)?,
            ToolResult::Shell(result) => self.shell_result(result, place),
            ToolResult::Edit(result) => self.edit_result(result),
            ToolResult::Function(result) => self.function_result(result, place),
        }
        Ok(())
    }

    pub(super) fn asked(&self, call_id: &CallId) -> Option<&Asked> {
        self.asked.get(call_id)
    }

    /// An output of a function, in the form its call has.
    pub(super) fn function_output(&self, call_id: &CallId, output: Value, meta: &Meta) -> Value {
        let asked = self.asked(call_id);
        let custom = match asked {
            Some(asked) => asked.form == Form::Custom,
            None => property(meta, form::NAME) == Some(form::CUSTOM),
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
        restore(&mut item, meta, &KEPT_OF_OUTPUTS);
        let caller = asked.and_then(|asked| asked.caller.clone());
        item.extend(caller.map(|caller| ("caller".to_owned(), caller)));
        Value::Object(item)
    }

    pub(super) fn edit_result(&mut self, result: &EditResult) {
        let patch = self
            .asked(&result.call_id)
            .is_none_or(|asked| asked.form == Form::Patch);
        let said = match &result.error {
            Some(failure) if patch => Some(failure.message.clone()),
            Some(failure) => Some(told(failure)),
            None => result.text.clone(),
        };
        let said = said.map(|said| clipped(&said).to_owned());
        if !patch {
            let output = self.function_output(
                &result.call_id,
                said.unwrap_or_default().into(),
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
            .asked(&result.call_id)
            .and_then(|asked| asked.caller.clone());
        self.push(Value::Object(object_of([
            ("type", "apply_patch_call_output".into()),
            ("call_id", result.call_id.as_str().into()),
            ("status", status.into()),
            ("output", said.into()),
            ("caller", caller.into()),
            ("id", property(&result.meta, "id").into()),
        ])));
    }

    pub(super) fn function_result(&mut self, result: &FunctionResult, place: &str) {
        let mut parts: Vec<Value> = result.items.iter().filter_map(input_part).collect();
        if parts.len() < result.items.len() {
            let why = "an output is words, pictures and files";
            self.report
                .lost("a part of a function's result", place, why);
        }
        let said = |value: &Value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        };
        let plain = result.result.as_ref().map(said);
        let failed = result.error.as_ref().map(told);
        let words = match (failed, plain) {
            (Some(failed), Some(plain)) => Some(format!("{failed}\n{plain}")),
            (failed, plain) => failed.or(plain),
        };
        let output = if parts.is_empty() {
            Value::from(clipped(&words.unwrap_or_default()))
        } else {
            if let Some(words) = words {
                parts.insert(0, json!({"type": "input_text", "text": clipped(&words)}));
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
        restore(&mut item, &result.meta, &KEPT_OF_OUTPUTS);
        self.push(Value::Object(item));
    }
}

/// A failure in words that are read back as one.
pub(super) fn told(failure: &Failure) -> String {
    let message = failure.message.as_str();
    format!("{ERROR}{}", message.strip_prefix(ERROR).unwrap_or(message))
}

/// A text no longer than the provider takes.
pub(super) fn clipped(text: &str) -> &str {
    text.char_indices()
        .nth(LONGEST_TEXT)
        .map_or(text, |(end, _)| &text[..end])
}
