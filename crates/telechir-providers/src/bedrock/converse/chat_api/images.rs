//! The images in the results of a conversation.

use serde_json::{Value, json};

use crate::history::prune::{self, ImageItems, REMOVED_NOTE};
use crate::json::{list_of, text_of};

/// Images in messages; only those of results are removed.
pub(super) struct ResultImages;

impl ImageItems for ResultImages {
    fn count(message: &Value) -> usize {
        let own = list_of(message, "content").iter();
        own.chain(parts(message))
            .filter(|part| is_image(part))
            .count()
    }

    fn remove(&mut self, message: &mut Value, max: usize) -> usize {
        let note = json!({"text": REMOVED_NOTE});
        let mut removed = 0;
        for parts in results_mut(message) {
            removed += prune::replace(parts, is_image, &note, max - removed);
        }
        removed
    }
}

/// Whether the messages contain a note in place of an image.
pub(super) fn have_note(messages: &[Value]) -> bool {
    let mut parts = messages.iter().flat_map(parts);
    parts.any(|part| text_of(part, "text") == REMOVED_NOTE)
}

fn is_image(part: &Value) -> bool {
    part.get("image").is_some()
}

fn parts(message: &Value) -> impl Iterator<Item = &Value> {
    let blocks = list_of(message, "content").iter();
    let results = blocks.filter_map(|block| block.get("toolResult"));
    results.flat_map(|result| list_of(result, "content"))
}

fn results_mut(message: &mut Value) -> impl Iterator<Item = &mut Vec<Value>> {
    let blocks = message.get_mut("content").and_then(Value::as_array_mut);
    let results = blocks
        .into_iter()
        .flatten()
        .filter_map(|block| block.get_mut("toolResult"));
    results.filter_map(|result| result.get_mut("content")?.as_array_mut())
}
