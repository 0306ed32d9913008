//! Messages: whose turn it is, whether every call was answered once, and whether the model's
//! own words came back unchanged.

use serde_json::Value;

use super::{Checked, ensure, list, one_of, result, word};
use crate::provider::Refusal;
use crate::provider::image::Measured;

/// Pictures a request may have, and from how many on each must be small.
const MOST_IMAGES: usize = 100;
const FEW_IMAGES: usize = 20;
const SMALL_EDGE: u32 = 2000;

pub(super) fn check(body: &Value, said: &[Vec<Value>]) -> Checked {
    let messages = list(body.get("messages").unwrap_or(&Value::Null), "messages")?;
    ensure(!messages.is_empty(), || {
        "messages: at least one message is required".to_owned()
    })?;
    let mut open: Vec<&Value> = Vec::new();
    let (mut said, mut images) = (said.iter(), Vec::new());
    for (index, message) in messages.iter().enumerate() {
        let place = format!("messages.{index}");
        one_of(
            word(message, "role"),
            &["user", "assistant", "system"],
            &format!("{place}.role"),
        )?;
        ensure(index > 0 || word(message, "role") == "user", || {
            "messages: first message must use the \"user\" role".to_owned()
        })?;
        let blocks = content(message, &place)?;
        if word(message, "role") == "assistant" {
            ensure(open.is_empty(), || unanswered(&place, &open))?;
            check_said(blocks, said.next(), &place)?;
            open = blocks
                .iter()
                .filter(|block| word(block, "type") == "tool_use")
                .collect();
        } else {
            images.extend(check_user(blocks, &open, &place)?);
            open.clear();
        }
    }
    ensure(open.is_empty(), || unanswered("messages", &open))?;
    ensure(said.next().is_none(), || {
        "recorded model: an answer of mine is missing from the conversation".to_owned()
    })?;
    check_images(&images)
}

fn content<'a>(message: &'a Value, place: &str) -> Checked<&'a [Value]> {
    match message.get("content") {
        Some(Value::String(text)) => {
            ensure(!text.is_empty(), || {
                format!("{place}: text content blocks must be non-empty")
            })?;
            Ok(&[])
        }
        Some(Value::Array(blocks)) => {
            ensure(!blocks.is_empty(), || {
                format!("{place}.content: all messages must have non-empty content")
            })?;
            Ok(blocks)
        }
        _ => Err(Refusal::invalid(format!("{place}.content: Field required"))),
    }
}

fn unanswered(place: &str, open: &[&Value]) -> String {
    let ids: Vec<&str> = open.iter().map(|call| word(call, "id")).collect();
    format!(
        "{place}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        ids.join(", ")
    )
}

fn check_said(blocks: &[Value], said: Option<&Vec<Value>>, place: &str) -> Checked {
    let Some(said) = said else {
        return Err(Refusal::invalid(format!(
            "recorded model: {place} is not something that I said"
        )));
    };
    let empty =
        |block: &Value| word(block, "type") == "text" && word(block, "text").trim().is_empty();
    ensure(!blocks.iter().any(empty), || {
        format!("{place}: text content blocks must be non-empty")
    })?;
    let kept: Vec<&Value> = said.iter().filter(|block| !empty(block)).collect();
    ensure(blocks.iter().eq(kept), || {
        format!(
            "recorded model: {place} is not what I said; thinking and calls must come back unchanged"
        )
    })
}

fn check_user(blocks: &[Value], open: &[&Value], place: &str) -> Checked<Vec<Measured>> {
    let results: Vec<&Value> = blocks
        .iter()
        .take_while(|block| word(block, "type") == "tool_result")
        .collect();
    let later = blocks
        .iter()
        .skip(results.len())
        .any(|block| word(block, "type") == "tool_result");
    ensure(!later, || {
        format!("{place}: `tool_result` blocks must come first in the message")
    })?;
    let mut images = Vec::new();
    for (index, found) in results.iter().enumerate() {
        let id = word(found, "tool_use_id");
        let place = format!("{place}.content.{index}");
        let Some(call) = open.iter().find(|call| word(call, "id") == id) else {
            return Err(Refusal::invalid(format!(
                "{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )));
        };
        let twice = results[..index]
            .iter()
            .any(|other| word(other, "tool_use_id") == id);
        ensure(!twice, || {
            format!(
                "{place}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"
            )
        })?;
        images.extend(result::check(found, call, &place)?);
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
    ensure(unmet.is_empty(), || unanswered(place, &unmet))?;
    result::check_batch(open, &results, place)?;
    for (index, block) in blocks.iter().enumerate().skip(results.len()) {
        one_of(
            word(block, "type"),
            &["text", "image", "document", "search_result"],
            &format!("{place}.content.{index}.type"),
        )?;
        ensure(
            word(block, "type") != "text" || !word(block, "text").is_empty(),
            || format!("{place}: text content blocks must be non-empty"),
        )?;
    }
    Ok(images)
}

fn check_images(images: &[Measured]) -> Checked {
    ensure(images.len() <= MOST_IMAGES, || {
        format!(
            "messages: too many images: {} > {MOST_IMAGES}",
            images.len()
        )
    })?;
    let many = images.len() > FEW_IMAGES;
    let large = images
        .iter()
        .find(|image| many && image.long_edge() > SMALL_EDGE);
    ensure(large.is_none(), || {
        format!(
            "messages: at least one of the image dimensions exceed max allowed size for many-image requests: {SMALL_EDGE} pixels"
        )
    })
}
