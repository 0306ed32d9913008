//! Contents of a step: texts, images, audio, documents, videos.

use serde_json::{Map, Value, json};
use telechir_protocol::{
    Content, DataContent, Media, Meta, TextContent, UnknownContent, UriContent,
};

use super::DIALECT;
use crate::Report;
use crate::data_url::base64_of;
use crate::google::media::{RESOLUTION, is_level, standard};
use crate::google::{PROVIDER, others, text};
use crate::json::{media, raw, verbatim};

/// The property for fields without a neutral name.
const BESIDE: &str = "content";
/// The property that marks annotations as this provider's.
const OWN: &str = "own_annotations";
/// The property for a content type that differs from its media type.
const KIND: &str = "content_type";

/// Decodes a content; an unknown one is kept unchanged.
pub(super) fn read(content: &Map<String, Value>) -> Content {
    let kind = text(content, "type").unwrap_or_default();
    let known = match kind {
        "text" => decode_text(content),
        "image" | "audio" | "document" | "video" => file(content, kind).map(Content::from),
        _ => None,
    };
    known.unwrap_or_else(|| verbatim(content, DIALECT))
}

/// The type of a content of an older version that wraps an object.
const WRAPPED: &str = "google_step";

/// The object that a content carries.
pub(super) fn passed_on(other: &UnknownContent) -> &Map<String, Value> {
    let inner = other.json.get("step").and_then(Value::as_object);
    inner
        .filter(|_| other.kind.as_deref() == Some(WRAPPED))
        .unwrap_or(&other.json)
}

fn meta(content: &Map<String, Value>, known: &[&str]) -> Meta {
    let mut meta = raw(DIALECT, Value::Object(content.clone()));
    let mut known = known.to_vec();
    if let Some(level) = text(content, RESOLUTION).filter(|level| is_level(level)) {
        meta.set_property(PROVIDER, RESOLUTION, level.into());
        known.push(RESOLUTION);
    }
    let beside = others(content, &known);
    if !beside.is_empty() {
        meta.set_property(PROVIDER, BESIDE, beside.into());
    }
    meta
}

fn decode_text(content: &Map<String, Value>) -> Option<Content> {
    let content_text = content.get("text")?.as_str()?.to_owned();
    let mut meta = meta(content, &["type", "text", "annotations"]);
    match content.get("annotations") {
        Some(Value::Array(annotations)) => {
            meta.annotations.clone_from(annotations);
            meta.set_property(PROVIDER, OWN, true.into());
        }
        None | Some(Value::Null) => {}
        Some(odd) => meta.set_property(PROVIDER, "annotations", odd.clone()),
    }
    Some(Content::Text(TextContent {
        text: content_text,
        meta,
    }))
}

/// An image or file, as data or as a URL.
pub(super) fn file(content: &Map<String, Value>, kind: &str) -> Option<Media> {
    let mut meta = meta(content, &["type", "data", "uri", "mime_type"]);
    let media_type = text(content, "mime_type").map(str::to_owned);
    if kind_of(media_type.as_deref()) != kind {
        meta.set_property(PROVIDER, KIND, kind.into());
    }
    if let Some(data) = text(content, "data") {
        let data = DataContent::from_base64(media_type.as_deref()?, &standard(data));
        return Some(Media::Data(DataContent { meta, ..data }));
    }
    Some(Media::Uri(UriContent {
        uri: text(content, "uri")?.to_owned(),
        media_type,
        meta,
    }))
}

fn kind_of(media_type: Option<&str>) -> &'static str {
    let media_type = media_type.unwrap_or("image/*");
    match media_type.split_once('/').map(|(kind, _)| kind) {
        Some("image") => "image",
        Some("audio") => "audio",
        Some("video") => "video",
        _ => "document",
    }
}

/// The original JSON of a content, if it still means the same.
pub(super) fn unchanged(content: &Content) -> Option<&Value> {
    let raw = content.meta()?.raw_representation.as_ref()?;
    let json = raw.json().as_object().filter(|_| raw.dialect == DIALECT)?;
    (read(json) == *content).then_some(raw.json())
}

/// Encodes a content; `None` if it is another kind of content, or if it cannot be encoded, which is
/// reported.
pub(super) fn write(content: &Content, location: &str, report: &mut Report) -> Option<Value> {
    if let Some(json) = unchanged(content) {
        return Some(json.clone());
    }
    let mut encoded = match content {
        Content::Text(text) => {
            let mut encoded = json!({"type": "text", "text": text.text});
            let count = text.meta.annotations.len();
            if let Some(odd) = text.meta.property(PROVIDER, "annotations") {
                encoded["annotations"] = odd.clone();
            } else if text.meta.property(PROVIDER, OWN).is_some() {
                encoded["annotations"] = text.meta.annotations.clone().into();
            } else if count > 0 {
                let why = "citations have a different form";
                report.lost(format!("{count} annotations"), location, why);
            }
            encoded
        }
        content => of_media(&media(content)?, location, report)?,
    };
    restore_fields(&mut encoded, content.meta());
    Some(encoded)
}

fn restore_fields(encoded: &mut Value, meta: Option<&Meta>) {
    let level = meta.and_then(|meta| meta.property(PROVIDER, RESOLUTION));
    if let Some(level) = level {
        encoded[RESOLUTION] = level.clone();
    }
    let beside = meta.and_then(|meta| meta.property(PROVIDER, BESIDE)?.as_object());
    for (name, value) in beside.into_iter().flatten() {
        if encoded.get(name).is_none() {
            encoded[name.as_str()] = value.clone();
        }
    }
}

/// Encodes an image or file; `None` if that is impossible, which is reported.
pub(super) fn of_media(media: &Media, location: &str, report: &mut Report) -> Option<Value> {
    let (mut encoded, media_type, meta) = match media {
        Media::Data(data) => {
            let Some(bytes) = base64_of(data) else {
                report.lost(
                    "a file with unreadable data",
                    location,
                    "files must be base64",
                );
                return None;
            };
            (json!({"data": bytes}), data.media_type(), &data.meta)
        }
        Media::Uri(uri) => (
            json!({"uri": uri.uri}),
            uri.media_type.as_deref(),
            &uri.meta,
        ),
        Media::HostedFile(file) => {
            let what = format!("file {}", file.file_id);
            report.lost(what, location, "another provider stores it");
            return None;
        }
    };
    let kind = meta.property(PROVIDER, KIND).and_then(Value::as_str);
    encoded["type"] = kind.unwrap_or_else(|| kind_of(media_type)).into();
    if let Some(media_type) = media_type {
        encoded["mime_type"] = media_type.into();
    }
    restore_fields(&mut encoded, Some(meta));
    Some(encoded)
}
