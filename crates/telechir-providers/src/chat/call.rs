//! Decodes and encodes entries of `tool_calls`.

use serde_json::{Map, Value, json};
use telechir_protocol::{Arguments, Content, FunctionCall, Meta};

use super::Flavour;
use crate::fallback_tools;
use crate::json::{Fields, kind, object, object_of, present, raw, raw_of, some_text};
use crate::settings::MEMBERS;

/// Property that stores the entry type, if it is not `function`.
pub(super) const FORM: &str = "form";
const CUSTOM: &str = "custom";
/// The older form, in which a message has one call without an id.
const LEGACY: &str = "function_call";
/// Marks a call to which the service assigned no id.
const NO_ID: &str = "no_id";
const KNOWN_FIELDS: [&str; 5] = ["id", "type", "index", "function", "custom"];

/// A decoded entry of `tool_calls`.
pub(super) struct ToolCallEntry {
    pub(super) content: Content,
    pub(super) call_id: String,
}

/// The id assigned by the service; some services send an empty string or the text "null" instead of
/// none.
pub(super) fn given_id(entry: &Fields, name: &str) -> Option<String> {
    let id = some_text(entry, name).filter(|id| *id != "null");
    id.map(str::to_owned)
}

/// Decodes an entry of `tool_calls`; `generated` is used if it has no id.
pub(super) fn read(flavour: Flavour, value: &Value, generated: &str) -> ToolCallEntry {
    let none = Fields::new();
    let entry = value.as_object().unwrap_or(&none);
    let given = given_id(entry, "id");
    let call_id = given.clone().unwrap_or_else(|| generated.to_owned());
    let mut content = match kind(entry) {
        CUSTOM => custom(entry, &call_id),
        _ => function(object(entry, "function"), &call_id),
    };
    if let Some(meta) = content.meta_mut() {
        *meta = meta_of(flavour, entry, value);
        if given.is_none() {
            meta.set_property(flavour.provider(), NO_ID, true.into());
        }
        if kind(entry) == CUSTOM {
            meta.set_property(flavour.provider(), FORM, CUSTOM.into());
        }
    }
    ToolCallEntry { content, call_id }
}

/// Decodes the older `function_call`.
pub(super) fn read_legacy(flavour: Flavour, value: &Value, generated: &str) -> ToolCallEntry {
    let mut content = function(value.as_object(), generated);
    if let Some(meta) = content.meta_mut() {
        *meta = raw(flavour.dialect(), value.clone());
        meta.set_property(flavour.provider(), NO_ID, true.into());
        meta.set_property(flavour.provider(), FORM, LEGACY.into());
    }
    ToolCallEntry {
        content,
        call_id: generated.to_owned(),
    }
}

fn meta_of(flavour: Flavour, entry: &Fields, value: &Value) -> Meta {
    let mut meta = raw(flavour.dialect(), value.clone());
    let members: Map<String, Value> = entry
        .iter()
        .filter(|(name, value)| !KNOWN_FIELDS.contains(&name.as_str()) && !value.is_null())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if !members.is_empty() {
        meta.set_property(flavour.provider(), MEMBERS, Value::Object(members));
    }
    if let Some(index) = present(entry, "index") {
        meta.set_property(flavour.provider(), "index", index.clone());
    }
    meta
}

fn function(function: Option<&Fields>, call_id: &str) -> Content {
    let name = function.and_then(|function| some_text(function, "name"));
    let arguments = match function.and_then(|function| present(function, "arguments")) {
        Some(Value::Object(members)) => Arguments::Json(members.clone()),
        Some(Value::String(text)) => Arguments::Text(text.clone()),
        Some(other) => Arguments::Text(other.to_string()),
        None => Arguments::Text(String::new()),
    };
    match name {
        Some(name) => fallback_tools::decode_call(name, call_id, arguments),
        None => unreadable(call_id, "the function name is missing", arguments),
    }
}

fn custom(entry: &Fields, call_id: &str) -> Content {
    let custom = object(entry, CUSTOM);
    let input = custom.and_then(|custom| some_text(custom, "input"));
    let input = Arguments::Text(input.unwrap_or_default().to_owned());
    let Some(name) = custom.and_then(|custom| some_text(custom, "name")) else {
        return unreadable(call_id, "the tool name is missing", input);
    };
    let mut call = FunctionCall::new(name, input);
    call.call_id = Some(call_id.into());
    Content::FunctionCall(call)
}

fn unreadable(call_id: &str, problem: &str, arguments: Arguments) -> Content {
    let mut call = FunctionCall::new("", arguments);
    call.call_id = Some(call_id.into());
    call.exception = Some(problem.to_owned());
    Content::FunctionCall(call)
}

/// Whether the service assigned no id, so that the result has none either.
pub(super) fn has_no_id(flavour: Flavour, meta: &Meta) -> bool {
    meta.property(flavour.provider(), NO_ID).is_some()
}

/// Whether the call came as the older `function_call`.
pub(super) fn is_legacy(flavour: Flavour, content: &Content) -> bool {
    let form = content
        .meta()
        .and_then(|meta| meta.property(flavour.provider(), FORM));
    form.is_some_and(|form| form == LEGACY)
}

/// The raw entry of a call, unless the call was edited.
pub(super) fn unedited<'a>(flavour: Flavour, content: &'a Content, id: &str) -> Option<&'a Value> {
    let json = raw_of(content.meta()?, flavour.dialect())?;
    let again = if is_legacy(flavour, content) {
        read_legacy(flavour, json, id)
    } else {
        read(flavour, json, id)
    };
    (again.content == *content).then_some(json)
}

/// Encodes a call as an entry; `None` if the content is not a call.
pub(super) fn write(flavour: Flavour, content: &Content, id: &str) -> Option<Value> {
    if let Some(json) = unedited(flavour, content, id) {
        return Some(json.clone());
    }
    let called = fallback_tools::to_function_call(content)?;
    let meta = content.meta()?;
    let property = |name: &str| meta.property(flavour.provider(), name);
    let arguments = match &called.arguments {
        Arguments::Text(text) if text.trim().is_empty() => "{}".to_owned(),
        Arguments::Text(_) | Arguments::Json(_) => called.arguments.to_text(),
    };
    let function = json!({"name": called.name, "arguments": arguments});
    if is_legacy(flavour, content) {
        return Some(function);
    }
    let id = Value::from(id);
    let no_id = has_no_id(flavour, meta);
    let mut entry = object_of([("id", if no_id { Value::Null } else { id })]);
    if property(FORM).is_some_and(|form| form == CUSTOM) {
        entry.insert("type".to_owned(), CUSTOM.into());
        let custom = json!({"name": called.name, "input": called.arguments.to_text()});
        entry.insert(CUSTOM.to_owned(), custom);
    } else {
        entry.insert("type".to_owned(), "function".into());
        entry.insert("function".to_owned(), function);
    }
    if let Some(index) = property("index") {
        entry.insert("index".to_owned(), index.clone());
    }
    if let Some(members) = property(MEMBERS).and_then(Value::as_object) {
        entry.extend(members.clone());
    }
    Some(Value::Object(entry))
}
