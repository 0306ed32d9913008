//! One `tool_result`: its members, its blocks, its pictures, and the rule of batches.

use serde_json::Value;

use super::{Checked, ensure, extra, image, list, one_of, only, text, word};
use crate::provider::Refusal;
use crate::provider::image::Measured;

const MOST_BASE64: usize = 10_000_000;
const LONGEST_EDGE: u32 = 8000;
/// The larger of the two size tiers: what a toolset picture must fit, as nothing shrinks it.
const TOOLSET_EDGE: u32 = 2576;
const TOOLSET_TILES: u64 = 4784;
const TAB_CALLS: [&str; 4] = ["list_tabs", "new_tab", "switch_tab", "close_tab"];

/// Checks a result against its call and returns the sizes of its pictures.
pub(super) fn check(result: &Value, call: &Value, place: &str) -> Checked<Vec<Measured>> {
    only(
        result,
        &[&[
            "type",
            "tool_use_id",
            "toolset_name",
            "content",
            "is_error",
            "cache_control",
        ]],
        place,
        extra,
    )?;
    let family = call.get("toolset_name").and_then(Value::as_str);
    let echoed = result.get("toolset_name").and_then(Value::as_str);
    ensure(family == echoed, || {
        format!("{place}.toolset_name: must equal the call's ({family:?}); found {echoed:?}")
    })?;
    let is_error = result
        .get("is_error")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let blocks = match result.get("content") {
        None => &[],
        Some(Value::String(words)) => {
            ensure(!is_error || !words.is_empty(), || {
                format!("{place}: content cannot be empty if `is_error` is true")
            })?;
            &[]
        }
        Some(content) => list(content, &format!("{place}.content"))?,
    };
    let silent = blocks.is_empty() && !result.get("content").is_some_and(Value::is_string);
    ensure(!(is_error && silent), || {
        format!("{place}: content cannot be empty if `is_error` is true")
    })?;
    let images = check_blocks(blocks, family, place)?;
    check_demanded(call, blocks, is_error, family, place)?;
    Ok(images)
}

fn check_blocks(blocks: &[Value], family: Option<&str>, place: &str) -> Checked<Vec<Measured>> {
    let allowed: &[&str] = match family {
        Some("computer") => &["text", "image"],
        Some(_) => &["text", "image", "browser_state"],
        None => &[
            "text",
            "image",
            "document",
            "search_result",
            "tool_reference",
        ],
    };
    let mut images = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        let place = format!("{place}.content.{index}");
        one_of(word(block, "type"), allowed, &format!("{place}.type"))?;
        match word(block, "type") {
            "text" => ensure(!word(block, "text").is_empty(), || {
                format!("{place}: text content blocks must be non-empty")
            })?,
            "image" => images.push(check_image(block, family.is_some(), &place)?),
            "browser_state" => check_state(block, &place)?,
            _ => {}
        }
    }
    let states = blocks
        .iter()
        .filter(|block| word(block, "type") == "browser_state")
        .count();
    ensure(states <= 1, || {
        format!("{place}: at most one browser_state block is allowed")
    })?;
    Ok(images)
}

/// What some calls demand of their result.
fn check_demanded(
    call: &Value,
    blocks: &[Value],
    is_error: bool,
    family: Option<&str>,
    place: &str,
) -> Checked {
    let has = |kind: &str| blocks.iter().any(|block| word(block, "type") == kind);
    if is_error {
        return ensure(!has("browser_state"), || {
            format!("{place}: browser_state is not allowed on an error result")
        });
    }
    let name = word(call, "name");
    let legacy = call.get("input").map_or("", |input| word(input, "action"));
    let wants_image = (family.is_some() && matches!(name, "screenshot" | "zoom"))
        || (name == "computer" && matches!(legacy, "screenshot" | "zoom"));
    ensure(!wants_image || has("image"), || {
        format!("{place}: the result of {name} must hold an image")
    })?;
    if family == Some("browser") && TAB_CALLS.contains(&name) {
        let alone = blocks.len() == 1 && has("browser_state");
        ensure(alone, || {
            format!("{place}: the result of {name} must be exactly one browser_state block")
        })?;
    }
    Ok(())
}

fn check_image(block: &Value, toolset: bool, place: &str) -> Checked<Measured> {
    only(
        block,
        &[&["type", "source", "cache_control", "transformations"]],
        place,
        extra,
    )?;
    let source = block.get("source").unwrap_or(&Value::Null);
    let place = format!("{place}.source");
    one_of(word(source, "type"), &["base64"], &format!("{place}.type"))?;
    only(source, &[&["type", "media_type", "data"]], &place, extra)?;
    one_of(
        word(source, "media_type"),
        &["image/png", "image/jpeg", "image/gif", "image/webp"],
        &format!("{place}.media_type"),
    )?;
    let data = text(source, "data", &place)?;
    ensure(data.len() <= MOST_BASE64, || {
        format!(
            "{place}.data: image exceeds 10 MB maximum: {} bytes",
            data.len()
        )
    })?;
    let size = image::measure(word(source, "media_type"), data)
        .map_err(|problem| Refusal::invalid(format!("{place}.data: {problem}")))?;
    ensure(size.long_edge() <= LONGEST_EDGE, || {
        format!("{place}: image dimensions exceed max allowed size: {LONGEST_EDGE} pixels")
    })?;
    let fits = size.long_edge() <= TOOLSET_EDGE && size.tiles(28) <= TOOLSET_TILES;
    ensure(!toolset || fits, || {
        format!(
            "{place}: a toolset image of {}x{} is too large; it is not downsized",
            size.width, size.height
        )
    })?;
    Ok(size)
}

fn check_state(state: &Value, place: &str) -> Checked {
    only(
        state,
        &[&["type", "tabs", "state_changes", "cache_control"]],
        place,
        extra,
    )?;
    let tabs = list(
        state.get("tabs").unwrap_or(&Value::Null),
        &format!("{place}.tabs"),
    )?;
    ensure(tabs.len() <= 100, || {
        format!("{place}.tabs: at most 100 tabs")
    })?;
    for (index, tab) in tabs.iter().enumerate() {
        let place = format!("{place}.tabs.{index}");
        only(tab, &[&["tab_id", "title", "url", "active"]], &place, extra)?;
        for name in ["tab_id", "title", "url"] {
            let value = text(tab, name, &place)?;
            let plain = value.chars().count() <= 4096 && !value.chars().any(char::is_control);
            ensure(plain, || {
                format!("{place}.{name}: at most 4096 characters and no control characters")
            })?;
        }
    }
    let active = tabs
        .iter()
        .filter(|tab| tab.get("active") == Some(&Value::Bool(true)))
        .count();
    ensure(tabs.is_empty() || active == 1, || {
        format!("{place}.tabs: exactly one tab must be active; found {active}")
    })?;
    let changes = state.get("state_changes").and_then(Value::as_array);
    ensure(
        changes.is_none_or(|changes| !changes.is_empty() && changes.len() <= 200),
        || format!("{place}.state_changes: 1 to 200 entries"),
    )
}

/// After a failure the later calls of the same family carry the fixed sentence.
pub(super) fn check_batch(calls: &[&Value], results: &[&Value], place: &str) -> Checked {
    for (family, sentence) in [
        (
            "computer",
            "Not executed: an earlier computer action in this turn failed.",
        ),
        (
            "browser",
            "Not executed: an earlier action in this turn failed.",
        ),
    ] {
        let mut failed = false;
        for call in calls
            .iter()
            .filter(|call| word(call, "toolset_name") == family)
        {
            let Some(result) = results
                .iter()
                .find(|result| result.get("tool_use_id") == call.get("id"))
            else {
                continue;
            };
            let is_error = result.get("is_error") == Some(&Value::Bool(true));
            let halted = is_error && text_of(result) == sentence;
            ensure(!failed || halted, || {
                format!(
                    "{place}: {} follows a failed {family} action and must say exactly: {sentence}",
                    word(call, "id")
                )
            })?;
            failed |= is_error;
        }
    }
    Ok(())
}

/// All that a result says in words.
pub(super) fn text_of(result: &Value) -> String {
    let Some(blocks) = result.get("content").and_then(Value::as_array) else {
        return word(result, "content").to_owned();
    };
    let words = blocks.iter().map(|block| match word(block, "type") {
        "browser_state" => block.to_string(),
        _ => word(block, "text").to_owned(),
    });
    words
        .filter(|words| !words.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}
