//! The JSON that contents keep: their original, their provider's settings, objects that pass
//! unchanged.

use serde_json::Value;
use telechir_protocol::{Content, ErrorContent, Media, Meta, Raw, UnknownContent};

use super::{Fields, object, present};

/// A meta with the original JSON as its raw representation.
pub(crate) fn raw(dialect: &str, json: Value) -> Meta {
    let raw = Raw::new(dialect, json);
    Meta {
        raw_representation: Some(raw),
        ..Meta::default()
    }
}

/// The original JSON of a content, if it is of this dialect.
pub(crate) fn raw_of<'a>(meta: &'a Meta, dialect: &str) -> Option<&'a Value> {
    let raw = meta.raw_representation.as_ref()?;
    (raw.dialect == dialect).then_some(raw.json())
}

/// The `detail` at which OpenAI's APIs show an image of another provider; absent if that says
/// nothing, or what they lack.
pub(crate) fn image_detail(meta: &Meta) -> Option<&'static str> {
    let of_chat = |provider| meta.property(provider, "detail");
    let given = ["openai", "functions", "mistral"]
        .into_iter()
        .find_map(of_chat);
    let given = given.or_else(|| meta.property("google", "resolution"));
    let given = given?.as_str()?;
    ["low", "high", "auto"]
        .into_iter()
        .find(|detail| *detail == given)
}

/// Stores these fields as settings of the provider.
pub(crate) fn keep(meta: &mut Meta, provider: &str, fields: &Fields, names: &[&str]) {
    for name in names {
        if let Some(value) = present(fields, name) {
            meta.set_property(provider, name, value.clone());
        }
    }
}

/// Writes back the fields that [`keep`] stored.
pub(crate) fn restore(fields: &mut Fields, meta: &Meta, provider: &str, names: &[&str]) {
    for name in names {
        if let Some(value) = meta.property(provider, name) {
            fields.insert((*name).to_owned(), value.clone());
        }
    }
}

/// The image or file of a content, if it is one.
pub(crate) fn media(content: &Content) -> Option<Media> {
    if let Content::Data(data) = content {
        Some(Media::Data(data.clone()))
    } else if let Content::Uri(uri) = content {
        Some(Media::Uri(uri.clone()))
    } else if let Content::HostedFile(file) = content {
        Some(Media::HostedFile(file.clone()))
    } else {
        None
    }
}

/// The content as an image or file, without a copy of its data.
pub(crate) fn into_media(content: Content) -> Option<Media> {
    if let Content::Data(data) = content {
        Some(Media::Data(data))
    } else if let Content::Uri(uri) = content {
        Some(Media::Uri(uri))
    } else if let Content::HostedFile(file) = content {
        Some(Media::HostedFile(file))
    } else {
        None
    }
}

/// The text of a text content.
pub(crate) fn text_of_content(content: &Content) -> Option<&str> {
    if let Content::Text(text) = content {
        Some(text.text.as_str())
    } else {
        None
    }
}

/// An error among the results of code that a provider ran: the outcome is `code`, which only that
/// provider's dialect encodes as a field; others encode the message.
pub(crate) fn hosted_failure(code: &str, message: impl Into<String>) -> Content {
    Content::Error(ErrorContent {
        message: message.into(),
        error_code: Some(code.to_owned()),
        ..ErrorContent::default()
    })
}

/// The texts and error messages of what code printed, without empty ones and without the outcomes
/// that `is_outcome` accepts, which the dialect has as fields.
pub(crate) fn hosted_output<'a>(
    contents: &[&'a Content],
    is_outcome: &dyn Fn(&str) -> bool,
) -> Vec<&'a str> {
    let text = |content: &&'a Content| -> Option<&'a str> {
        if let Content::Error(error) = *content {
            let is_field = error.error_code.as_deref().is_some_and(is_outcome);
            return (!is_field).then_some(error.message.as_str());
        }
        text_of_content(content)
    };
    let texts = contents.iter().filter_map(text);
    texts.filter(|text| !text.is_empty()).collect()
}

/// The texts of all text contents, joined by `separator`.
pub(crate) fn joined_texts(contents: &[Content], separator: &str) -> String {
    contents
        .iter()
        .filter_map(text_of_content)
        .collect::<Vec<_>>()
        .join(separator)
}

/// A content that carries an object of a dialect unchanged.
pub(crate) fn verbatim(fields: &Fields, dialect: &str) -> Content {
    Content::Other(UnknownContent::new(dialect, fields.clone()))
}

/// The object of a content that [`verbatim`] made, or that an older version wrapped in an object of
/// the type `wrapped`.
pub(crate) fn passed_on<'a>(other: &'a UnknownContent, wrapped: &str) -> &'a Fields {
    let is_wrapped = other.kind.as_deref() == Some(wrapped);
    object(&other.json, "item")
        .filter(|_| is_wrapped)
        .unwrap_or(&other.json)
}
