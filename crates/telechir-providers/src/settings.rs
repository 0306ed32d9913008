//! What a content or message has beyond its neutral fields, and another dialect cannot repeat.

use std::collections::HashSet;

use serde_json::Value;
use telechir_protocol::{Content, Message, Meta, Role};

use crate::Report;

/// Stores the fields of a message or call that its dialect does not know.
pub(crate) const MEMBERS: &str = "members";
/// Stores the fields of an entry of Mistral's conversations that have no neutral equivalent.
pub(crate) const ENTRY_MEMBERS: &str = "entry_members";

/// Stores the type of an entry of Mistral's conversations; no message of its chat has it.
pub(crate) const ENTRY: &str = "entry";

/// The dialects that write the fields stored under a provider and a name.
const OWNERS: [(&str, &str, &[&str]); 3] = [
    ("functions", MEMBERS, &["functions", "functions-inline"]),
    ("mistral", MEMBERS, &["mistral-chat"]),
    ("mistral", ENTRY_MEMBERS, &["mistral-conversations"]),
];

/// Providers other than `own` with the names of their significant settings. A setting is not
/// significant if neutral values repeat it or only the provider itself can use it.
pub(crate) fn of_other_providers<'a>(meta: &'a Meta, own: &str) -> Vec<(&'a str, Vec<&'a str>)> {
    let others = meta
        .additional_properties
        .iter()
        .filter(|(provider, _)| *provider != own);
    let named = others.map(|(provider, settings)| {
        let settings = settings.as_object().into_iter().flatten();
        let significant = settings.filter(|(name, value)| is_significant(name, value));
        let names: Vec<&str> = significant.flat_map(names_of).collect();
        (provider.as_str(), names)
    });
    named.filter(|(_, names)| !names.is_empty()).collect()
}

/// The name of a setting, or the names of the fields that it stores.
fn names_of<'a>((name, value): (&'a String, &'a Value)) -> Vec<&'a str> {
    match value.as_object().filter(|_| name == MEMBERS) {
        Some(fields) => fields.keys().map(String::as_str).collect(),
        None => vec![name.as_str()],
    }
}

/// Reports the settings of other providers in a content.
pub(crate) fn report_content(content: &Content, own: &str, location: &str, report: &mut Report) {
    let Some(meta) = content.meta() else {
        return;
    };
    for (provider, names) in of_other_providers(meta, own) {
        let what = format!("settings of {provider}: {}", names.join(", "));
        report.lost(what, location, "they belong to another provider");
    }
}

/// Reports the fields of messages that `dialect` cannot repeat and that `document`, its encoding of
/// them, does not contain.
pub(crate) fn report_messages(
    messages: &[Message],
    dialect: &str,
    document: &Value,
    report: &mut Report,
) {
    let mut written: Option<HashSet<&str>> = None;
    for (at, message) in messages.iter().enumerate() {
        let fields = OWNERS
            .iter()
            .filter(|(.., owners)| !owners.contains(&dialect))
            .filter_map(|(provider, name, _)| message.meta.property(provider, name)?.as_object());
        let fields: Vec<(&String, &Value)> = fields
            .flatten()
            .chain(framework_fields(message))
            .filter(|(name, value)| is_of_message(message, name) && !is_empty(value))
            .collect();
        if fields.is_empty() {
            continue;
        }
        let written = written.get_or_insert_with(|| texts(document));
        let lost = fields
            .into_iter()
            .filter(|(_, value)| value.as_str().is_none_or(|text| !written.contains(text)));
        let names: Vec<String> = lost.map(|(name, _)| format!("`{name}`")).collect();
        if !names.is_empty() {
            let what = format!("fields of the message: {}", names.join(", "));
            let why = "a message of this dialect has no such fields";
            report.lost(what, format!("messages[{at}]"), why);
        }
    }
}

/// The fields of a message of Agent Framework that are not neutral.
fn framework_fields(message: &Message) -> impl Iterator<Item = (&String, &Value)> {
    const NEUTRAL: [&str; 4] = ["type", "role", "contents", "additional_properties"];
    let raw = message.meta.raw_representation.as_ref();
    let raw = raw.filter(|raw| raw.dialect == "agent-framework");
    let fields = raw.and_then(|raw| raw.json().as_object());
    let properties = fields.and_then(|fields| fields.get("additional_properties")?.as_object());
    let own = fields
        .into_iter()
        .flatten()
        .filter(|(name, _)| !NEUTRAL.contains(&name.as_str()));
    own.chain(properties.into_iter().flatten())
}

/// A result repeats the name of its function.
fn is_of_message(message: &Message, name: &str) -> bool {
    message.role != Role::Tool || !matches!(name, "name" | "tool_name")
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::String(_) | Value::Number(_) | Value::Bool(_) => false,
    }
}

/// All texts of a document.
fn texts(document: &Value) -> HashSet<&str> {
    let mut texts = HashSet::new();
    let mut open = vec![document];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => {
                texts.insert(text.as_str());
            }
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    texts
}

fn is_significant(name: &str, value: &Value) -> bool {
    match name {
        _ if value.is_null() => false,
        // The original form of a content, and settings that its neutral fields repeat.
        "form" | "name" | "input" | "toolset_name" | "action" | "actions" | "summary"
        | "logprobs" | "id" | "return_code" | "result" | "stream" | "image" | "file"
        | "images_after" | "execution" | "arguments" | "info" | "tool" | "file_type"
        | "file_name" | "type" | "no_id" | "index" | "member" | "thinking" | "document_name" => {
            false
        }
        "status" => value != "completed",
        // Other dialects always send images in full detail.
        "detail" => !matches!(value.as_str(), Some("auto" | "high" | "original")),
        "caller" => value.get("type").is_none_or(|kind| kind != "direct"),
        _ => true,
    }
}
