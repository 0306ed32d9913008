//! Members of a document by JSON pointer: a reader takes the values that it understands, so that what
//! remains is what nothing read.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// Objects that only group settings; a setting left in one is reported by its own name.
const GROUPS: [&str; 21] = [
    "/additionalModelRequestFields",
    "/completion_args",
    "/generationConfig",
    "/generationConfig/thinkingConfig",
    "/generation_config",
    "/inferenceConfig",
    "/metadata",
    "/options",
    "/outputConfig",
    "/output_config",
    "/reasoning",
    "/text",
    "/thinking",
    "/tool_choice",
    "/toolConfig",
    "/toolConfig/functionCallingConfig",
    "/usage",
    "/usage/input_tokens_details",
    "/usage/output_tokens_details",
    "/usageMetadata",
    "/usage_details",
];

/// The members of a document that were not read yet.
pub(super) struct Members {
    rest: Value,
    /// Pointers of the objects and lists out of which something was taken.
    read: HashSet<String>,
}

impl Members {
    pub(super) fn new(document: Value) -> Self {
        Self {
            rest: document,
            read: HashSet::new(),
        }
    }

    /// The member, if it is present and not null.
    pub(super) fn get(&self, pointer: &str) -> Option<&Value> {
        self.rest.pointer(pointer).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, pointer: &str) -> Option<&str> {
        self.get(pointer)?.as_str()
    }

    /// Removes the member with all that is in it, and the objects around it that become empty.
    pub(super) fn take(&mut self, pointer: &str) -> Option<Value> {
        let (parent, name) = pointer.rsplit_once('/')?;
        let value = match self.rest.pointer_mut(parent)? {
            Value::Object(members) => members.shift_remove(&unescaped(name))?,
            Value::Array(items) => items.get_mut(name.parse::<usize>().ok()?)?.take(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
        self.mark_read(parent);
        Some(value).filter(|value| !value.is_null())
    }

    fn mark_read(&mut self, pointer: &str) {
        if pointer.is_empty() {
            return;
        }
        self.read.insert(pointer.to_owned());
        if self.rest.pointer(pointer).is_some_and(is_empty) {
            self.take(pointer);
        } else if let Some((parent, _)) = pointer.rsplit_once('/') {
            self.mark_read(parent);
        }
    }

    /// Takes a text that says what the structure says, too.
    pub(super) fn take_constant(&mut self, pointer: &str, expected: &[&str]) {
        if self
            .text(pointer)
            .is_some_and(|text| expected.contains(&text))
        {
            self.take(pointer);
        }
    }

    /// Takes the values below `pointer` that `understands` accepts by their field and value; all
    /// others remain.
    pub(super) fn take_understood(
        &mut self,
        pointer: &str,
        understands: &dyn Fn(&str, &Value) -> bool,
    ) {
        let mut taken = Vec::new();
        if let Some(value) = self.rest.pointer(pointer) {
            let name = pointer.rsplit('/').next().unwrap_or_default();
            understood(name, value, pointer, understands, &mut taken);
        }
        for pointer in taken {
            self.take(&pointer);
        }
    }

    pub(super) fn take_text(&mut self, pointer: &str) -> Option<String> {
        self.get(pointer)?.as_str()?;
        match self.take(pointer) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn take_list(&mut self, pointer: &str) -> Vec<Value> {
        if !self.get(pointer).is_some_and(Value::is_array) {
            return Vec::new();
        }
        match self.take(pointer) {
            Some(Value::Array(list)) => list,
            _ => Vec::new(),
        }
    }

    /// The pointers of all members that nothing took.
    pub(super) fn left(&self) -> Vec<String> {
        let mut pointers = Vec::new();
        self.collect(&self.rest, "", &mut pointers);
        pointers
    }

    /// A group that was read in part is reported by what is left in it.
    fn collect(&self, value: &Value, pointer: &str, pointers: &mut Vec<String>) {
        let is_element = || {
            let (list, at) = pointer.rsplit_once('/').unwrap_or_default();
            at.parse::<usize>().is_ok() && self.read.contains(list)
        };
        let is_open = pointer.is_empty()
            || GROUPS.contains(&pointer)
            || self.read.contains(pointer)
            || is_element();
        match value {
            value if is_empty(value) => {}
            Value::Object(members) if is_open => {
                for (name, value) in members {
                    let pointer = format!("{pointer}/{}", escaped(name));
                    self.collect(value, &pointer, pointers);
                }
            }
            Value::Array(items) if is_open => {
                for (at, value) in items.iter().enumerate() {
                    self.collect(value, &format!("{pointer}/{at}"), pointers);
                }
            }
            _ if pointer.is_empty() => {}
            _ => pointers.push(pointer.to_owned()),
        }
    }
}

/// Whether a value is nothing, or a list or object of nothing else.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().all(Value::is_null),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn understood(
    name: &str,
    value: &Value,
    pointer: &str,
    understands: &dyn Fn(&str, &Value) -> bool,
    taken: &mut Vec<String>,
) {
    if understands(name, value) {
        return taken.push(pointer.to_owned());
    }
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let pointer = format!("{pointer}/{}", escaped(name));
                understood(name, value, &pointer, understands, taken);
            }
        }
        Value::Array(items) => {
            for (at, value) in items.iter().enumerate() {
                understood(name, value, &format!("{pointer}/{at}"), understands, taken);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn unescaped(name: &str) -> String {
    name.replace("~1", "/").replace("~0", "~")
}

/// What a report calls the member at a pointer: its name, with the list if it is an element.
pub(super) fn name_at(pointer: &str) -> String {
    let is_name = |step: &&str| step.parse::<usize>().is_err();
    let steps: Vec<&str> = pointer.split('/').collect();
    let named = steps.iter().rposition(is_name).unwrap_or(0);
    let name = unescaped(&steps[named..].join("/"));
    format!("`{name}`")
}

/// Sets a member, and makes the objects around it.
pub(super) fn put(document: &mut Value, pointer: &str, value: impl Into<Value>) {
    let mut at = document;
    for name in pointer.split('/').skip(1) {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        at = &mut at[name];
    }
    *at = value.into();
}
