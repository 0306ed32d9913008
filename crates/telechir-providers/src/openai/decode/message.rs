//! Messages: roles and content parts.

use serde_json::Value;
use telechir_protocol::{
    Content, DataContent, HostedFileContent, Message, Meta, Raw, Role, TextContent, UriContent,
};

use crate::data_url;
use crate::json::{kind, list, owned, text};
use crate::openai::item::{Item, keep, raw, verbatim};
use crate::openai::{DIALECT, PROVIDER};

/// Message fields without a neutral equivalent.
pub(in crate::openai) const MESSAGE_FIELDS: [&str; 3] = ["id", "status", "phase"];

/// Marks the message that came from the request's `instructions`.
const MEMBER: &str = "member";
const INSTRUCTIONS: &str = "instructions";

pub(super) fn read(item: &Item) -> Message {
    let mut meta = raw(item);
    keep(&mut meta, item, &MESSAGE_FIELDS);
    let contents = match item.get("content") {
        Some(Value::String(text)) => vec![plain_text(text)],
        _ => list(item, "content")
            .iter()
            .map(|value| message_part(value, item))
            .collect(),
    };
    Message {
        role: role(item),
        contents,
        meta,
    }
}

/// `input` as a single string: a user message.
pub(in crate::openai) fn text_input(json: &Value) -> Option<Message> {
    let text = json.as_str()?;
    let raw = Raw::new(DIALECT, json.clone());
    let meta = Meta {
        raw_representation: Some(raw),
        ..Meta::default()
    };
    Some(Message {
        role: Role::User,
        contents: vec![plain_text(text)],
        meta,
    })
}

/// The request's `instructions` as the first message.
pub(in crate::openai) fn instructions(text: &str) -> Message {
    let mut message = Message::new(Role::System, vec![plain_text(text)]);
    message
        .meta
        .set_property(PROVIDER, MEMBER, INSTRUCTIONS.into());
    message
}

pub(in crate::openai) fn is_instructions(message: &Message) -> bool {
    message
        .meta
        .property(PROVIDER, MEMBER)
        .is_some_and(|member| member == INSTRUCTIONS)
}

fn role(item: &Item) -> Role {
    match text(item, "role") {
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        Some("developer") => Role::Developer,
        Some("tool") => Role::Tool,
        _ => Role::User,
    }
}

fn plain_text(text: &str) -> Content {
    Content::Text(TextContent {
        text: text.to_owned(),
        meta: Meta::default(),
    })
}

/// A message part; it inherits the phase of the message.
fn message_part(value: &Value, message: &Item) -> Content {
    let mut content = part(value);
    if let Content::Text(text) = &mut content {
        keep(&mut text.meta, message, &["phase"]);
    }
    content
}

/// A part of a message or of a function's output.
pub(super) fn part(value: &Value) -> Content {
    let Some(part) = value.as_object() else {
        return plain_text(
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
                .as_str(),
        );
    };
    let read = match kind(part) {
        "input_text" | "output_text" | "text" => {
            text(part, "text").map(|text| text_part(text, part))
        }
        "refusal" => text(part, "refusal").map(|text| {
            let mut content = text_part(text, part);
            if let Content::Text(text) = &mut content {
                text.meta.set_property(PROVIDER, "refusal", true.into());
            }
            content
        }),
        "input_image" | "computer_screenshot" => media(part),
        "input_file" => file(part),
        _ => None,
    };
    read.unwrap_or_else(|| verbatim(part))
}

fn text_part(text: &str, part: &Item) -> Content {
    let mut meta = raw(part);
    meta.annotations = list(part, "annotations").to_vec();
    keep(&mut meta, part, &["logprobs", "prompt_cache_breakpoint"]);
    Content::Text(TextContent {
        text: text.to_owned(),
        meta,
    })
}

/// An image by URL, inline as a `data:` URL, or by file id. The raw JSON is not stored, to avoid
/// holding the bytes twice.
pub(super) fn media(part: &Item) -> Option<Content> {
    let mut meta = Meta::default();
    keep(&mut meta, part, &["detail", "prompt_cache_breakpoint"]);
    if let Some(uri) = text(part, "image_url") {
        return Some(data_url::content_of(uri, meta));
    }
    let file_id = owned(part, "file_id")?;
    meta.set_property(PROVIDER, "image", true.into());
    Some(Content::HostedFile(HostedFileContent {
        file_id,
        media_type: None,
        name: None,
        meta,
    }))
}

fn file(part: &Item) -> Option<Content> {
    let mut meta = Meta::default();
    keep(&mut meta, part, &["detail", "prompt_cache_breakpoint"]);
    let name = owned(part, "filename");
    if let Some(file_id) = owned(part, "file_id") {
        return Some(Content::HostedFile(HostedFileContent {
            file_id,
            media_type: None,
            name,
            meta,
        }));
    }
    if let Some(uri) = text(part, "file_data") {
        if !uri.starts_with("data:") {
            return None;
        }
        let data = DataContent {
            uri: uri.into(),
            media_type: None,
            name,
            meta,
        };
        let media_type = data.media_type().map(str::to_owned);
        return Some(Content::Data(DataContent { media_type, ..data }));
    }
    meta.set_property(PROVIDER, "file", true.into());
    Some(Content::Uri(UriContent {
        uri: owned(part, "file_url")?,
        media_type: None,
        meta,
    }))
}
