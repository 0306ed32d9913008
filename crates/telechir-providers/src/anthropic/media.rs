//! Encodes images and files as blocks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use telechir_protocol::{DataContent, HostedFileContent, Media, Meta, UriContent};

use super::image::{self, ImageTier};
use super::{DIALECT, PROVIDER};
use crate::data_url::base64_of;
use crate::service_rules::is_image_type;
use crate::{EncodeError, Report};

/// How to handle an image that cannot be sent unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strictness {
    /// Fail: the image was just taken, in a wrong size or format.
    Refuse,
    /// Report a loss: the image is part of a history.
    Report,
}

/// How to check images.
#[derive(Clone, Copy, Debug)]
pub(super) struct ImageCheck {
    pub(super) tier: ImageTier,
    pub(super) strictness: Strictness,
}

/// Encodes an image; none if it cannot be sent and was reported as a loss.
pub(super) fn image(
    media: &Media,
    check: ImageCheck,
    location: &str,
    report: &mut Report,
) -> Result<Option<Value>, EncodeError> {
    Ok(match media {
        Media::Data(data) => data_image(data, check, location, report)?,
        Media::Uri(uri) => Some(uri_block(uri)),
        Media::HostedFile(file) => file_block(file, location, report),
    })
}

fn data_image(
    data: &DataContent,
    check: ImageCheck,
    location: &str,
    report: &mut Report,
) -> Result<Option<Value>, EncodeError> {
    let kind = data.media_type().unwrap_or_default();
    if !is_image_type(kind) {
        let problem =
            format!("{location}: expected a PNG, JPEG, GIF or WebP image, found {kind:?}");
        return match check.strictness {
            Strictness::Refuse => Err(missing(problem)),
            Strictness::Report => {
                report.lost(
                    format!("image of type {kind:?}"),
                    location,
                    "images must be PNG, JPEG, GIF or WebP",
                );
                Ok(None)
            }
        };
    }
    let Some(base64) = base64_of(data) else {
        return Err(missing(format!("{location}: the image data is invalid")));
    };
    let mut block =
        json!({"type": "image", "source": {"type": "base64", "media_type": kind, "data": base64}});
    if let Some(problem) = image::problem(check.tier, &base64) {
        if check.strictness == Strictness::Refuse {
            return Err(missing(format!(
                "the image of {location} {problem}; scale it down"
            )));
        }
        // Without this the provider rejects the request.
        block["transformations"] = json!({"oversized_image": "downsize"});
        report.preserved(
            format!("image that {problem}"),
            location,
            "it exceeds the model's image size",
            "shrunk by the provider, so coordinates no longer match",
        );
    }
    restore(&mut block, &data.meta);
    Ok(Some(block))
}

/// Encodes an image, a PDF or a text file; none for any other type, which is reported.
pub(super) fn data_block(
    data: &DataContent,
    check: ImageCheck,
    location: &str,
    report: &mut Report,
) -> Result<Option<Value>, EncodeError> {
    let kind = data.media_type().unwrap_or_default();
    if kind.starts_with("image/") {
        return data_image(data, check, location, report);
    }
    let source = match kind {
        "application/pdf" => base64_of(data)
            .map(|base64| json!({"type": "base64", "media_type": kind, "data": base64})),
        _ if kind.starts_with("text/") => text_of(data)
            .map(|text| json!({"type": "text", "media_type": "text/plain", "data": text})),
        _ => None,
    };
    let Some(source) = source else {
        report.lost(
            format!("file of type {kind:?}"),
            location,
            "documents must be PDF or text",
        );
        return Ok(None);
    };
    if kind.starts_with("text/") && kind != "text/plain" {
        let why = "a text document has no other type";
        report.preserved(format!("media type {kind}"), location, why, "as text/plain");
    }
    let mut block = json!({"type": "document", "source": source});
    if let Some(name) = &data.name {
        block["title"] = name.as_str().into();
    }
    restore(&mut block, &data.meta);
    Ok(Some(block))
}

fn text_of(data: &DataContent) -> Option<String> {
    let bytes = STANDARD.decode(base64_of(data)?.as_bytes()).ok()?;
    String::from_utf8(bytes).ok()
}

/// Encodes an image or document given by its URL.
pub(super) fn uri_block(uri: &UriContent) -> Value {
    let is_document = uri
        .media_type
        .as_deref()
        .is_some_and(|kind| !kind.starts_with("image/"));
    let kind = if is_document { "document" } else { "image" };
    let mut block = json!({"type": kind, "source": {"type": "url", "url": uri.uri}});
    restore(&mut block, &uri.meta);
    block
}

/// Encodes a file stored at the provider; none for another provider's file, which is reported.
pub(super) fn file_block(
    file: &HostedFileContent,
    location: &str,
    report: &mut Report,
) -> Option<Value> {
    let raw = file.meta.raw_representation.as_ref();
    let of_others = file.meta.additional_properties.keys();
    let is_foreign = of_others.into_iter().any(|provider| provider != PROVIDER);
    let is_own = raw.map_or_else(
        || file.file_id.starts_with("file_") && !is_foreign,
        |raw| raw.dialect == DIALECT,
    );
    if !is_own {
        report.lost(
            format!("file {}", file.file_id),
            location,
            "another provider stores it",
        );
        return None;
    }
    let is_image = file
        .media_type
        .as_deref()
        .is_some_and(|kind| kind.starts_with("image/"));
    let kind = if is_image { "image" } else { "document" };
    let mut block = json!({"type": kind, "source": {"type": "file", "file_id": file.file_id}});
    restore(&mut block, &file.meta);
    Some(block)
}

/// Restores the block's fields that have no neutral form.
pub(super) fn restore(block: &mut Value, meta: &Meta) {
    let own = meta
        .additional_properties
        .get(PROVIDER)
        .and_then(Value::as_object);
    let none = Map::new();
    for (name, value) in own.unwrap_or(&none) {
        if block.get(name).is_none() {
            block[name.as_str()] = value.clone();
        }
    }
}

pub(super) fn missing(problem: impl Into<String>) -> EncodeError {
    EncodeError::missing(DIALECT, problem)
}
