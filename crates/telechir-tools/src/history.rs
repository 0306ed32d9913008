//! The last calls of a client, for `get_action_history`.

use std::collections::VecDeque;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::answer::ToolAnswer;
use crate::arguments::{byte_size, shortened};

/// How many calls are remembered.
const MAX_ENTRIES: usize = 50;
/// Maximum characters of a result's summary.
const MAX_SUMMARY_CHARS: usize = 500;
/// Maximum bytes of the arguments that an entry has as they are.
const MAX_ARGUMENT_BYTES: usize = 4_096;
/// Characters of each argument of an entry whose arguments are longer.
const SHORTENED_CHARS: usize = 200;
/// Arguments of such an entry; more than any tool takes.
const MAX_ARGUMENTS: usize = 32;

/// A call that ended, whatever its result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryEntry {
    /// Number of the call, from 1.
    pub step: u64,
    /// Name of the tool.
    pub tool: String,
    /// The arguments as the model sent them; each only as its beginning if they have more than 4,096
    /// bytes.
    pub args: Value,
    /// `success`, `error`, `denied` or another status.
    pub status: String,
    /// The beginning of the result's text.
    pub result_summary: String,
    /// When the call ended, in milliseconds since 1970.
    pub timestamp: u64,
    /// How a model could undo it: `ctrl_z`, `check_command`, `no_undo` or `no_op`.
    pub undoable_hint: &'static str,
}

/// A ring of the last 50 calls.
#[derive(Debug, Default)]
pub struct ActionHistory {
    entries: VecDeque<HistoryEntry>,
    count: u64,
}

impl ActionHistory {
    /// Adds a call that ended, and when it ended, in milliseconds since 1970.
    pub fn add(
        &mut self,
        tool: &str,
        arguments: &Map<String, Value>,
        answer: &ToolAnswer,
        timestamp: u64,
    ) {
        self.count += 1;
        if self.entries.len() == MAX_ENTRIES {
            self.entries.pop_front();
        }
        self.entries.push_back(HistoryEntry {
            step: self.count,
            tool: shortened(tool),
            args: Value::Object(bounded(arguments)),
            status: answer.status.name().to_owned(),
            result_summary: beginning(&answer.text(), MAX_SUMMARY_CHARS).to_owned(),
            timestamp,
            undoable_hint: undo_hint(tool),
        });
    }

    /// The last calls, the earliest first.
    pub fn last(&self, count: usize) -> Vec<&HistoryEntry> {
        let skipped = self.entries.len().saturating_sub(count);
        self.entries.iter().skip(skipped).collect()
    }
}

/// The arguments, or the beginning of each if they are long.
fn bounded(arguments: &Map<String, Value>) -> Map<String, Value> {
    let bytes = arguments
        .iter()
        .map(|(name, value)| name.len() + byte_size(value));
    if bytes.sum::<usize>() <= MAX_ARGUMENT_BYTES {
        return arguments.clone();
    }
    let shortened_member = |(name, value): (&String, &Value)| (shortened(name), cut(value));
    let first = arguments.iter().take(MAX_ARGUMENTS);
    first.map(shortened_member).collect()
}

/// The beginning of a value as text, with the size of all of it; a short value as it is.
fn cut(value: &Value) -> Value {
    let bytes = byte_size(value);
    if bytes <= SHORTENED_CHARS {
        return value.clone();
    }
    let beginning = match value {
        Value::String(text) => beginning(text, SHORTENED_CHARS),
        Value::Array(_) => "[…]",
        Value::Object(_) => "{…}",
        Value::Null | Value::Bool(_) | Value::Number(_) => return value.clone(),
    };
    format!("{beginning}… ({bytes} bytes)").into()
}

fn beginning(text: &str, characters: usize) -> &str {
    match text.char_indices().nth(characters) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

fn undo_hint(tool: &str) -> &'static str {
    match tool {
        "execute_gui" | "execute_accessible" | "computer_use" => "ctrl_z",
        "execute_cli" => "check_command",
        "observe_screen" | "get_ui_context" | "wait" | "get_action_history" => "no_op",
        _ => "no_undo",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn entry(arguments: &Value) -> HistoryEntry {
        let mut history = ActionHistory::default();
        let arguments = arguments.as_object().expect("an object");
        let answer = ToolAnswer::success(Map::new(), Duration::ZERO);
        history.add("execute_cli", arguments, &answer, 1);
        HistoryEntry::clone(history.last(1).first().expect("an entry"))
    }

    #[test]
    fn short_arguments_stay_as_they_are() {
        let arguments = json!({"command": "ls", "timeout": 2});
        assert_eq!(entry(&arguments).args, arguments);
    }

    #[test]
    fn long_arguments_are_cut_and_their_size_is_named() {
        let long = "é".repeat(1 << 20);
        let many: Map<String, Value> = (0..1_000)
            .map(|n| (format!("{n}{long}").chars().take(40).collect(), n.into()))
            .collect();
        let nested = json!([[long, long], {"a": long}]);
        for arguments in [
            json!({"command": long, "timeout": 2}),
            json!({long.clone(): 1}),
            json!({"params": {long.clone(): long}, "list": nested}),
            Value::Object(many),
        ] {
            let entry = entry(&arguments);
            let bytes = json!(entry).to_string().len();
            assert!(bytes < 10_000, "an entry of {bytes} bytes");
        }
        let cut = entry(&json!({"command": long, "timeout": 2})).args;
        assert_eq!(cut["timeout"], 2);
        let command = cut["command"].as_str().expect("a text");
        assert!(command.starts_with("éé") && command.ends_with("… (2097152 bytes)"));
    }
}
