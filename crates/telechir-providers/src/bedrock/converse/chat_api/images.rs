//! Replaces old images of a conversation with a note.

use serde_json::{Value, json};

use crate::ImageLimit;
use crate::json::list_of;

const GONE: &str = "[An older screenshot was removed to save room.]";

/// Replaces images of results beyond the limit; true if the messages contain a note.
pub(super) fn prune(messages: &mut [Value], limit: ImageLimit) -> bool {
    let count: usize = messages.iter().map(count).sum();
    if count > limit.prune_above {
        let mut left = count.saturating_sub(limit.keep);
        for part in messages.iter_mut().flat_map(parts_mut) {
            if left > 0 && part.get("image").is_some() {
                *part = json!({"text": GONE});
                left -= 1;
            }
        }
    }
    let is_note = |part: &Value| part.get("text").is_some_and(|text| text == GONE);
    messages.iter().flat_map(parts).any(is_note)
}

/// Number of images in a message.
pub(super) fn count(message: &Value) -> usize {
    let own = list_of(message, "content").iter();
    own.chain(parts(message))
        .filter(|block| block.get("image").is_some())
        .count()
}

fn parts(message: &Value) -> impl Iterator<Item = &Value> {
    let results = list_of(message, "content")
        .iter()
        .filter_map(|block| block.get("toolResult"));
    results.flat_map(|result| list_of(result, "content"))
}

fn parts_mut(message: &mut Value) -> impl Iterator<Item = &mut Value> {
    let blocks = message.get_mut("content").and_then(Value::as_array_mut);
    let results = blocks
        .into_iter()
        .flatten()
        .filter_map(|block| block.get_mut("toolResult"));
    let parts = results.filter_map(|result| result.get_mut("content")?.as_array_mut());
    parts.flatten()
}
