//! Messages: whose turn it is, whether every call was answered once, and whether the model's own
//! words came back.

use serde_json::Value;

use super::{Checked, ensure, extra, image, is_name, list, one_of, only, text, union, word};
use crate::provider::Refusal;

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
const MOST_BASE64: usize = 5 * 1024 * 1024;

pub(super) fn check(body: &Value, said: &[Vec<Value>]) -> Checked {
    let messages = list(body.get("messages").unwrap_or(&Value::Null), "messages")?;
    ensure(!messages.is_empty(), || {
        "messages: at least one is needed".to_owned()
    })?;
    let (mut open, mut before, mut said): (Vec<&Value>, &str, _) = (Vec::new(), "", said.iter());
    let mut has_tools = false;
    for (index, message) in messages.iter().enumerate() {
        let place = format!("messages[{index}]");
        only(message, &[&["role", "content"]], &place, extra)?;
        let role = word(message, "role");
        one_of(role, &["user", "assistant"], &place)?;
        ensure(role != before && (index > 0 || role == "user"), || {
            format!(
                "{place}: A conversation must alternate between user and assistant roles, and begin with a user's."
            )
        })?;
        before = role;
        let blocks = list(message.get("content").unwrap_or(&Value::Null), &place)?;
        ensure(!blocks.is_empty(), || {
            format!("{place}: The content field is empty.")
        })?;
        for block in blocks {
            let kind = union(block, BLOCKS, &place)?;
            has_tools |= matches!(kind, "toolUse" | "toolResult");
            check_block(block, kind, &place)?;
        }
        if role == "assistant" {
            check_said(blocks, said.next(), &place)?;
            open = blocks
                .iter()
                .filter_map(|block| block.get("toolUse"))
                .collect();
        } else {
            check_answers(blocks, &open, &place)?;
            open.clear();
        }
    }
    ensure(before == "user", || {
        "messages: the last message must be a user's".to_owned()
    })?;
    ensure(said.next().is_none(), || {
        "recorded model: an answer of mine is missing from the conversation".to_owned()
    })?;
    ensure(!has_tools || body.get("toolConfig").is_some(), || {
        "The toolConfig field must be defined when using toolUse and toolResult content blocks."
            .to_owned()
    })
}

fn check_block(block: &Value, kind: &str, place: &str) -> Checked {
    let inner = &block[kind];
    match kind {
        "text" => ensure(
            inner.as_str().is_some_and(|text| !text.trim().is_empty()),
            || format!("{place}: The text field in the ContentBlock object is blank."),
        ),
        "image" => check_image(inner, place),
        "toolUse" => {
            only(
                inner,
                &[&["toolUseId", "name", "input", "type"]],
                place,
                extra,
            )?;
            let kind = inner.get("type").and_then(Value::as_str);
            ensure(matches!(kind, None | Some("server_tool_use")), || {
                format!("{place}.toolUse.type: {kind:?} is none of [server_tool_use]")
            })?;
            check_id(inner, place)?;
            let name = text(inner, "name", place)?;
            ensure(is_name(name, 64), || {
                format!("{place}.toolUse.name: {name:?}")
            })
        }
        "toolResult" => {
            only(
                inner,
                &[&["toolUseId", "content", "status", "type"]],
                place,
                extra,
            )?;
            check_id(inner, place)?;
            if let Some(status) = inner.get("status") {
                let status = status.as_str().unwrap_or_default();
                one_of(status, &["success", "error"], place)?;
            }
            for part in list(inner.get("content").unwrap_or(&Value::Null), place)? {
                let kind = union(part, PARTS, place)?;
                if matches!(kind, "text" | "image") {
                    check_block(part, kind, place)?;
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn check_id(inner: &Value, place: &str) -> Checked {
    let id = text(inner, "toolUseId", place)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.:-".contains(c);
    let is_legal = (1..=64).contains(&id.len()) && id.chars().all(plain);
    ensure(is_legal, || {
        format!("Value {id:?} at {place}.toolUseId failed to satisfy constraint: [a-zA-Z0-9_.:-]+")
    })
}

fn check_image(image: &Value, place: &str) -> Checked {
    only(image, &[&["format", "source"]], place, extra)?;
    let format = word(image, "format");
    one_of(
        format,
        &["png", "jpeg", "gif", "webp"],
        &format!("{place}.image.format"),
    )?;
    let source = image.get("source").unwrap_or(&Value::Null);
    if union(source, &["bytes", "s3Location"], place)? == "bytes" {
        let bytes = text(source, "bytes", place)?;
        ensure(bytes.len() <= MOST_BASE64, || {
            format!("{place}: image exceeds 5 MB maximum")
        })?;
        image::measure(&format!("image/{format}"), bytes)
            .map_err(|problem| Refusal::invalid(format!("{place}.image: {problem}")))?;
    }
    Ok(())
}

/// What was said comes back, but for the type that ordinary calls came with.
fn check_said(blocks: &[Value], said: Option<&Vec<Value>>, place: &str) -> Checked {
    let Some(said) = said else {
        return Err(Refusal::invalid(format!(
            "recorded model: {place} is not something that I said"
        )));
    };
    let kept = said.iter().map(|block| {
        let mut block = block.clone();
        if let Some(call) = block.get_mut("toolUse").and_then(Value::as_object_mut)
            && call.get("type").is_some_and(|kind| kind == "tool_use")
        {
            call.remove("type");
        }
        block
    });
    ensure(blocks.iter().cloned().eq(kept), || {
        format!("recorded model: {place} is not what I said")
    })
}

fn check_answers(blocks: &[Value], open: &[&Value], place: &str) -> Checked {
    let ids = |values: Vec<&Value>| {
        let mut ids: Vec<String> = values
            .into_iter()
            .map(|value| word(value, "toolUseId").to_owned())
            .collect();
        ids.sort_unstable();
        ids
    };
    let answered = blocks
        .iter()
        .filter_map(|block| block.get("toolResult"))
        .collect();
    let (asked, answered) = (ids(open.to_vec()), ids(answered));
    ensure(asked == answered, || {
        format!(
            "Expected toolResult blocks at {place} for the following Ids: {asked:?}, but found: {answered:?}"
        )
    })
}
