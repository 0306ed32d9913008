//! Messages: alternating roles, exactly one result per call, and unchanged assistant content.

use serde_json::Value;

use super::{
    Validated, ensure, extra, image, is_name, list, one_of, only, text, text_or_empty, union,
};
use crate::provider::Rejection;

const BLOCKS: &[&str] = &[
    "text",
    "image",
    "document",
    "video",
    "audio",
    "toolUse",
    "toolResult",
    "guardContent",
    "cachePoint",
    "reasoningContent",
    "citationsContent",
    "searchResult",
    "toolAddition",
    "toolRemoval",
];
const PARTS: &[&str] = &["json", "text", "image", "document", "video", "searchResult"];
const MAX_BASE64_BYTES: usize = 5 * 1024 * 1024;

pub(super) fn check(body: &Value, history: &[Vec<Value>]) -> Validated {
    let messages = list(body.get("messages").unwrap_or(&Value::Null), "messages")?;
    ensure(!messages.is_empty(), || {
        "messages: at least one is needed".to_owned()
    })?;
    let (mut open, mut before, mut history): (Vec<&Value>, &str, _) =
        (Vec::new(), "", history.iter());
    let mut has_tools = false;
    for (index, message) in messages.iter().enumerate() {
        let location = format!("messages[{index}]");
        only(message, &[&["role", "content"]], &location, extra)?;
        let role = text_or_empty(message, "role");
        one_of(role, &["user", "assistant"], &location)?;
        ensure(role != before && (index > 0 || role == "user"), || {
            format!(
                "{location}: A conversation must alternate between user and assistant roles, and begin with a user's."
            )
        })?;
        before = role;
        let blocks = list(message.get("content").unwrap_or(&Value::Null), &location)?;
        ensure(!blocks.is_empty(), || {
            format!("{location}: The content field is empty.")
        })?;
        for block in blocks {
            let kind = union(block, BLOCKS, &location)?;
            has_tools |= matches!(kind, "toolUse" | "toolResult");
            check_block(block, kind, &location)?;
        }
        if role == "assistant" {
            check_unchanged(blocks, history.next(), &location)?;
            open = blocks
                .iter()
                .filter_map(|block| block.get("toolUse"))
                .collect();
        } else {
            check_answers(blocks, &open, &location)?;
            open.clear();
        }
    }
    ensure(before == "user", || {
        "messages: the last message must be a user's".to_owned()
    })?;
    ensure(history.next().is_none(), || {
        "recorded model: a response of this model is missing from the conversation".to_owned()
    })?;
    ensure(!has_tools || body.get("toolConfig").is_some(), || {
        "The toolConfig field must be defined when using toolUse and toolResult content blocks."
            .to_owned()
    })
}

fn check_block(block: &Value, kind: &str, location: &str) -> Validated {
    let inner = &block[kind];
    match kind {
        "text" => ensure(
            inner.as_str().is_some_and(|text| !text.trim().is_empty()),
            || format!("{location}: The text field in the ContentBlock object is blank."),
        ),
        "image" => check_image(inner, location),
        "toolUse" => {
            only(
                inner,
                &[&["toolUseId", "name", "input", "type"]],
                location,
                extra,
            )?;
            let kind = inner.get("type").and_then(Value::as_str);
            ensure(matches!(kind, None | Some("server_tool_use")), || {
                format!("{location}.toolUse.type: {kind:?} is none of [server_tool_use]")
            })?;
            check_id(inner, location)?;
            let name = text(inner, "name", location)?;
            ensure(is_name(name, 64), || {
                format!("{location}.toolUse.name: {name:?}")
            })
        }
        "toolResult" => {
            only(
                inner,
                &[&["toolUseId", "content", "status", "type"]],
                location,
                extra,
            )?;
            check_id(inner, location)?;
            if let Some(status) = inner.get("status") {
                let status = status.as_str().unwrap_or_default();
                one_of(status, &["success", "error"], location)?;
            }
            for part in list(inner.get("content").unwrap_or(&Value::Null), location)? {
                let kind = union(part, PARTS, location)?;
                if matches!(kind, "text" | "image") {
                    check_block(part, kind, location)?;
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn check_id(inner: &Value, location: &str) -> Validated {
    let id = text(inner, "toolUseId", location)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.:-".contains(c);
    let is_legal = (1..=64).contains(&id.len()) && id.chars().all(plain);
    ensure(is_legal, || {
        format!(
            "Value {id:?} at {location}.toolUseId failed to satisfy constraint: [a-zA-Z0-9_.:-]+"
        )
    })
}

fn check_image(image: &Value, location: &str) -> Validated {
    only(image, &[&["format", "source"]], location, extra)?;
    let format = text_or_empty(image, "format");
    one_of(
        format,
        &["png", "jpeg", "gif", "webp"],
        &format!("{location}.image.format"),
    )?;
    let source = image.get("source").unwrap_or(&Value::Null);
    if union(source, &["bytes", "s3Location"], location)? == "bytes" {
        let bytes = text(source, "bytes", location)?;
        ensure(bytes.len() <= MAX_BASE64_BYTES, || {
            format!("{location}: image exceeds 5 MB maximum")
        })?;
        image::measure(&format!("image/{format}"), bytes)
            .map_err(|problem| Rejection::invalid(format!("{location}.image: {problem}")))?;
    }
    Ok(())
}

/// Assistant content must be returned unchanged, except for the `type` of ordinary calls.
fn check_unchanged(blocks: &[Value], history: Option<&Vec<Value>>, location: &str) -> Validated {
    let Some(history) = history else {
        return Err(Rejection::invalid(format!(
            "recorded model: {location} is not a response of this model"
        )));
    };
    let expected = history.iter().map(|block| {
        let mut block = block.clone();
        if let Some(call) = block.get_mut("toolUse").and_then(Value::as_object_mut)
            && call.get("type").is_some_and(|kind| kind == "tool_use")
        {
            call.remove("type");
        }
        block
    });
    ensure(blocks.iter().cloned().eq(expected), || {
        format!("recorded model: {location} differs from this model's response")
    })
}

fn check_answers(blocks: &[Value], open: &[&Value], location: &str) -> Validated {
    let ids = |values: Vec<&Value>| {
        let mut ids: Vec<String> = values
            .into_iter()
            .map(|value| text_or_empty(value, "toolUseId").to_owned())
            .collect();
        ids.sort_unstable();
        ids
    };
    let outcome = blocks
        .iter()
        .filter_map(|block| block.get("toolResult"))
        .collect();
    let (call_ids, outcome) = (ids(open.to_vec()), ids(outcome));
    ensure(call_ids == outcome, || {
        format!(
            "Expected toolResult blocks at {location} for the following Ids: {call_ids:?}, but found: {outcome:?}"
        )
    })
}
