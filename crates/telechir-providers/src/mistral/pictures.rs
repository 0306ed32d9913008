//! Pictures of results, which have only words: in an entry of the user after them.

use serde_json::{Value, json};
use telechir_protocol::{Content, Media};

use super::FLAVOUR;
use crate::chat::parts;
use crate::chat::pictures::{caption_of, captioned};
use crate::fields::{Fields, list};

/// The pictures of an entry that is nothing but captions and pictures, as we write them, with the
/// ids of their calls.
pub(super) fn read(entry: &Fields, ids: &[&str]) -> Option<Vec<(String, Content)>> {
    let pictures = captioned(FLAVOUR, list(entry, "content"), ids)?;
    let again = entry_of(&pictures)?;
    (again == Value::Object(entry.clone())).then_some(pictures)
}

/// The entry that shows these pictures; none when there are none.
pub(super) fn write(pictures: Vec<(String, Media)>) -> Option<Value> {
    let pictures: Vec<(String, Content)> = pictures
        .into_iter()
        .map(|(id, media)| (id, Content::from(media)))
        .collect();
    entry_of(&pictures).filter(|_| !pictures.is_empty())
}

fn entry_of(pictures: &[(String, Content)]) -> Option<Value> {
    let mut content = Vec::new();
    for (id, picture) in pictures {
        content.push(json!({"type": "text", "text": caption_of(id)}));
        content.push(parts::write_part(FLAVOUR, picture)?);
    }
    Some(json!({"type": "message.input", "role": "user", "content": content}))
}
