//! Message parts: text, images, audio, files, thinking.

use serde_json::{Map, Value, json};
use telechir_protocol::{
    Content, DataContent, HostedFileContent, Media, Meta, ReasoningContent, TextContent,
};

use super::Flavour;
use crate::data_url;
use crate::json::{
    Fields, image_detail, joined_texts, keep, kind, list, object, object_of, owned, passed_on, raw,
    raw_of, restore, text, verbatim,
};

/// Part fields without a neutral equivalent.
const PART_FIELDS: [&str; 2] = ["detail", "cache_control"];
/// Marks text with which the model refuses.
pub(crate) const REFUSAL: &str = "refusal";
/// Marks a document and stores its name.
const DOCUMENT: &str = "document_name";
/// Marks a file stored by the service.
const FILE: &str = "file";
/// Marks thinking that came as a content part.
const CHUNK: &str = "thinking";

/// Decodes `content`: a string, a list of parts, or nothing.
pub(crate) fn read(flavour: Flavour, content: Option<&Value>) -> Vec<Content> {
    match content {
        Some(Value::String(text)) if text.is_empty() => Vec::new(),
        Some(Value::String(text)) => vec![Content::text(text.as_str())],
        Some(Value::Array(parts)) => parts.iter().map(|part| read_part(flavour, part)).collect(),
        Some(Value::Null) | None => Vec::new(),
        // An object is a part; a number or flag becomes its text.
        Some(part) => vec![read_part(flavour, part)],
    }
}

pub(crate) fn read_part(flavour: Flavour, value: &Value) -> Content {
    let Some(part) = value.as_object() else {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        return Content::text(text);
    };
    let read = match kind(part) {
        "text" => text(part, "text").map(|text| text_part(flavour, text, part)),
        "refusal" => text(part, "refusal").map(refusal(flavour)),
        "image_url" => image(flavour, part),
        "input_audio" => audio(flavour, part),
        "file" => file(flavour, part),
        "document_url" => document(flavour, part),
        "thinking" => Some(thinking(flavour, part)),
        "tool_file" => tool_made_file(flavour, part),
        _ => None,
    };
    read.unwrap_or_else(|| verbatim(part, flavour.dialect()))
}

fn text_part(flavour: Flavour, text: &str, part: &Fields) -> Content {
    let mut meta = Meta::default();
    keep(&mut meta, flavour.provider(), part, &PART_FIELDS);
    meta.annotations = list(part, "annotations").to_vec();
    Content::Text(TextContent {
        text: text.to_owned(),
        meta,
    })
}

/// Text with which the model refuses.
pub(crate) fn refusal(flavour: Flavour) -> impl Fn(&str) -> Content {
    move |text| {
        let mut text = TextContent::new(text);
        text.meta
            .set_property(flavour.provider(), REFUSAL, true.into());
        Content::Text(text)
    }
}

/// `image_url` is a URL or an object with a URL.
fn image(flavour: Flavour, part: &Fields) -> Option<Content> {
    let mut meta = Meta::default();
    keep(&mut meta, flavour.provider(), part, &PART_FIELDS);
    let image = part.get("image_url")?;
    let url = match image.as_object() {
        Some(image) => {
            keep(&mut meta, flavour.provider(), image, &PART_FIELDS);
            text(image, "url")?
        }
        None => image.as_str()?,
    };
    Some(data_url::content_of(url, meta))
}

/// The property with the format as it was written, if another form would be written.
const FORM: &str = "form";

/// The formats of OpenAI's part for sounds.
const OPENAI_SOUNDS: [&str; 2] = ["mp3", "wav"];

/// A sound: an object with its format or, in Mistral's API, base64 alone.
fn audio(flavour: Flavour, part: &Fields) -> Option<Content> {
    let is_mistral = matches!(flavour, Flavour::Mistral | Flavour::Conversations);
    let sound = part.get("input_audio")?;
    let mut data = if let Some(base64) = sound.as_str().filter(|_| is_mistral) {
        DataContent::from_base64(sound_type(base64)?, base64)
    } else {
        let sound = sound.as_object()?;
        let format = text(sound, "format")?;
        let media_type = match format {
            "mp3" | "mpga" => "audio/mpeg".to_owned(),
            "wave" => "audio/wav".to_owned(),
            format => format!("audio/{format}"),
        };
        let mut data = DataContent::from_base64(&media_type, text(sound, "data")?);
        if is_mistral
            || !OPENAI_SOUNDS.contains(&format)
            || sound_format(&media_type) != Some(format)
        {
            let provider = flavour.provider();
            data.meta.set_property(provider, FORM, format.into());
        }
        data
    };
    keep(&mut data.meta, flavour.provider(), part, &PART_FIELDS);
    Some(Content::Data(data))
}

/// The type of a sound by its first bytes.
fn sound_type(base64: &str) -> Option<&'static str> {
    const STARTS: [(&str, &str); 5] = [
        ("SUQz", "audio/mpeg"),
        ("//", "audio/mpeg"),
        ("UklGR", "audio/wav"),
        ("T2dnU", "audio/ogg"),
        ("ZkxhQ", "audio/flac"),
    ];
    let found = STARTS.iter().find(|(start, _)| base64.starts_with(start));
    found.map(|(_, media_type)| *media_type)
}

/// The format of a sound by its type.
fn sound_format(media_type: &str) -> Option<&str> {
    Some(match media_type.strip_prefix("audio/")? {
        "mpeg" | "mpga" | "x-mp3" => "mp3",
        "x-wav" | "wave" | "vnd.wave" => "wav",
        other => other,
    })
}

fn file(flavour: Flavour, part: &Fields) -> Option<Content> {
    let mut meta = Meta::default();
    keep(&mut meta, flavour.provider(), part, &PART_FIELDS);
    meta.set_property(flavour.provider(), FILE, true.into());
    let hosted_file = |file_id: &str, name, meta| {
        Some(Content::HostedFile(HostedFileContent {
            file_id: file_id.to_owned(),
            media_type: None,
            name,
            meta,
        }))
    };
    if let Some(file_id) = text(part, "file_id") {
        return hosted_file(file_id, None, meta);
    }
    let inner = object(part, "file")?;
    let name = owned(inner, "filename");
    if let Some(file_id) = text(inner, "file_id") {
        return hosted_file(file_id, name, meta);
    }
    let uri = text(inner, "file_data").filter(|uri| uri.starts_with("data:"))?;
    let Content::Data(data) = data_url::content_of(uri, meta) else {
        return None;
    };
    Some(Content::Data(DataContent { name, ..data }))
}

fn document(flavour: Flavour, part: &Fields) -> Option<Content> {
    let mut meta = Meta::default();
    let name = text(part, "document_name").unwrap_or_default();
    meta.set_property(flavour.provider(), DOCUMENT, name.into());
    let mut content = data_url::content_of(text(part, "document_url")?, meta);
    if let Content::Uri(uri) = &mut content {
        uri.media_type = Some(document_type(&uri.uri).to_owned());
    }
    Some(content)
}

/// The type of a document by its address; without one, it would pass for an image.
fn document_type(uri: &str) -> &'static str {
    let path = uri.split(['?', '#']).next().unwrap_or(uri);
    match path.rsplit('.').next() {
        Some("pdf") => "application/pdf",
        Some("txt") => "text/plain",
        Some("md") => "text/markdown",
        Some("html" | "htm") => "text/html",
        _ => "application/octet-stream",
    }
}

fn thinking(flavour: Flavour, part: &Fields) -> Content {
    let chunks = read(flavour, part.get("thinking"));
    let mut meta = raw(flavour.dialect(), Value::Object(part.clone()));
    meta.set_property(flavour.provider(), CHUNK, true.into());
    keep(&mut meta, flavour.provider(), part, &["closed"]);
    Content::Reasoning(ReasoningContent {
        text: Some(joined_texts(&chunks, "")).filter(|text| !text.is_empty()),
        item_id: None,
        protected_data: owned(part, "signature"),
        meta,
    })
}

/// Fields of a file created by one of the service's tools.
const TOOL_FILE_FIELDS: [&str; 4] = ["tool", "file_type", "file_name", "type"];

/// A file created by one of the service's tools. `file_type` is a file name extension.
fn tool_made_file(flavour: Flavour, part: &Fields) -> Option<Content> {
    let mut meta = Meta::default();
    keep(&mut meta, flavour.provider(), part, &TOOL_FILE_FIELDS);
    meta.set_property(flavour.provider(), FILE, true.into());
    let media_type = text(part, "file_type").map(|kind| match kind {
        "png" | "jpeg" | "webp" | "gif" => format!("image/{kind}"),
        "jpg" => "image/jpeg".to_owned(),
        "pdf" | "json" => format!("application/{kind}"),
        other if other.contains('/') => other.to_owned(),
        "txt" => "text/plain".to_owned(),
        other => format!("application/x-{other}"),
    });
    Some(Content::HostedFile(HostedFileContent {
        file_id: owned(part, "file_id")?,
        media_type,
        name: owned(part, "file_name"),
        meta,
    }))
}

fn tool_file(file: &HostedFileContent) -> Value {
    let mut part = object_of([
        ("type", "tool_file".into()),
        ("tool", "code_interpreter".into()),
        ("file_id", file.file_id.as_str().into()),
        ("file_name", file.name.as_deref().into()),
    ]);
    restore(
        &mut part,
        &file.meta,
        Flavour::Conversations.provider(),
        &TOOL_FILE_FIELDS,
    );
    Value::Object(part)
}

/// Thinking as a content part; `None` if it did not come as one.
pub(crate) fn write_thinking(flavour: Flavour, reasoning: &ReasoningContent) -> Option<Value> {
    let provider = flavour.provider();
    reasoning.meta.property(provider, CHUNK)?;
    let original = raw_of(&reasoning.meta, flavour.dialect()).and_then(Value::as_object);
    if let Some(original) = original
        && thinking(flavour, original) == Content::Reasoning(reasoning.clone())
    {
        return Some(Value::Object(original.clone()));
    }
    let text = reasoning.text.as_deref().unwrap_or_default();
    let mut part = object_of([
        ("type", "thinking".into()),
        ("signature", reasoning.protected_data.as_deref().into()),
    ]);
    part.insert(
        "thinking".to_owned(),
        json!([{"type": "text", "text": text}]),
    );
    restore(&mut part, &reasoning.meta, provider, &["closed"]);
    Some(Value::Object(part))
}

/// Encodes a content as a part; `None` if no part type represents it.
pub(crate) fn write_part(flavour: Flavour, content: &Content) -> Option<Value> {
    if let Content::Text(text) = content {
        let refusal = text.meta.property(flavour.provider(), REFUSAL).is_some();
        let kind = if refusal { REFUSAL } else { "text" };
        let mut part = object_of([("type", kind.into()), (kind, text.text.as_str().into())]);
        restore(&mut part, &text.meta, flavour.provider(), &PART_FIELDS);
        return Some(Value::Object(part));
    }
    if let Content::Other(other) = content {
        let part = passed_on(other, flavour.wrapped());
        let opaque: &[&str] = match flavour {
            Flavour::Functions | Flavour::Inline => &OPAQUE_PARTS,
            Flavour::Mistral | Flavour::Conversations => &OPAQUE_CHUNKS,
        };
        let is_own = other.dialect.is_some() || opaque.contains(&kind(part));
        return is_own.then(|| Value::Object(part.clone()));
    }
    write_media(flavour, &crate::json::media(content)?)
}

/// Part types of chat completions that are passed through unchanged from neutral JSON that does not state their
/// dialect.
const OPAQUE_PARTS: [&str; 4] = ["input_audio", "file", "video_url", "audio_url"];
/// Mistral's, which no other service knows.
const OPAQUE_CHUNKS: [&str; 5] = [
    "input_audio",
    "file",
    "reference",
    "resource",
    "resource_link",
];

/// An image or file as a part; `None` if only its own provider can display it.
pub(crate) fn write_media(flavour: Flavour, media: &Media) -> Option<Value> {
    match media {
        Media::Data(data) => data_part(flavour, data),
        Media::Uri(uri) => {
            let is_image = uri
                .media_type
                .as_deref()
                .is_none_or(|kind| kind.starts_with("image/"));
            if let Some(name) = uri.meta.property(flavour.provider(), DOCUMENT) {
                return Some(document_part(&uri.uri, name));
            }
            is_image.then(|| image_part(flavour, &uri.uri, &uri.meta))
        }
        Media::HostedFile(file) => file_part(flavour, file),
    }
}

fn data_part(flavour: Flavour, data: &DataContent) -> Option<Value> {
    if let Some(name) = data.meta.property(flavour.provider(), DOCUMENT) {
        return Some(document_part(&data.uri, name));
    }
    let kind = data.media_type().unwrap_or_default();
    if kind.starts_with("image/") {
        return Some(image_part(flavour, &data.uri, &data.meta));
    }
    let form = data.meta.property(flavour.provider(), FORM);
    let is_part = |format: &&str| match flavour {
        // Any other format is a file.
        Flavour::Functions | Flavour::Inline => form.is_some() || OPENAI_SOUNDS.contains(format),
        Flavour::Mistral | Flavour::Conversations => true,
    };
    if let Some(format) = sound_format(kind).filter(is_part) {
        // Entries have no sounds.
        if flavour == Flavour::Conversations && form.is_none() {
            return None;
        }
        let base64 = data.base64()?;
        let audio = match (flavour, form) {
            (Flavour::Mistral | Flavour::Conversations, None) => base64.into(),
            (_, Some(format)) => json!({"data": base64, "format": format}),
            (_, None) => json!({"data": base64, "format": format}),
        };
        let mut part = object_of([("type", "input_audio".into()), ("input_audio", audio)]);
        restore(&mut part, &data.meta, flavour.provider(), &PART_FIELDS);
        return Some(Value::Object(part));
    }
    let name = data.name.as_deref().unwrap_or("file");
    Some(match flavour {
        Flavour::Functions | Flavour::Inline => {
            json!({"type": "file", "file": {"filename": name, "file_data": &data.uri}})
        }
        Flavour::Mistral | Flavour::Conversations => document_part(&data.uri, &name.into()),
    })
}

fn document_part(uri: &str, name: &Value) -> Value {
    let mut part = object_of([
        ("type", "document_url".into()),
        ("document_url", uri.into()),
    ]);
    if name.as_str().is_some_and(|name| !name.is_empty()) {
        part.insert("document_name".to_owned(), name.clone());
    }
    Value::Object(part)
}

/// Mistral's examples use the bare URL.
fn image_part(flavour: Flavour, uri: &str, meta: &Meta) -> Value {
    let mut image: Map<String, Value> = object_of([("url", uri.into())]);
    restore(&mut image, meta, flavour.provider(), &["detail"]);
    if !image.contains_key("detail")
        && let Some(detail) = image_detail(meta).filter(|detail| *detail != "auto")
    {
        image.insert("detail".to_owned(), detail.into());
    }
    let is_mistral = matches!(flavour, Flavour::Mistral | Flavour::Conversations);
    let plain = is_mistral && image.len() == 1;
    let image = if plain {
        uri.into()
    } else {
        Value::Object(image)
    };
    let mut part = object_of([("type", "image_url".into()), ("image_url", image)]);
    restore(&mut part, meta, flavour.provider(), &["cache_control"]);
    Value::Object(part)
}

/// Only files stored by this service can be referenced.
fn file_part(flavour: Flavour, file: &HostedFileContent) -> Option<Value> {
    file.meta.property(flavour.provider(), FILE)?;
    let inner = object_of([
        ("file_id", file.file_id.as_str().into()),
        ("filename", file.name.as_deref().into()),
    ]);
    Some(match flavour {
        Flavour::Functions | Flavour::Inline => json!({"type": "file", "file": inner}),
        Flavour::Mistral if file.meta.property(flavour.provider(), "tool").is_none() => {
            json!({"type": "file", "file_id": file.file_id})
        }
        Flavour::Mistral | Flavour::Conversations => tool_file(file),
    })
}
