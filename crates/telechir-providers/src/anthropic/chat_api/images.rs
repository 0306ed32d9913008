//! The images in the results of a conversation.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::history::prune::{ImageItems, REMOVED_NOTE};
use crate::json::{list_of, text_of};

/// A grey 28 by 28 PNG, one visual token: a result of `screenshot` or `zoom` must contain an
/// image even after its screenshot was removed.
const BLANK: &str = "iVBORw0KGgoAAAANSUhEUgAAABwAAAAcCAAAAABXZoBIAAAAFElEQVR42mNowAMYRiVHJUclYQAA14+IELSdtnwAAAAASUVORK5CYII=";

/// Images in messages; only those of results are removed.
pub(super) struct ResultImages {
    /// Ids of the calls whose results must contain an image.
    required: HashSet<String>,
}

impl ResultImages {
    pub(super) fn of(messages: &[Value]) -> Self {
        let required = required(messages);
        Self { required }
    }
}

impl ImageItems for ResultImages {
    /// Blank images in place of required ones do not count.
    fn count(message: &Value) -> usize {
        let inner = |block: &Value| match text_of(block, "type") {
            "tool_result" => {
                let blocks = list_of(block, "content").iter();
                blocks.filter(|block| is_image(block)).count()
            }
            _ => usize::from(is_image(block)),
        };
        list_of(message, "content").iter().map(inner).sum()
    }

    fn remove(&mut self, message: &mut Value, max: usize) -> usize {
        let mut left = max;
        for result in results(message) {
            let keeps_one = self.required.contains(text_of(result, "tool_use_id"));
            remove(result, keeps_one, &mut left);
        }
        max - left
    }
}

/// Whether the messages contain a note in place of an image.
pub(super) fn have_note(messages: &[Value]) -> bool {
    let blocks = |container| list_of(container, "content").iter();
    let mut parts = messages.iter().flat_map(blocks).flat_map(blocks);
    parts.any(|part| text_of(part, "text") == REMOVED_NOTE)
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
