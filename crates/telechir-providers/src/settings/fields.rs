//! The fields of a message or content that another dialect may have no field for.

use std::borrow::Cow;

use serde_json::{Map, Value};
use telechir_protocol::{Content, Media, Message, Meta, Raw, json_limits};

use super::{CHOICE, ENTRY, ENTRY_MEMBERS, MEMBERS};
use crate::json::media;

/// A value with its name at the provider.
pub(super) struct Field<'a> {
    /// The provider whose setting it is; empty for other fields.
    pub(super) owner: &'a str,
    /// The name, after the names of the objects around it.
    pub(super) name: String,
    pub(super) value: Cow<'a, Value>,
}

/// Stands for the provider of an item's id, which is reported with its value.
pub(super) const ITEM_ID: &str = "item id";

/// The provider whose settings a dialect writes.
const PROVIDERS: [(&str, &[&str]); 7] = [
    (
        "anthropic",
        &["anthropic-messages", "bedrock-messages", "bedrock-invoke"],
    ),
    ("bedrock", &["bedrock-converse"]),
    ("bedrock_agents", &["bedrock-agents"]),
    ("functions", &["functions", "functions-inline"]),
    (
        "google",
        &["google-generate-content", "google-interactions"],
    ),
    ("mistral", &["mistral-chat", "mistral-conversations"]),
    ("openai", &["openai-responses"]),
];

/// Settings of a provider that only one of its dialects writes.
const OWNERS: [(&str, &str, &str); 2] = [
    ("mistral", MEMBERS, "mistral-chat"),
    ("mistral", ENTRY_MEMBERS, "mistral-conversations"),
];

/// Settings that hold the fields around a content; their own name is ours.
const CONTAINERS: [&str; 5] = [MEMBERS, ENTRY_MEMBERS, "part", "step", "content"];

/// Fields of Agent Framework's messages that the neutral message has.
const NEUTRAL: [&str; 4] = ["type", "role", "contents", "additional_properties"];

/// The settings and unknown fields that `dialect` does not write.
pub(super) fn of_settings<'a>(meta: &'a Meta, dialect: &str) -> Vec<Field<'a>> {
    let mut found = Vec::new();
    for (provider, settings) in &meta.additional_properties {
        let Value::Object(settings) = settings else {
            add("", provider, settings, &mut found);
            continue;
        };
        let is_own = PROVIDERS
            .iter()
            .any(|(own, dialects)| own == provider && dialects.contains(&dialect));
        for (name, value) in settings {
            let owner = OWNERS
                .iter()
                .find(|(of, member, _)| of == provider && member == name);
            let is_written = is_own && owner.is_none_or(|(.., only)| *only == dialect);
            if is_written || !is_significant(name, value) {
                continue;
            }
            match value.as_object() {
                Some(inner) if CONTAINERS.contains(&name.as_str()) => {
                    inner
                        .iter()
                        .for_each(|(name, value)| add(provider, name, value, &mut found));
                }
                _ => add(provider, name, value, &mut found),
            }
        }
    }
    for (name, value) in &meta.extra {
        add("", name, value, &mut found);
    }
    found
}

/// Adds the values inside a field. A type alone says nothing beside other values.
fn add<'a>(owner: &'a str, name: &str, value: &'a Value, found: &mut Vec<Field<'a>>) {
    match value {
        Value::Null => {}
        Value::Array(items) => items.iter().for_each(|item| add(owner, name, item, found)),
        Value::Object(members) => {
            for (inner, value) in members {
                if inner != "type" || members.len() == 1 {
                    add(owner, &format!("{name}.{inner}"), value, found);
                }
            }
        }
        Value::String(text) if is_json_object(text) => {
            if let Ok(Value::Object(members)) = json_limits::parse(text.as_bytes()) {
                for (inner, value) in members {
                    add_owned(owner, &format!("{name}.{inner}"), value, found);
                }
            }
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => found.push(Field {
            owner: match name == "id" && value.is_string() {
                true => ITEM_ID,
                false => owner,
            },
            name: name.to_owned(),
            value: Cow::Borrowed(value),
        }),
    }
}

fn is_json_object(text: &str) -> bool {
    text.starts_with('{') && json_limits::parse(text.as_bytes()).is_ok_and(|json| json.is_object())
}

/// The same for values inside of a text.
fn add_owned<'a>(owner: &'a str, name: &str, value: Value, found: &mut Vec<Field<'a>>) {
    match value {
        Value::Null => {}
        Value::Array(items) => {
            for item in items {
                add_owned(owner, name, item, found);
            }
        }
        Value::Object(members) => {
            for (inner, value) in members {
                add_owned(owner, &format!("{name}.{inner}"), value, found);
            }
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => found.push(Field {
            owner,
            name: name.to_owned(),
            value: Cow::Owned(value),
        }),
    }
}

/// Whether a setting is a value of the provider. Others record the form in which a content came,
/// or repeat its neutral values.
fn is_significant(name: &str, value: &Value) -> bool {
    const FLAGS: [&str; 14] = [
        "parts",
        "empty",
        "developer",
        "function",
        "file",
        "no_id",
        "refusal",
        "bridged",
        "own_annotations",
        "within_output",
        "step_error",
        "contents_alone",
        "image",
        "thinking",
    ];
    match name {
        "form" | "name" | "input" | "toolset_name" | "action" | "actions" | "summary"
        | "return_code" | "result" | "result_form" | "content_type" | "stream" | "images_after"
        | "execution" | "type" | "index" | "member" | "choice_number" | "legacy_vocabulary"
        | "answered_name" | CHOICE | ENTRY => false,
        _ if FLAGS.contains(&name) => !value.is_boolean(),
        "status" => value != "completed",
        // Other dialects always send images in full detail.
        "detail" => !matches!(value.as_str(), Some("auto" | "high" | "original")),
        "caller" => value.get("type").is_none_or(|kind| kind != "direct"),
        _ => true,
    }
}

/// The fields of a message of Agent Framework that are not neutral.
pub(super) fn of_framework_message(message: &Message) -> Vec<Field<'_>> {
    let raw = message.meta.raw_representation.as_ref();
    let raw = raw.filter(|raw| raw.dialect == "agent-framework");
    let mut found = Vec::new();
    for (name, value) in raw
        .and_then(|raw| raw.json().as_object())
        .into_iter()
        .flatten()
    {
        if !NEUTRAL.contains(&name.as_str()) {
            add("", name, value, &mut found);
        }
    }
    found
}

/// Neutral values that not every dialect has a field for. A message may have the raw JSON of its
/// contents (`around`).
pub(super) fn neutral<'a>(
    content: &'a Content,
    own: &str,
    around: Option<&'a Raw>,
) -> Vec<Field<'a>> {
    let mut values: Vec<(&str, Value)> = Vec::new();
    let mut texts: Vec<(&str, Option<&str>)> = Vec::new();
    let mut exception = None;
    if let Content::ComputerCall(call) = content {
        texts.extend([
            ("id", call.item_id.as_deref()),
            ("status", call.status.as_deref()),
        ]);
        exception = call.exception.as_deref();
    } else if let Content::ShellCall(call) = content {
        texts.extend([
            ("id", call.item_id.as_deref()),
            ("status", call.status.as_deref()),
        ]);
        exception = call.exception.as_deref();
    } else if let Content::EditCall(call) = content {
        texts.push(("id", call.item_id.as_deref()));
        exception = call.exception.as_deref();
    } else if let Content::FunctionCall(call) = content {
        texts.push(("id", call.item_id.as_deref()));
        exception = call.exception.as_deref();
    } else if let Content::ShellResult(result) = content {
        texts.push(("id", result.item_id.as_deref()));
        values.extend(
            result
                .max_output
                .map(|limit| ("max_output_length", limit.into())),
        );
    } else if let Content::FunctionResult(result) = content {
        texts.push(("name", result.name.as_deref()));
    } else if let Content::Reasoning(reasoning) = content {
        texts.extend([
            ("id", reasoning.item_id.as_deref()),
            ("text", reasoning.text.as_deref()),
            ("protected_data", reasoning.protected_data.as_deref()),
        ]);
    } else if let Some(media) = media(content) {
        let (name, media_type) = match &media {
            Media::Data(data) => (data.name.clone(), None),
            Media::Uri(uri) => (None, uri.media_type.clone()),
            Media::HostedFile(file) => (file.name.clone(), file.media_type.clone()),
        };
        // The type of the part shows that it is an image.
        let media_type = media_type.filter(|kind| !kind.starts_with("image/"));
        let owned = [("name", name), ("media_type", media_type)];
        let owned = owned
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?.into())));
        values.extend(owned);
    }
    let texts = texts.into_iter().filter_map(|(name, text)| {
        let text = text.filter(|text| !text.is_empty())?;
        (name != "status" || text != "completed").then(|| (name, text.into()))
    });
    values.extend(texts);
    let raw = content
        .meta()
        .and_then(|meta| meta.raw_representation.as_ref());
    let has_contents = |raw: &&Raw| {
        raw.json()
            .get("content")
            .is_some_and(|list| !list.is_null())
    };
    let complete = raw.or_else(|| around.filter(has_contents));
    let field = |(name, value): (&str, Value)| {
        // A decoder derived a value that the original lacks.
        let name = match complete {
            Some(raw) => own_name(raw, &value)?,
            None => name,
        };
        Some(Field {
            owner: if name == "id" { ITEM_ID } else { "" },
            name: name.to_owned(),
            value: Cow::Owned(value),
        })
    };
    let mut found: Vec<Field<'a>> = values.into_iter().filter_map(field).collect();
    // No codec has read the values of such a call.
    if let (Some(_), Some(raw)) = (exception, raw.filter(|raw| raw.dialect != own)) {
        found.extend(unread(raw));
    }
    found
}

/// The values of an object that could not be read.
fn unread(raw: &Raw) -> Vec<Field<'_>> {
    let mut found = Vec::new();
    let members = raw.json().as_object().into_iter().flatten();
    for (name, value) in members.filter(|(name, _)| !matches!(name.as_str(), "type" | "index")) {
        add("", name, value, &mut found);
    }
    found
}

/// The name of the field that holds a value in the provider's JSON.
fn own_name<'a>(raw: &'a Raw, value: &Value) -> Option<&'a str> {
    let mut open: Vec<&Map<String, Value>> = raw.json().as_object().into_iter().collect();
    while let Some(members) = open.pop() {
        for (name, own) in members {
            if own == value {
                return Some(name);
            }
            match own {
                Value::Object(inner) => open.push(inner),
                Value::Array(items) => open.extend(items.iter().filter_map(Value::as_object)),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
    }
    None
}

/// The id of a call or of the call that a result belongs to.
pub(super) fn call_id(content: &Content) -> Option<&str> {
    if let Content::ComputerCall(call) = content {
        Some(call.call_id.as_str())
    } else if let Content::ShellCall(call) = content {
        Some(call.call_id.as_str())
    } else if let Content::EditCall(call) = content {
        Some(call.call_id.as_str())
    } else if let Content::FunctionCall(call) = content {
        call.call_id.as_ref().map(|id| id.as_str())
    } else if let Content::FunctionResult(result) = content {
        result.call_id.as_ref().map(|id| id.as_str())
    } else if let Content::ComputerResult(result) = content {
        Some(result.call_id.as_str())
    } else if let Content::ShellResult(result) = content {
        Some(result.call_id.as_str())
    } else if let Content::EditResult(result) = content {
        Some(result.call_id.as_str())
    } else {
        None
    }
}
