//! Content: one text, or parts whose pictures can be looked at.

use serde_json::Value;

use super::{Rules, extra};
use crate::provider::image;
use crate::provider::shape::{Checked, ensure, list, object, one_of, only, text, word};

/// Checks a content and counts its pictures.
pub(crate) fn check(rules: Rules, content: &Value, kinds: &[&str], place: &str) -> Checked<usize> {
    if content.is_string() {
        return Ok(0);
    }
    let mut images = 0;
    let parts = list(content, place)?;
    ensure(!parts.is_empty(), || format!("{place}: [] is too short"))?;
    for (index, part) in parts.iter().enumerate() {
        let place = format!("{place}[{index}]");
        object(part, &place)?;
        one_of(word(part, "type"), kinds, &format!("{place}.type"))?;
        match word(part, "type") {
            "text" => {
                only(part, &[&["type", "text"]], &place, extra)?;
                text(part, "text", &place)?;
            }
            "image_url" => {
                only(part, &[&["type", "image_url"]], &place, extra)?;
                check_image(rules, &part["image_url"], &place)?;
                images += 1;
            }
            _ => {}
        }
    }
    Ok(images)
}

fn check_image(rules: Rules, image: &Value, place: &str) -> Checked {
    let url = match image.as_str() {
        Some(url) => {
            ensure(rules == Rules::Mistral, || {
                format!("{place}.image_url: Input should be an object with `url`")
            })?;
            url
        }
        None => {
            only(image, &[&["url", "detail"]], place, extra)?;
            text(image, "url", place)?
        }
    };
    let Some((media_type, base64)) = url
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"))
    else {
        return ensure(url.starts_with("https://"), || {
            format!("{place}.image_url: it is neither https nor base64")
        });
    };
    let measured = image::measure(media_type, base64);
    ensure(measured.is_ok(), || {
        format!("{place}.image_url: {}", measured.err().unwrap_or_default())
    })
}

/// The words of a message; a picture is said to be one.
pub(crate) fn text_of(message: &Value) -> String {
    let content = &message["content"];
    if let Some(said) = content.as_str() {
        return said.to_owned();
    }
    let parts = content.as_array().into_iter().flatten();
    let words = parts.map(|part| match word(part, "type") {
        "image_url" => "[picture]",
        _ => word(part, "text"),
    });
    words.collect::<Vec<_>>().join("\n")
}
