//! Pictures of results in a message of the user, for services whose tools' messages have only
//! words; and what Mistral wants between a tool's message and a user's.

use serde_json::{Value, json};
use telechir_protocol::{Content, Media};

use super::Flavour;
use super::parts;
use crate::fields::{Fields, kind, list, text};

/// Marks a message before which the model is made to say something.
pub(super) const BRIDGED: &str = "bridged";

/// What the model is made to say: Mistral refuses a user's message right after a tool's.
const BRIDGE: &str = "I have the results.";

/// What stands after a run of results.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// How many messages only show pictures, the bridge included.
    pub(super) messages: usize,
    /// The pictures with the ids of the calls they belong to.
    pub(super) pictures: Vec<(String, Content)>,
    /// The next message stands behind a bridge.
    pub(super) bridged: bool,
}

/// Reads what [`write`] wrote; anything else is a message of its own.
pub(super) fn read(flavour: Flavour, rest: &[Fields], ids: &[String]) -> Shown {
    let bridged = flavour == Flavour::Mistral
        && rest
            .first()
            .is_some_and(|first| Value::Object(first.clone()) == bridge());
    let start = usize::from(bridged);
    if flavour == Flavour::Mistral && !bridged {
        return Shown::default();
    }
    let shown = rest
        .get(start)
        .and_then(|message| shown(flavour, message, ids));
    if let Some(pictures) = shown {
        return Shown {
            messages: start + 1,
            pictures,
            bridged: false,
        };
    }
    let user = rest
        .get(start)
        .is_some_and(|next| text(next, "role") == Some("user"));
    let bridged = bridged && user;
    Shown {
        messages: usize::from(bridged),
        pictures: Vec::new(),
        bridged,
    }
}

/// The pictures of a message that is nothing but captions and pictures, as we write them.
fn shown(flavour: Flavour, message: &Fields, ids: &[String]) -> Option<Vec<(String, Content)>> {
    if text(message, "role") != Some("user") {
        return None;
    }
    let mut pictures = Vec::new();
    for pair in list(message, "content").chunks(2) {
        let [caption, picture] = pair else {
            return None;
        };
        let said = text(caption.as_object()?, "text")?;
        let id = ids.iter().find(|id| caption_of(id) == said)?;
        if kind(picture.as_object()?) != "image_url" {
            return None;
        }
        pictures.push((id.clone(), parts::read_part(flavour, picture)));
    }
    // Each result takes its own in order, so they must be in the order of the results.
    let place = |id: &String| ids.iter().position(|of| of == id);
    let ordered = pictures.is_sorted_by_key(|(id, _)| place(id));
    let again = message_of(flavour, &pictures)?;
    (ordered && !pictures.is_empty() && again == Value::Object(message.clone())).then_some(pictures)
}

/// The messages that show these pictures.
pub(super) fn write(flavour: Flavour, pictures: &[(String, Media)]) -> Vec<Value> {
    let pictures: Vec<(String, Content)> = pictures
        .iter()
        .map(|(id, media)| (id.clone(), Content::from(media.clone())))
        .collect();
    let Some(message) = message_of(flavour, &pictures).filter(|_| !pictures.is_empty()) else {
        return Vec::new();
    };
    match flavour {
        Flavour::Mistral => vec![bridge(), message],
        Flavour::Functions | Flavour::Inline | Flavour::Conversations => vec![message],
    }
}

fn message_of(flavour: Flavour, pictures: &[(String, Content)]) -> Option<Value> {
    let mut content = Vec::new();
    for (id, picture) in pictures {
        content.push(json!({"type": "text", "text": caption_of(id)}));
        content.push(parts::write_part(flavour, picture)?);
    }
    Some(json!({"role": "user", "content": content}))
}

pub(crate) fn caption_of(id: &str) -> String {
    format!("The picture that call {id} returned:")
}

/// Words of the model between a tool's message and a user's.
pub(super) fn bridge() -> Value {
    json!({"role": "assistant", "content": BRIDGE})
}
