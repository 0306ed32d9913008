//! Messages: alternating roles, exactly one result per call, and unchanged assistant content.

use serde_json::Value;

use super::{Validated, ensure, list, one_of, result, text_or_empty};
use crate::provider::Rejection;
use crate::provider::image::ImageSize;

/// Maximum number of images, and the number above which each must be small.
const MAX_IMAGES: usize = 100;
const MAX_FULL_SIZE_IMAGES: usize = 20;
const SMALL_EDGE_PIXELS: u32 = 2000;

pub(super) fn check(body: &Value, history: &[Vec<Value>]) -> Validated {
    let messages = list(body.get("messages").unwrap_or(&Value::Null), "messages")?;
    ensure(!messages.is_empty(), || {
        "messages: at least one message is required".to_owned()
    })?;
    let mut open: Vec<&Value> = Vec::new();
    let (mut history, mut images) = (history.iter(), Vec::new());
    for (index, message) in messages.iter().enumerate() {
        let location = format!("messages.{index}");
        one_of(
            text_or_empty(message, "role"),
            &["user", "assistant", "system"],
            &format!("{location}.role"),
        )?;
        ensure(
            index > 0 || text_or_empty(message, "role") == "user",
            || "messages: first message must use the \"user\" role".to_owned(),
        )?;
        let blocks = content(message, &location)?;
        if text_or_empty(message, "role") == "assistant" {
            ensure(open.is_empty(), || unanswered(&location, &open))?;
            check_unchanged(blocks, history.next(), &location)?;
            open = blocks
                .iter()
                .filter(|block| text_or_empty(block, "type") == "tool_use")
                .collect();
        } else {
            images.extend(check_user(blocks, &open, &location)?);
            open.clear();
        }
    }
    ensure(open.is_empty(), || unanswered("messages", &open))?;
    ensure(history.next().is_none(), || {
        "recorded model: a response of this model is missing from the conversation".to_owned()
    })?;
    check_images(&images)
}

fn content<'a>(message: &'a Value, location: &str) -> Validated<&'a [Value]> {
    match message.get("content") {
        Some(Value::String(text)) => {
            ensure(!text.is_empty(), || {
                format!("{location}: text content blocks must be non-empty")
            })?;
            Ok(&[])
        }
        Some(Value::Array(blocks)) => {
            ensure(!blocks.is_empty(), || {
                format!("{location}.content: all messages must have non-empty content")
            })?;
            Ok(blocks)
        }
        _ => Err(Rejection::invalid(format!(
            "{location}.content: Field required"
        ))),
    }
}

fn unanswered(location: &str, open: &[&Value]) -> String {
    let ids: Vec<&str> = open.iter().map(|call| text_or_empty(call, "id")).collect();
    format!(
        "{location}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        ids.join(", ")
    )
}

fn check_unchanged(blocks: &[Value], history: Option<&Vec<Value>>, location: &str) -> Validated {
    let Some(history) = history else {
        return Err(Rejection::invalid(format!(
            "recorded model: {location} is not a response of this model"
        )));
    };
    let empty = |block: &Value| {
        text_or_empty(block, "type") == "text" && text_or_empty(block, "text").trim().is_empty()
    };
    ensure(!blocks.iter().any(empty), || {
        format!("{location}: text content blocks must be non-empty")
    })?;
    let expected: Vec<&Value> = history.iter().filter(|block| !empty(block)).collect();
    ensure(blocks.iter().eq(expected), || {
        format!(
            "recorded model: {location} differs from this model's response; thinking and calls must be returned unchanged"
        )
    })
}

fn check_user(blocks: &[Value], open: &[&Value], location: &str) -> Validated<Vec<ImageSize>> {
    let results: Vec<&Value> = blocks
        .iter()
        .take_while(|block| text_or_empty(block, "type") == "tool_result")
        .collect();
    let later = blocks
        .iter()
        .skip(results.len())
        .any(|block| text_or_empty(block, "type") == "tool_result");
    ensure(!later, || {
        format!("{location}: `tool_result` blocks must come first in the message")
    })?;
    let mut images = Vec::new();
    for (index, found) in results.iter().enumerate() {
        let id = text_or_empty(found, "tool_use_id");
        let location = format!("{location}.content.{index}");
        let Some(call) = open.iter().find(|call| text_or_empty(call, "id") == id) else {
            return Err(Rejection::invalid(format!(
                "{location}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )));
        };
        let twice = results[..index]
            .iter()
            .any(|other| text_or_empty(other, "tool_use_id") == id);
        ensure(!twice, || {
            format!(
                "{location}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"
            )
        })?;
        images.extend(result::check(found, call, &location)?);
    }
    let unmet: Vec<&Value> = open
        .iter()
        .filter(|call| {
            !results
                .iter()
                .any(|found| found.get("tool_use_id") == call.get("id"))
        })
        .copied()
        .collect();
    ensure(unmet.is_empty(), || unanswered(location, &unmet))?;
    result::check_batch(open, &results, location)?;
    for (index, block) in blocks.iter().enumerate().skip(results.len()) {
        one_of(
            text_or_empty(block, "type"),
            &["text", "image", "document", "search_result"],
            &format!("{location}.content.{index}.type"),
        )?;
        ensure(
            text_or_empty(block, "type") != "text" || !text_or_empty(block, "text").is_empty(),
            || format!("{location}: text content blocks must be non-empty"),
        )?;
    }
    Ok(images)
}

fn check_images(images: &[ImageSize]) -> Validated {
    ensure(images.len() <= MAX_IMAGES, || {
        format!("messages: too many images: {} > {MAX_IMAGES}", images.len())
    })?;
    let many = images.len() > MAX_FULL_SIZE_IMAGES;
    let large = images
        .iter()
        .find(|image| many && image.long_edge() > SMALL_EDGE_PIXELS);
    ensure(large.is_none(), || {
        format!(
            "messages: at least one of the image dimensions exceed max allowed size for many-image requests: {SMALL_EDGE_PIXELS} pixels"
        )
    })
}
