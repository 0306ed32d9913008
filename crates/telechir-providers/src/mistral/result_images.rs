//! Shows result images in a user entry, because results hold only text.

use serde_json::{Value, json};
use telechir_protocol::{Content, Media};

use super::FLAVOUR;
use crate::chat::parts;
use crate::chat::result_images::{caption_of, captioned};
use crate::json::{Fields, list};

/// The images, with their call ids, of an entry that contains only captions and images in the
/// format of [`write`].
pub(super) fn read(entry: &Fields, ids: &[&str]) -> Option<Vec<(String, Content)>> {
    let images = captioned(FLAVOUR, list(entry, "content"), ids)?;
    let again = entry_of(&images)?;
    (again == Value::Object(entry.clone())).then_some(images)
}

/// The entry that shows these images; `None` if there are none.
pub(super) fn write(images: Vec<(String, Media)>) -> Option<Value> {
    let images: Vec<(String, Content)> = images
        .into_iter()
        .map(|(id, media)| (id, Content::from(media)))
        .collect();
    entry_of(&images).filter(|_| !images.is_empty())
}

fn entry_of(images: &[(String, Content)]) -> Option<Value> {
    let mut content = Vec::new();
    for (id, image) in images {
        content.push(json!({"type": "text", "text": caption_of(id)}));
        content.push(parts::write_part(FLAVOUR, image)?);
    }
    Some(json!({"type": "message.input", "role": "user", "content": content}))
}
