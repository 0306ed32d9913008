//! What a stream event changes in an item.

use serde_json::{Value, json};

use crate::json::text;
use crate::openai::item::Item;

/// One step of the path to a value inside an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathStep {
    Member(&'static str),
    /// Index into a list, and the initial value for a new entry.
    Entry(u64, NewEntry),
}

/// Initial value of a new list entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewEntry {
    EmptyString,
    Text,
    Refusal,
    Summary,
    Thought,
    Output,
    Annotation,
}

impl NewEntry {
    fn value(self) -> Value {
        match self {
            Self::EmptyString => json!(""),
            Self::Text => json!({"type": "output_text", "text": "", "annotations": []}),
            Self::Refusal => json!({"type": "refusal", "refusal": ""}),
            Self::Summary => json!({"type": "summary_text", "text": ""}),
            Self::Thought => json!({"type": "reasoning_text", "text": ""}),
            Self::Output => json!({"stdout": "", "stderr": ""}),
            Self::Annotation => Value::Null,
        }
    }
}

/// How an update is shown to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeltaKind {
    Text,
    Reasoning,
    Arguments,
    /// As the raw event, or not at all.
    Event,
}

/// An update to one value of an item.
#[derive(Clone, Debug)]
pub(super) struct ItemUpdate {
    pub(super) path: Vec<PathStep>,
    pub(super) value: Value,
    /// Whether the value replaces the previous one instead of extending it.
    pub(super) is_complete: bool,
    pub(super) delta_kind: DeltaKind,
}

impl ItemUpdate {
    /// The update described by an event; `None` if it changes nothing.
    pub(super) fn of(kind: &str, event: &Item) -> Option<Self> {
        use PathStep::Member;
        let number = |name: &str| event.get(name).and_then(Value::as_u64).unwrap_or_default();
        let entry = |name: &str, new: NewEntry| PathStep::Entry(number(name), new);
        let part = |new: NewEntry| vec![Member("content"), entry("content_index", new)];
        let summary = || vec![Member("summary"), entry("summary_index", NewEntry::Summary)];
        let command = || {
            let commands = Member("commands");
            vec![
                Member("action"),
                commands,
                entry("command_index", NewEntry::EmptyString),
            ]
        };
        let then = |mut path: Vec<PathStep>, name: &'static str| {
            path.push(Member(name));
            path
        };
        let (name, is_complete) = kind.strip_prefix("response.")?.rsplit_once('.')?;
        let is_complete = match is_complete {
            "delta" => false,
            "done" | "added" => true,
            _ => return None,
        };
        let (path, complete_field, delta_kind) = match name {
            "content_part" => (part(NewEntry::Text), "part", DeltaKind::Event),
            "output_text" => (then(part(NewEntry::Text), "text"), "text", DeltaKind::Text),
            "output_text.annotation" => {
                let mut path = then(part(NewEntry::Text), "annotations");
                path.push(entry("annotation_index", NewEntry::Annotation));
                (path, "annotation", DeltaKind::Event)
            }
            "refusal" => (
                then(part(NewEntry::Refusal), "refusal"),
                "refusal",
                DeltaKind::Text,
            ),
            "reasoning_summary_part" => (summary(), "part", DeltaKind::Event),
            "reasoning_summary_text" => (then(summary(), "text"), "text", DeltaKind::Reasoning),
            "reasoning_text" => (
                then(part(NewEntry::Thought), "text"),
                "text",
                DeltaKind::Reasoning,
            ),
            "function_call_arguments" => {
                (vec![Member("arguments")], "arguments", DeltaKind::Arguments)
            }
            "mcp_call_arguments" => (vec![Member("arguments")], "arguments", DeltaKind::Event),
            "custom_tool_call_input" => (vec![Member("input")], "input", DeltaKind::Arguments),
            "code_interpreter_call_code" => (vec![Member("code")], "code", DeltaKind::Event),
            "apply_patch_call_operation_diff" => {
                let path = vec![Member("operation"), Member("diff")];
                (path, "diff", DeltaKind::Event)
            }
            "shell_call_command" => (command(), "command", DeltaKind::Event),
            "shell_call_output_content" => {
                let path = vec![Member("output"), entry("command_index", NewEntry::Output)];
                (path, "output", DeltaKind::Event)
            }
            _ => return None,
        };
        let mut value = event
            .get(if is_complete { complete_field } else { "delta" })?
            .clone();
        // A complete output is sent as a list with one element.
        if let (Value::Array(entries), "shell_call_output_content") = (&mut value, name) {
            value = entries.pop()?;
        }
        Some(Self {
            path,
            value,
            is_complete,
            delta_kind,
        })
    }

    /// The text delta, or an empty string.
    pub(super) fn text(&self) -> &str {
        self.value.as_str().unwrap_or_default()
    }

    /// Applies the update to the assembled fields.
    pub(super) fn apply(&self, pieces: &mut Value) -> Result<(), String> {
        let mut path = pieces;
        for step in &self.path {
            path = match step {
                PathStep::Member(name) => field_mut(path, name),
                PathStep::Entry(index, new) => entry_mut(path, *index, *new)?,
            };
        }
        match (&mut *path, &self.value) {
            (path, value) if self.is_complete => *path = value.clone(),
            (Value::String(text), Value::String(more)) => text.push_str(more),
            (Value::Object(members), Value::Object(more)) => {
                for (name, more) in more {
                    let previous = text(members, name).unwrap_or_default();
                    let joined = format!("{previous}{}", more.as_str().unwrap_or_default());
                    members.insert(name.clone(), joined.into());
                }
            }
            (path, value) => *path = value.clone(),
        }
        Ok(())
    }
}

fn field_mut<'a>(path: &'a mut Value, name: &str) -> &'a mut Value {
    if !path.is_object() {
        *path = json!({});
    }
    &mut path[name]
}

/// Maximum number of entries that a list may lack before one that arrives.
const MAX_GAP: usize = 16;

/// An existing entry or a new one. Some services do not count text from 0; lists of commands must
/// not have gaps.
fn entry_mut(path: &mut Value, index: u64, new: NewEntry) -> Result<&mut Value, String> {
    if !path.is_array() {
        *path = json!([]);
    }
    let Value::Array(entries) = path else {
        return Err("expected a list".to_owned());
    };
    let count = entries.len();
    let gap = match new {
        NewEntry::Text | NewEntry::Refusal | NewEntry::Summary | NewEntry::Thought => MAX_GAP,
        NewEntry::EmptyString | NewEntry::Output | NewEntry::Annotation => 0,
    };
    let at = usize::try_from(index).ok().filter(|at| *at <= count + gap);
    let at = at.ok_or_else(|| format!("part {index} arrived before part {count}"))?;
    if at >= count {
        entries.resize(at + 1, Value::Null);
    }
    if entries[at].is_null() {
        entries[at] = new.value();
    }
    Ok(&mut entries[at])
}
