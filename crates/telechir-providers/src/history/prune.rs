//! Removes old images from the items of a long conversation. Their results stay, because every call
//! needs one.
//!
//! An API's [`ImageItems`] knows where its items hold images; what is removed, and when, is the same
//! for all.

use serde_json::Value;

use crate::ImageLimit;

/// The text in place of a removed image.
pub(crate) const REMOVED_NOTE: &str = "[An older screenshot was removed to save room.]";

/// Where the items of an API hold images.
pub(crate) trait ImageItems {
    /// Number of images in an item.
    fn count(item: &Value) -> usize;

    /// Removes an item's oldest images and returns their number: at most `max`, or all images if the
    /// API cannot remove them one by one.
    fn remove(&mut self, item: &mut Value, max: usize) -> usize;
}

/// Number of images in all items.
pub(crate) fn count<I: ImageItems>(items: &[Value]) -> usize {
    items.iter().map(I::count).sum()
}

/// Removes the oldest images once there are more than the limit.
pub(crate) fn prune<I: ImageItems>(images: &mut I, items: &mut [Value], limit: ImageLimit) {
    let total = count::<I>(items);
    if total <= limit.prune_above {
        return;
    }
    let mut left = total.saturating_sub(limit.keep);
    for item in items {
        if left == 0 {
            return;
        }
        left = left.saturating_sub(images.remove(item, left));
    }
}

/// Replaces the first images in a list of parts by `note`; returns their number.
pub(crate) fn replace(
    parts: &mut [Value],
    is_image: impl Fn(&Value) -> bool,
    note: &Value,
    max: usize,
) -> usize {
    let images = parts.iter_mut().filter(|part| is_image(part));
    images.take(max).map(|part| *part = note.clone()).count()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Lists;

    impl ImageItems for Lists {
        fn count(item: &Value) -> usize {
            let parts = item.as_array().map_or(&[][..], Vec::as_slice);
            parts.iter().filter(|part| **part == "image").count()
        }

        fn remove(&mut self, item: &mut Value, max: usize) -> usize {
            let parts = item.as_array_mut().map_or(&mut [][..], Vec::as_mut_slice);
            replace(parts, |part| *part == "image", &json!("note"), max)
        }
    }

    fn pruned(keep: usize, prune_above: usize) -> Value {
        let mut items = vec![
            json!(["image", "text", "image"]),
            json!("no list"),
            json!(["image"]),
            json!(["image", "image"]),
        ];
        let limit = ImageLimit { keep, prune_above };
        prune(&mut Lists, &mut items, limit);
        items.into()
    }

    #[test]
    fn the_oldest_images_go_until_the_limit_remains() {
        assert_eq!(
            pruned(2, 4),
            json!([
                ["note", "text", "note"],
                "no list",
                ["note"],
                ["image", "image"]
            ])
        );
        assert_eq!(
            pruned(4, 4),
            json!([
                ["note", "text", "image"],
                "no list",
                ["image"],
                ["image", "image"]
            ])
        );
    }

    #[test]
    fn nothing_goes_up_to_the_limit() {
        let all = json!([
            ["image", "text", "image"],
            "no list",
            ["image"],
            ["image", "image"]
        ]);
        assert_eq!(pruned(0, 5), all);
        assert_eq!(pruned(9, 0), all);
    }
}
