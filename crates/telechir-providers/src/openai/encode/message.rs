//! Text, images and files of a message.

use serde_json::{Value, json};
use telechir_protocol::{Content, ErrorContent, Media, Message, Meta, ReasoningContent, Role};

use super::ItemWriter;
use crate::content_text;
use crate::json::{image_detail, joined_texts, kind, media, object_of};
use crate::openai::PROVIDER;
use crate::openai::decode::{MESSAGE_FIELDS, REASONING_FIELDS, reasoning_text};
use crate::openai::item::{Item, passed_on, property, raw_of, restore};

/// Whether a content is a message part. Parts of unknown types are, if they came from a message of
/// this dialect.
pub(super) fn is_part(content: &Content, message: &Message) -> bool {
    let is_own_message = || raw_of(&message.meta).is_some_and(|raw| raw.get("role").is_some());
    matches!(
        content,
        Content::Text(_) | Content::Data(_) | Content::Uri(_) | Content::HostedFile(_)
    ) || (matches!(content, Content::Other(_)) && is_own_message())
}

/// The text of a message.
pub(in crate::openai) fn message_text(message: &Message) -> String {
    joined_texts(&message.contents, "\n\n")
}

impl ItemWriter {
    pub(super) fn write_message(&mut self, message: &Message, parts: &[Content], path: &str) {
        match message.role {
            Role::Assistant => self.write_assistant_message(message, parts, path),
            Role::System => self.write_input_message("system", parts, path),
            Role::Developer => self.write_input_message("developer", parts, path),
            Role::User | Role::Tool => self.write_input_message("user", parts, path),
        }
    }

    fn write_input_message(&mut self, role: &str, parts: &[Content], path: &str) {
        let content: Vec<Value> = parts.iter().filter_map(message_part).collect();
        self.note_annotations(parts, path);
        if !content.is_empty() {
            self.push(json!({"type": "message", "role": role, "content": content}));
        }
    }

    /// Writes an assistant message: as an output message if it has the provider's id, otherwise as
    /// plain text.
    fn write_assistant_message(&mut self, message: &Message, parts: &[Content], path: &str) {
        let (texts, media): (Vec<&Content>, Vec<&Content>) = parts
            .iter()
            .partition(|part| matches!(part, Content::Text(_) | Content::Other(_)));
        let has_id = property(&message.meta, "id").is_some();
        if has_id && !texts.is_empty() {
            let content: Vec<Value> = texts.iter().copied().filter_map(output_part).collect();
            let mut item = object_of([("type", "message".into()), ("role", "assistant".into())]);
            restore(&mut item, &message.meta, &MESSAGE_FIELDS);
            item.entry("status").or_insert_with(|| "completed".into());
            item.insert("content".to_owned(), content.into());
            self.push(Value::Object(item));
        } else if !texts.is_empty() {
            self.note_annotations(parts, path);
            for part in texts {
                let Content::Text(text) = part else {
                    let why = "only messages with an id of the provider can contain it";
                    self.report.lost(content_text::label(part), path, why);
                    continue;
                };
                let mut item =
                    object_of([("type", "message".into()), ("role", "assistant".into())]);
                restore(&mut item, &text.meta, &["phase"]);
                item.insert("content".to_owned(), text.text.as_str().into());
                self.push(Value::Object(item));
            }
        }
        if !media.is_empty() {
            let how = "as a user message";
            self.report.preserved(
                "an image or file of the model",
                path,
                "assistant messages hold only text",
                how,
            );
            let content: Vec<Value> = media.into_iter().filter_map(input_part).collect();
            self.push(json!({"type": "message", "role": "user", "content": content}));
        }
    }

    fn note_annotations(&mut self, parts: &[Content], path: &str) {
        let annotated = |part: &Content| matches!(part, Content::Text(text) if !text.meta.annotations.is_empty());
        if parts.iter().any(annotated) {
            self.report
                .lost("annotations", path, "only output messages have annotations");
        }
    }

    /// Reasoning can only be returned to the provider that created it, by id and encrypted body.
    pub(super) fn reasoning(&mut self, reasoning: &ReasoningContent, path: &str) {
        let Some(id) = reasoning.item_id.as_deref() else {
            return self.report.lost(
                "thinking",
                path,
                "reasoning of another provider cannot be repeated",
            );
        };
        let summary = reasoning
            .text
            .iter()
            .map(|text| json!({"type": "summary_text", "text": text}));
        let mut item = object_of([
            ("type", "reasoning".into()),
            ("id", id.into()),
            (
                "encrypted_content",
                reasoning.protected_data.as_deref().into(),
            ),
        ]);
        item.insert("summary".to_owned(), summary.collect());
        // The original parts are restored unless the text was edited.
        let mut parts = item.clone();
        restore(&mut parts, &reasoning.meta, &REASONING_FIELDS);
        let is_edited = reasoning_text(&parts) != reasoning.text;
        self.push(Value::Object(if is_edited { item } else { parts }));
    }

    pub(super) fn error(&mut self, error: &ErrorContent, path: &str) {
        self.report.preserved(
            "an error in a message",
            path,
            "no item type represents it",
            "as a text message",
        );
        let text = format!("Error: {}", error.message);
        let part = json!({"type": "input_text", "text": text});
        self.push(json!({"type": "message", "role": "user", "content": [part]}));
    }
}

/// The raw part, or an input part.
fn message_part(content: &Content) -> Option<Value> {
    if let Content::Other(other) = content {
        return Some(Value::Object(passed_on(other).clone()));
    }
    input_part(content)
}

/// A part of an assistant message.
fn output_part(content: &Content) -> Option<Value> {
    if let Content::Other(other) = content {
        return Some(Value::Object(passed_on(other).clone()));
    }
    let Content::Text(text) = content else {
        return None;
    };
    if text.meta.property(PROVIDER, "refusal").is_some() {
        return Some(json!({"type": "refusal", "refusal": text.text}));
    }
    let mut part = object_of([
        ("type", "output_text".into()),
        ("text", text.text.as_str().into()),
        ("annotations", text.meta.annotations.clone().into()),
    ]);
    restore(&mut part, &text.meta, &["logprobs"]);
    Some(Value::Object(part))
}

/// A part of an input message or a function output; `None` if the content is neither text, an image
/// nor a file.
pub(super) fn input_part(content: &Content) -> Option<Value> {
    if let Content::Text(text) = content {
        let text_part = [
            ("type", "input_text".into()),
            ("text", text.text.as_str().into()),
        ];
        let mut part = object_of(text_part);
        restore(&mut part, &text.meta, &["prompt_cache_breakpoint"]);
        return Some(Value::Object(part));
    }
    if let Content::Other(other) = content {
        let part = passed_on(other);
        return kind(part)
            .starts_with("input_")
            .then(|| Value::Object(part.clone()));
    }
    media(content).map(|media| media_part(&media))
}

fn media_part(media: &Media) -> Value {
    match media {
        Media::Data(data) if is_image(data.media_type()) => {
            image("image_url", &data.uri, &data.meta)
        }
        Media::Data(data) => {
            let name = data.name.as_deref().unwrap_or("file");
            file(
                &data.meta,
                [
                    ("filename", name.into()),
                    ("file_data", data.uri.as_str().into()),
                ],
            )
        }
        Media::Uri(uri) => {
            let is_marked_file = uri.meta.property(PROVIDER, "file").is_some();
            if !is_marked_file && maybe_image(uri.media_type.as_deref()) {
                return image("image_url", &uri.uri, &uri.meta);
            }
            file(&uri.meta, [("file_url", uri.uri.as_str().into())])
        }
        Media::HostedFile(hosted) => {
            let is_marked_image = hosted.meta.property(PROVIDER, "image").is_some();
            if is_marked_image || is_image(hosted.media_type.as_deref()) {
                return image("file_id", &hosted.file_id, &hosted.meta);
            }
            let name = hosted.name.as_deref().into();
            file(
                &hosted.meta,
                [
                    ("file_id", hosted.file_id.as_str().into()),
                    ("filename", name),
                ],
            )
        }
    }
}

fn is_image(media_type: Option<&str>) -> bool {
    media_type.is_some_and(|media_type| media_type.starts_with("image/"))
}

fn maybe_image(media_type: Option<&str>) -> bool {
    media_type.is_none() || is_image(media_type)
}

const MEDIA_FIELDS: [&str; 2] = ["detail", "prompt_cache_breakpoint"];

fn image(name: &str, path: &str, meta: &Meta) -> Value {
    let mut part: Item = object_of([
        ("type", "input_image".into()),
        (name, path.into()),
        ("detail", image_detail(meta).unwrap_or("auto").into()),
    ]);
    restore(&mut part, meta, &MEDIA_FIELDS);
    Value::Object(part)
}

fn file<const N: usize>(meta: &Meta, members: [(&str, Value); N]) -> Value {
    let mut part: Item = object_of([("type", "input_file".into())]);
    part.extend(object_of(members));
    restore(&mut part, meta, &MEDIA_FIELDS);
    Value::Object(part)
}
