//! Calls for the client without a neutral kind, and their outputs.

use serde_json::{Value, json};
use telechir_protocol::{CallId, FunctionCall, FunctionResult};

use super::ItemWriter;
use super::result::error_text;
use crate::json::object_of;
use crate::openai::item::{Item, restore};
use crate::openai::item_kinds::{TOOL_SEARCH, TOOL_SEARCH_OUTPUT};

/// The call as an item of its own type.
pub(super) fn call_item(kind: &str, call: &FunctionCall, call_id: &str) -> Item {
    let mut item = object_of([
        ("type", kind.into()),
        ("id", call.item_id.as_deref().into()),
        ("call_id", call_id.into()),
        ("status", "completed".into()),
    ]);
    let arguments = call.arguments.to_value().unwrap_or_default();
    if kind == TOOL_SEARCH {
        item.insert("execution".to_owned(), "client".into());
        item.insert("arguments".to_owned(), arguments);
    } else if let Value::Object(arguments) = arguments {
        item.extend(arguments);
    }
    restore(&mut item, &call.meta, &["caller", "status"]);
    item
}

impl ItemWriter {
    /// The output of a tool search holds tools only; any other result follows in a message.
    pub(super) fn tool_search_output(
        &mut self,
        call_id: &CallId,
        result: &FunctionResult,
        path: &str,
    ) {
        let value = result.result.as_ref();
        let tools = value.and_then(|value| value.get("tools").filter(|tools| tools.is_array()));
        let error = result.error.as_ref().map(error_text);
        let text = error.or_else(|| match tools {
            Some(_) => None,
            None => value.map(|value| {
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned)
            }),
        });
        if let Some(text) = text {
            let what = format!("the result of call {call_id}");
            let why = "the output of a tool search holds only tools";
            self.report
                .preserved(&what, path, why, "as a message after the outputs");
            self.notes.push(format!("{what}: {text}"));
        }
        let mut item = object_of([
            ("type", TOOL_SEARCH_OUTPUT.into()),
            ("call_id", call_id.as_str().into()),
            ("status", "completed".into()),
            ("execution", "client".into()),
            ("tools", tools.cloned().unwrap_or_else(|| json!([]))),
        ]);
        restore(&mut item, &result.meta, &["caller", "id", "status"]);
        self.push(Value::Object(item));
    }
}
