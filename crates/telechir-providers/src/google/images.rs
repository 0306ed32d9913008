//! Removes old images from a conversation. Their results stay, because every call needs one.

use serde_json::{Value, json};

use crate::ImageLimit;
use crate::json::text_of;

const REMOVED_NOTE: &str = "[An older screenshot was removed to save room.]";

/// The number of images in an item: in the responses of a content, or in a step.
pub(super) fn count(item: &Value) -> usize {
    lists(item)
        .map(|list| list.iter().filter(|part| is_image(part)).count())
        .sum()
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

/// Removes the oldest images once there are too many.
pub(super) fn prune(items: &mut [Value], limit: ImageLimit) {
    let total: usize = items.iter().map(count).sum();
    if total <= limit.prune_above {
        return;
    }
    let mut left = total.saturating_sub(limit.keep);
    for item in items {
        if left == 0 {
            return;
        }
        let has = count(item);
        if has > 0 {
            left = left.saturating_sub(has);
            strip(item);
        }
    }
}

/// Removes an item's images. A response may be without images; an image elsewhere becomes a text.
fn strip(item: &mut Value) {
    if let Some(Value::Array(parts)) = item.get_mut("parts") {
        for part in parts {
            if part.get("inlineData").is_some() {
                *part = json!({"text": REMOVED_NOTE});
            } else if let Some(response) = part
                .get_mut("functionResponse")
                .and_then(Value::as_object_mut)
            {
                response.shift_remove("parts");
            }
        }
    }
    for name in ["content", "result"] {
        if let Some(Value::Array(parts)) = item.get_mut(name) {
            for part in parts.iter_mut().filter(|part| is_image(part)) {
                *part = json!({"type": "text", "text": REMOVED_NOTE});
            }
        }
    }
}
