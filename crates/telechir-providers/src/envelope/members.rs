//! Members of a document by JSON pointer: taken one by one, so that what remains is what nothing
//! read.

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
}

impl Members {
    pub(super) fn new(document: Value) -> Self {
        Self { rest: document }
    }

    /// The member, if it is present and not null.
    pub(super) fn get(&self, pointer: &str) -> Option<&Value> {
        self.rest.pointer(pointer).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, pointer: &str) -> Option<&str> {
        self.get(pointer)?.as_str()
    }

    /// Removes the member, and the objects around it that become empty.
    pub(super) fn take(&mut self, pointer: &str) -> Option<Value> {
        let (parent, name) = pointer.rsplit_once('/')?;
        let members = self.rest.pointer_mut(parent)?.as_object_mut()?;
        let value = members.shift_remove(name)?;
        if members.is_empty() && !parent.is_empty() {
            self.take(parent);
        }
        Some(value).filter(|value| !value.is_null())
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
        if let Some(members) = self.rest.as_object() {
            collect(members, "", &mut pointers);
        }
        pointers
    }
}

fn collect(members: &Map<String, Value>, parent: &str, pointers: &mut Vec<String>) {
    for (name, value) in members {
        let pointer = format!("{parent}/{name}");
        match value {
            Value::Null => {}
            Value::Object(inner) if GROUPS.contains(&pointer.as_str()) => {
                collect(inner, &pointer, pointers);
            }
            Value::Array(list) if list.is_empty() => {}
            _ => pointers.push(pointer),
        }
    }
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
