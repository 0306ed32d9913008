//! Shows result images in a user message, for services whose tool messages hold only text, and
//! inserts the message that Mistral requires between a tool message and a user message.

use std::collections::HashMap;
use std::iter::Peekable;

use serde_json::{Value, json};
use telechir_protocol::{Content, Media};

use super::Flavour;
use super::parts;
use crate::json::{Fields, kind, list, text};

/// Marks a message that follows an inserted assistant message.
pub(super) const BRIDGED: &str = "bridged";

/// The inserted assistant message: Mistral rejects a user message directly after a tool message.
const BRIDGE: &str = "I have the results.";

/// What follows a run of results.
#[derive(Debug, Default)]
pub(super) struct FollowingImages {
    /// Number of messages that only show images, including the inserted message.
    pub(super) messages: usize,
    /// The images with their call ids.
    pub(super) images: Vec<(String, Content)>,
    /// The next message follows an inserted message.
    pub(super) bridged: bool,
}

/// Recognizes messages written by [`write`]; any other message is left alone.
pub(super) fn read(flavour: Flavour, rest: &[Fields], ids: &[String]) -> FollowingImages {
    let bridged = flavour == Flavour::Mistral
        && rest
            .first()
            .is_some_and(|first| Value::Object(first.clone()) == bridge());
    let start = usize::from(bridged);
    if flavour == Flavour::Mistral && !bridged {
        return FollowingImages::default();
    }
    let images = rest
        .get(start)
        .and_then(|message| captioned_message(flavour, message, ids));
    if let Some(images) = images {
        return FollowingImages {
            messages: start + 1,
            images,
            bridged: false,
        };
    }
    let user = rest
        .get(start)
        .is_some_and(|next| text(next, "role") == Some("user"));
    let bridged = bridged && user;
    FollowingImages {
        messages: usize::from(bridged),
        images: Vec::new(),
        bridged,
    }
}

/// The images of a message that contains only captions and images in the format of [`write`].
fn captioned_message(
    flavour: Flavour,
    message: &Fields,
    ids: &[String],
) -> Option<Vec<(String, Content)>> {
    if text(message, "role") != Some("user") {
        return None;
    }
    let images = captioned(flavour, list(message, "content"), ids)?;
    let rewritten = message_with(flavour, &images)?;
    (rewritten == Value::Object(message.clone())).then_some(images)
}

/// The images whose captions name these ids, in the order of the ids.
pub(crate) fn captioned(
    flavour: Flavour,
    content: &[Value],
    ids: &[impl AsRef<str>],
) -> Option<Vec<(String, Content)>> {
    // If two results share an id, their images cannot be told apart.
    let mut captions: HashMap<String, Option<usize>> = HashMap::new();
    for (index, id) in ids.iter().enumerate() {
        let known = captions.entry(caption_of(id.as_ref()));
        known
            .and_modify(|known| *known = None)
            .or_insert(Some(index));
    }
    let mut images = Vec::new();
    let mut previous = 0;
    for pair in content.chunks(2) {
        let [caption, image] = pair else {
            return None;
        };
        let index = captions
            .get(text(caption.as_object()?, "text")?)
            .copied()??;
        if index < previous || kind(image.as_object()?) != "image_url" {
            return None;
        }
        previous = index;
        let id = ids[index].as_ref().to_owned();
        // One that cannot be read is a part like any other.
        let image = parts::read_part(flavour, image);
        if matches!(image, Content::Other(_)) {
            return None;
        }
        images.push((id, image));
    }
    (!images.is_empty()).then_some(images)
}

/// Takes the next images that belong to this id.
pub(crate) fn take_images(
    images: &mut Peekable<impl Iterator<Item = (String, Content)>>,
    id: &str,
) -> Vec<Content> {
    let next = || images.next_if(|(of, _)| of == id);
    std::iter::from_fn(next).map(|(_, image)| image).collect()
}

/// The messages that show these images.
pub(super) fn write(flavour: Flavour, images: &[(String, Media)]) -> Vec<Value> {
    let images: Vec<(String, Content)> = images
        .iter()
        .map(|(id, media)| (id.clone(), Content::from(media.clone())))
        .collect();
    let Some(message) = message_with(flavour, &images).filter(|_| !images.is_empty()) else {
        return Vec::new();
    };
    match flavour {
        Flavour::Mistral => vec![bridge(), message],
        Flavour::Functions | Flavour::Inline | Flavour::Conversations => vec![message],
    }
}

fn message_with(flavour: Flavour, images: &[(String, Content)]) -> Option<Value> {
    let mut content = Vec::new();
    for (id, image) in images {
        content.push(json!({"type": "text", "text": caption_of(id)}));
        content.push(parts::write_part(flavour, image)?);
    }
    Some(json!({"role": "user", "content": content}))
}

const CAPTION: [&str; 2] = ["The image that call ", " returned:"];

pub(crate) fn caption_of(id: &str) -> String {
    let [start, end] = CAPTION;
    format!("{start}{id}{end}")
}

/// The call whose image follows the text.
pub(crate) fn captioned_id(text: &str) -> Option<&str> {
    let [start, end] = CAPTION;
    text.strip_prefix(start)?.strip_suffix(end)
}

/// The assistant message inserted between a tool message and a user message.
pub(super) fn bridge() -> Value {
    json!({"role": "assistant", "content": BRIDGE})
}
