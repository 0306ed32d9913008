//! Assembles the lines of Ollama's own chat: each holds the next piece of one message, calls are
//! complete, and the last line is `done`.

use serde_json::Value;

use super::content;
use super::{call_delta, delta_of};
use crate::StreamError;
use crate::json::{Fields, list, object, present, some_text};
use crate::stream::Delta;

/// The state of a partially received response.
#[derive(Debug, Default)]
pub(super) struct OllamaBuilder {
    response: Fields,
    message: Fields,
    calls: Vec<Value>,
    is_done: bool,
}

/// Whether an event is a line of this format.
pub(super) fn is_line(event: &Fields) -> bool {
    event.get("done").is_some_and(Value::is_boolean) && !event.contains_key("choices")
}

impl OllamaBuilder {
    pub(super) fn push(&mut self, mut line: Fields) -> Vec<Delta> {
        let mut deltas = Vec::new();
        if let Some(Value::Object(mut piece)) = line.shift_remove("message") {
            for name in ["thinking", "content"] {
                let Some(Value::String(text)) = piece.shift_remove(name) else {
                    continue;
                };
                content::append(&mut self.message, name, &text);
                let delta = match name {
                    "content" => Delta::Text {
                        index: 0,
                        text: text.clone(),
                    },
                    _ => delta_of(name, text.clone()),
                };
                deltas.extend((!text.is_empty()).then_some(delta));
            }
            for call in list(&piece, "tool_calls") {
                deltas.extend(self.call(call));
            }
            piece.shift_remove("tool_calls");
            piece.retain(|_, value| !value.is_null());
            self.message.extend(piece);
        }
        self.is_done |= line.get("done") == Some(&Value::Bool(true));
        self.response.extend(line);
        deltas
    }

    fn call(&mut self, call: &Value) -> [Delta; 2] {
        let none = Fields::new();
        let entry = call.as_object().unwrap_or(&none);
        let function = object(entry, "function").unwrap_or(&none);
        let arguments = present(function, "arguments");
        let arguments = arguments.map_or_else(
            || "{}".to_owned(),
            |arguments| {
                let text = arguments.as_str().map(str::to_owned);
                text.unwrap_or_else(|| arguments.to_string())
            },
        );
        let at = self.calls.len();
        self.calls.push(call.clone());
        let (id, name) = (some_text(entry, "id"), some_text(function, "name"));
        let delta = call_delta(at, id, name, &arguments);
        let index = delta.index;
        [Delta::Call(delta), Delta::CallEnd { index }]
    }

    pub(super) fn finish(self) -> Result<Value, StreamError> {
        if !self.is_done {
            return Err(StreamError::truncated("no line is `done`"));
        }
        let mut message = self.message;
        message.entry("role").or_insert_with(|| "assistant".into());
        message.entry("content").or_insert_with(|| "".into());
        if !self.calls.is_empty() {
            message.insert("tool_calls".to_owned(), self.calls.into());
        }
        let mut response = self.response;
        response.insert("message".to_owned(), Value::Object(message));
        Ok(Value::Object(response))
    }
}
