//! One `tool_result`: its fields, blocks and images, and the rule for batches.

use serde_json::Value;

use super::{Validated, ensure, extra, image, list, one_of, only, text, text_or_empty};
use crate::provider::Rejection;
use crate::provider::image::ImageSize;

const MAX_BASE64_BYTES: usize = 10_000_000;
const MAX_EDGE_PIXELS: u32 = 8000;
/// The larger of the two size tiers: toolset images must fit it, because they are not downsized.
const TOOLSET_EDGE: u32 = 2576;
const TOOLSET_TILES: u64 = 4784;
const TAB_CALLS: [&str; 4] = ["list_tabs", "new_tab", "switch_tab", "close_tab"];

/// Validates a result against its call and returns the sizes of its images.
pub(super) fn check(result: &Value, call: &Value, location: &str) -> Validated<Vec<ImageSize>> {
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
        location,
        extra,
    )?;
    let family = call.get("toolset_name").and_then(Value::as_str);
    let echoed = result.get("toolset_name").and_then(Value::as_str);
    ensure(family == echoed, || {
        format!("{location}.toolset_name: must equal the call's ({family:?}); found {echoed:?}")
    })?;
    let is_error = result
        .get("is_error")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let blocks = match result.get("content") {
        None => &[],
        Some(Value::String(text_of)) => {
            ensure(!is_error || !text_of.is_empty(), || {
                format!("{location}: content cannot be empty if `is_error` is true")
            })?;
            &[]
        }
        Some(content) => list(content, &format!("{location}.content"))?,
    };
    let silent = blocks.is_empty() && !result.get("content").is_some_and(Value::is_string);
    ensure(!(is_error && silent), || {
        format!("{location}: content cannot be empty if `is_error` is true")
    })?;
    let images = check_blocks(blocks, family, location)?;
    check_demanded(call, blocks, is_error, family, location)?;
    Ok(images)
}

fn check_blocks(
    blocks: &[Value],
    family: Option<&str>,
    location: &str,
) -> Validated<Vec<ImageSize>> {
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
        let location = format!("{location}.content.{index}");
        one_of(
            text_or_empty(block, "type"),
            allowed,
            &format!("{location}.type"),
        )?;
        match text_or_empty(block, "type") {
            "text" => ensure(!text_or_empty(block, "text").is_empty(), || {
                format!("{location}: text content blocks must be non-empty")
            })?,
            "image" => images.push(check_image(block, family.is_some(), &location)?),
            "browser_state" => check_state(block, &location)?,
            _ => {}
        }
    }
    let states = blocks
        .iter()
        .filter(|block| text_or_empty(block, "type") == "browser_state")
        .count();
    ensure(states <= 1, || {
        format!("{location}: at most one browser_state block is allowed")
    })?;
    Ok(images)
}

/// Requirements of certain calls on their results.
fn check_demanded(
    call: &Value,
    blocks: &[Value],
    is_error: bool,
    family: Option<&str>,
    location: &str,
) -> Validated {
    let has = |kind: &str| {
        blocks
            .iter()
            .any(|block| text_or_empty(block, "type") == kind)
    };
    if is_error {
        return ensure(!has("browser_state"), || {
            format!("{location}: browser_state is not allowed on an error result")
        });
    }
    let name = text_or_empty(call, "name");
    let legacy = call
        .get("input")
        .map_or("", |input| text_or_empty(input, "action"));
    let wants_image = (family.is_some() && matches!(name, "screenshot" | "zoom"))
        || (name == "computer" && matches!(legacy, "screenshot" | "zoom"));
    ensure(!wants_image || has("image"), || {
        format!("{location}: the result of {name} must hold an image")
    })?;
    if family == Some("browser") && TAB_CALLS.contains(&name) {
        let alone = blocks.len() == 1 && has("browser_state");
        ensure(alone, || {
            format!("{location}: the result of {name} must be exactly one browser_state block")
        })?;
    }
    Ok(())
}

fn check_image(block: &Value, toolset: bool, location: &str) -> Validated<ImageSize> {
    only(
        block,
        &[&["type", "source", "cache_control", "transformations"]],
        location,
        extra,
    )?;
    let source = block.get("source").unwrap_or(&Value::Null);
    let location = format!("{location}.source");
    one_of(
        text_or_empty(source, "type"),
        &["base64"],
        &format!("{location}.type"),
    )?;
    only(source, &[&["type", "media_type", "data"]], &location, extra)?;
    one_of(
        text_or_empty(source, "media_type"),
        &["image/png", "image/jpeg", "image/gif", "image/webp"],
        &format!("{location}.media_type"),
    )?;
    let data = text(source, "data", &location)?;
    ensure(data.len() <= MAX_BASE64_BYTES, || {
        format!(
            "{location}.data: image exceeds 10 MB maximum: {} bytes",
            data.len()
        )
    })?;
    let size = image::measure(text_or_empty(source, "media_type"), data)
        .map_err(|problem| Rejection::invalid(format!("{location}.data: {problem}")))?;
    ensure(size.long_edge() <= MAX_EDGE_PIXELS, || {
        format!("{location}: image dimensions exceed max allowed size: {MAX_EDGE_PIXELS} pixels")
    })?;
    let fits = size.long_edge() <= TOOLSET_EDGE && size.tiles(28) <= TOOLSET_TILES;
    ensure(!toolset || fits, || {
        format!(
            "{location}: a toolset image of {}x{} is too large; it is not downsized",
            size.width, size.height
        )
    })?;
    Ok(size)
}

fn check_state(state: &Value, location: &str) -> Validated {
    only(
        state,
        &[&["type", "tabs", "state_changes", "cache_control"]],
        location,
        extra,
    )?;
    let tabs = list(
        state.get("tabs").unwrap_or(&Value::Null),
        &format!("{location}.tabs"),
    )?;
    ensure(tabs.len() <= 100, || {
        format!("{location}.tabs: at most 100 tabs")
    })?;
    for (index, tab) in tabs.iter().enumerate() {
        let location = format!("{location}.tabs.{index}");
        only(
            tab,
            &[&["tab_id", "title", "url", "active"]],
            &location,
            extra,
        )?;
        for name in ["tab_id", "title", "url"] {
            let value = text(tab, name, &location)?;
            let plain = value.chars().count() <= 4096 && !value.chars().any(char::is_control);
            ensure(plain, || {
                format!("{location}.{name}: at most 4096 characters and no control characters")
            })?;
        }
    }
    let active = tabs
        .iter()
        .filter(|tab| tab.get("active") == Some(&Value::Bool(true)))
        .count();
    ensure(tabs.is_empty() || active == 1, || {
        format!("{location}.tabs: exactly one tab must be active; found {active}")
    })?;
    let changes = state.get("state_changes").and_then(Value::as_array);
    ensure(
        changes.is_none_or(|changes| !changes.is_empty() && changes.len() <= 200),
        || format!("{location}.state_changes: 1 to 200 entries"),
    )
}

/// After a failure, results of the same group must contain the fixed sentence.
pub(super) fn check_batch(calls: &[&Value], results: &[&Value], location: &str) -> Validated {
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
            .filter(|call| text_or_empty(call, "toolset_name") == family)
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
                    "{location}: {} follows a failed {family} action and must say exactly: {sentence}",
                    text_or_empty(call, "id")
                )
            })?;
            failed |= is_error;
        }
    }
    Ok(())
}

/// All text of a result.
pub(super) fn text_of(result: &Value) -> String {
    let Some(blocks) = result.get("content").and_then(Value::as_array) else {
        return text_or_empty(result, "content").to_owned();
    };
    let text_of = blocks
        .iter()
        .map(|block| match text_or_empty(block, "type") {
            "browser_state" => block.to_string(),
            _ => text_or_empty(block, "text").to_owned(),
        });
    text_of
        .filter(|text_of| !text_of.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}
