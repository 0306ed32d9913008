//! Replaces old images of a conversation with a note.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::ImageLimit;
use crate::json::{list_of, text_of};

const REMOVED_NOTE: &str = "[An older screenshot was removed to save room.]";
/// A grey 28 by 28 PNG, one visual token: a result of `screenshot` or `zoom` must contain an
/// image even after its screenshot was removed.
const BLANK: &str = "iVBORw0KGgoAAAANSUhEUgAAABwAAAAcCAAAAABXZoBIAAAAFElEQVR42mNowAMYRiVHJUclYQAA14+IELSdtnwAAAAASUVORK5CYII=";

/// Replaces images beyond the limit; true if the messages contain a note from now or earlier.
pub(super) fn prune(messages: &mut [Value], limit: ImageLimit) -> bool {
    let count: usize = messages.iter().map(count).sum();
    if count > limit.prune_above {
        let required = required(messages);
        let mut left = count.saturating_sub(limit.keep);
        for result in messages.iter_mut().flat_map(results) {
            let keeps_one = required.contains(text_of(result, "tool_use_id"));
            remove(result, keeps_one, &mut left);
        }
    }
    messages
        .iter()
        .flat_map(|container| list_of(container, "content"))
        .any(|result| list_of(result, "content").iter().any(is_note))
}

/// Number of images in a message, without blank placeholders.
pub(super) fn count(message: &Value) -> usize {
    let inner = |block: &Value| match text_of(block, "type") {
        "tool_result" => list_of(block, "content")
            .iter()
            .filter(|block| is_image(block))
            .count(),
        _ => usize::from(is_image(block)),
    };
    list_of(message, "content").iter().map(inner).sum()
}

/// Ids of the calls whose results must contain an image.
fn required(messages: &[Value]) -> HashSet<String> {
    let calls = messages
        .iter()
        .flat_map(|container| list_of(container, "content"))
        .filter(|block| text_of(block, "type") == "tool_use");
    let shows = calls.filter(|call| {
        let action = call
            .get("input")
            .map_or("", |input| text_of(input, "action"));
        [text_of(call, "name"), action]
            .iter()
            .any(|name| matches!(*name, "screenshot" | "zoom"))
    });
    shows.map(|call| text_of(call, "id").to_owned()).collect()
}

fn results(message: &mut Value) -> impl Iterator<Item = &mut Value> {
    let blocks = message.get_mut("content").and_then(Value::as_array_mut);
    blocks
        .into_iter()
        .flatten()
        .filter(|block| text_of(block, "type") == "tool_result")
}

fn remove(result: &mut Value, keeps_one: bool, left: &mut usize) {
    let Some(blocks) = result.get_mut("content").and_then(Value::as_array_mut) else {
        return;
    };
    for block in std::mem::take(blocks) {
        if *left == 0 || !is_image(&block) {
            blocks.push(block);
            continue;
        }
        *left -= 1;
        blocks.push(json!({"type": "text", "text": REMOVED_NOTE}));
        if keeps_one {
            let source = json!({"type": "base64", "media_type": "image/png", "data": BLANK});
            blocks.push(json!({"type": "image", "source": source}));
        }
    }
}

fn is_image(block: &Value) -> bool {
    let is_blank = block
        .get("source")
        .is_some_and(|source| text_of(source, "data") == BLANK);
    text_of(block, "type") == "image" && !is_blank
}

fn is_note(block: &Value) -> bool {
    text_of(block, "text") == REMOVED_NOTE
}
