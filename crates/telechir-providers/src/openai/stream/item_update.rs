//! What an event adds to an item, and where.

use serde_json::{Value, json};

use crate::openai::item::{Item, text};

/// A step into an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Member(&'static str),
    /// Of a list; the value that a new entry begins as.
    Entry(u64, New),
}

/// What an entry of a list is before anything came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum New {
    Words,
    Text,
    Refusal,
    Summary,
    Thought,
    Output,
    Annotation,
}

impl New {
    fn value(self) -> Value {
        match self {
            Self::Words => json!(""),
            Self::Text => json!({"type": "output_text", "text": "", "annotations": []}),
            Self::Refusal => json!({"type": "refusal", "refusal": ""}),
            Self::Summary => json!({"type": "summary_text", "text": ""}),
            Self::Thought => json!({"type": "reasoning_text", "text": ""}),
            Self::Output => json!({"stdout": "", "stderr": ""}),
            Self::Annotation => Value::Null,
        }
    }
}

/// What a person sees of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Text,
    Reasoning,
    Arguments,
    /// The event itself, or nothing.
    Event,
}

/// What an event adds.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) path: Vec<Step>,
    pub(super) value: Value,
    /// Whether the value is all of it, rather than what follows.
    pub(super) is_all: bool,
    pub(super) shown: Shown,
}

impl Piece {
    /// The piece that an event is; none when it adds nothing.
    pub(super) fn of(kind: &str, event: &Item) -> Option<Self> {
        use Step::Member;
        let number = |name: &str| event.get(name).and_then(Value::as_u64).unwrap_or_default();
        let entry = |name: &str, new: New| Step::Entry(number(name), new);
        let part = |new: New| vec![Member("content"), entry("content_index", new)];
        let summary = || vec![Member("summary"), entry("summary_index", New::Summary)];
        let command = || {
            let commands = Member("commands");
            vec![
                Member("action"),
                commands,
                entry("command_index", New::Words),
            ]
        };
        let then = |mut path: Vec<Step>, name: &'static str| {
            path.push(Member(name));
            path
        };
        let (name, is_all) = kind.strip_prefix("response.")?.rsplit_once('.')?;
        let is_all = match is_all {
            "delta" => false,
            "done" | "added" => true,
            _ => return None,
        };
        let (path, whole, shown) = match name {
            "content_part" => (part(New::Text), "part", Shown::Event),
            "output_text" => (then(part(New::Text), "text"), "text", Shown::Text),
            "output_text.annotation" => {
                let mut path = then(part(New::Text), "annotations");
                path.push(entry("annotation_index", New::Annotation));
                (path, "annotation", Shown::Event)
            }
            "refusal" => (then(part(New::Refusal), "refusal"), "refusal", Shown::Text),
            "reasoning_summary_part" => (summary(), "part", Shown::Event),
            "reasoning_summary_text" => (then(summary(), "text"), "text", Shown::Reasoning),
            "reasoning_text" => (then(part(New::Thought), "text"), "text", Shown::Reasoning),
            "function_call_arguments" => (vec![Member("arguments")], "arguments", Shown::Arguments),
            "mcp_call_arguments" => (vec![Member("arguments")], "arguments", Shown::Event),
            "custom_tool_call_input" => (vec![Member("input")], "input", Shown::Arguments),
            "code_interpreter_call_code" => (vec![Member("code")], "code", Shown::Event),
            "apply_patch_call_operation_diff" => {
                let path = vec![Member("operation"), Member("diff")];
                (path, "diff", Shown::Event)
            }
            "shell_call_command" => (command(), "command", Shown::Event),
            "shell_call_output_content" => {
                let path = vec![Member("output"), entry("command_index", New::Output)];
                (path, "output", Shown::Event)
            }
            _ => return None,
        };
        let mut value = event.get(if is_all { whole } else { "delta" })?.clone();
        // Outputs come whole as a list of one.
        if let (Value::Array(entries), "shell_call_output_content") = (&mut value, name) {
            value = entries.pop()?;
        }
        Some(Self {
            path,
            value,
            is_all,
            shown,
        })
    }

    /// The words that follow.
    pub(super) fn words(&self) -> &str {
        self.value.as_str().unwrap_or_default()
    }

    /// Adds it to the pieces of its item.
    pub(super) fn put(&self, pieces: &mut Value) -> Result<(), String> {
        let mut place = pieces;
        for step in &self.path {
            place = match step {
                Step::Member(name) => member(place, name),
                Step::Entry(index, new) => nth(place, *index, *new)?,
            };
        }
        match (&mut *place, &self.value) {
            (place, value) if self.is_all => *place = value.clone(),
            (Value::String(words), Value::String(more)) => words.push_str(more),
            (Value::Object(members), Value::Object(more)) => {
                for (name, more) in more {
                    let so_far = text(members, name).unwrap_or_default();
                    let said = format!("{so_far}{}", more.as_str().unwrap_or_default());
                    members.insert(name.clone(), said.into());
                }
            }
            (place, value) => *place = value.clone(),
        }
        Ok(())
    }
}

fn member<'a>(place: &'a mut Value, name: &str) -> &'a mut Value {
    if !place.is_object() {
        *place = json!({});
    }
    &mut place[name]
}

/// An entry that is there, or the next one: a list has no holes.
fn nth(place: &mut Value, index: u64, new: New) -> Result<&mut Value, String> {
    if !place.is_array() {
        *place = json!([]);
    }
    let Value::Array(entries) = place else {
        return Err("it has no list".to_owned());
    };
    let count = entries.len();
    let at = usize::try_from(index).ok().filter(|at| *at <= count);
    let at = at.ok_or_else(|| format!("part {index} comes before part {count}"))?;
    if at == count {
        entries.push(new.value());
    }
    Ok(&mut entries[at])
}
