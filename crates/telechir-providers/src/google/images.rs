//! The images in the contents and steps of a conversation.

use serde_json::{Value, json};

use crate::history::prune::{self, ImageItems, REMOVED_NOTE};
use crate::json::text_of;

/// Images in the responses of a content, or in a step.
pub(super) struct ItemImages;

impl ImageItems for ItemImages {
    fn count(item: &Value) -> usize {
        lists(item)
            .map(|list| list.iter().filter(|part| is_image(part)).count())
            .sum()
    }

    /// A response may be without images; an image elsewhere becomes a text.
    fn remove(&mut self, item: &mut Value, _max: usize) -> usize {
        let count = Self::count(item);
        if count > 0 {
            strip(item);
        }
        count
    }
}

fn is_image(part: &Value) -> bool {
    part.get("inlineData").is_some() || text_of(part, "type") == "image"
}

/// The lists of an item that may contain images.
fn lists(item: &Value) -> impl Iterator<Item = &Vec<Value>> {
    let own = ["parts", "content", "result"];
    let own = own
        .into_iter()
        .filter_map(|name| item.get(name)?.as_array());
    let answers = item.get("parts").and_then(Value::as_array);
    let nested = answers
        .into_iter()
        .flatten()
        .filter_map(|part| part.get("functionResponse")?.get("parts")?.as_array());
    own.chain(nested)
}

fn strip(item: &mut Value) {
    if let Some(Value::Array(parts)) = item.get_mut("parts") {
        for part in &mut *parts {
            let response = part.get_mut("functionResponse");
            if let Some(response) = response.and_then(Value::as_object_mut) {
                response.shift_remove("parts");
            }
        }
        let is_inline = |part: &Value| part.get("inlineData").is_some();
        prune::replace(parts, is_inline, &json!({"text": REMOVED_NOTE}), usize::MAX);
    }
    let note = json!({"type": "text", "text": REMOVED_NOTE});
    for name in ["content", "result"] {
        if let Some(Value::Array(parts)) = item.get_mut(name) {
            prune::replace(parts, is_image, &note, usize::MAX);
        }
    }
}
