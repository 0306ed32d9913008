//! Message content: one text, or parts with decodable images.

use serde_json::Value;

use super::{Rules, extra};
use crate::provider::image;
use crate::provider::shape::{Validated, ensure, list, object, one_of, only, text, text_or_empty};

/// Validates content and counts its images.
pub(crate) fn check(
    rules: Rules,
    content: &Value,
    kinds: &[&str],
    location: &str,
) -> Validated<usize> {
    if content.is_string() {
        return Ok(0);
    }
    let mut images = 0;
    let parts = list(content, location)?;
    ensure(!parts.is_empty(), || format!("{location}: [] is too short"))?;
    for (index, part) in parts.iter().enumerate() {
        let location = format!("{location}[{index}]");
        object(part, &location)?;
        one_of(
            text_or_empty(part, "type"),
            kinds,
            &format!("{location}.type"),
        )?;
        match text_or_empty(part, "type") {
            "text" => {
                only(part, &[&["type", "text"]], &location, extra)?;
                text(part, "text", &location)?;
            }
            "image_url" => {
                only(part, &[&["type", "image_url"]], &location, extra)?;
                check_image(rules, &part["image_url"], &location)?;
                images += 1;
            }
            _ => {}
        }
    }
    Ok(images)
}

fn check_image(rules: Rules, image: &Value, location: &str) -> Validated {
    let url = match image.as_str() {
        Some(url) => {
            ensure(rules == Rules::Mistral, || {
                format!("{location}.image_url: Input should be an object with `url`")
            })?;
            url
        }
        None => {
            only(image, &[&["url", "detail"]], location, extra)?;
            text(image, "url", location)?
        }
    };
    let Some((media_type, base64)) = url
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"))
    else {
        return ensure(url.starts_with("https://"), || {
            format!("{location}.image_url: it is neither https nor base64")
        });
    };
    let measured = image::measure(media_type, base64);
    ensure(measured.is_ok(), || {
        format!(
            "{location}.image_url: {}",
            measured.err().unwrap_or_default()
        )
    })
}

/// The text of a message, with a placeholder for each image.
pub(crate) fn text_of(message: &Value) -> String {
    let content = &message["content"];
    if let Some(history) = content.as_str() {
        return history.to_owned();
    }
    let parts = content.as_array().into_iter().flatten();
    let text_of = parts.map(|part| match text_or_empty(part, "type") {
        "image_url" => "[image]",
        _ => text_or_empty(part, "text"),
    });
    text_of.collect::<Vec<_>>().join("\n")
}
