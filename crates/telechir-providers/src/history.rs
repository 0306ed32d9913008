//! Neutral messages with the document around them, and what all dialects do with them.

pub(crate) mod prune;
pub(crate) mod split_ids;
pub(crate) mod turns;

use serde_json::{Map, Value};
use telechir_protocol::Message;

/// Messages with the envelope they were decoded from.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// The document around the messages.
    pub envelope: Envelope,
}

/// The document around a list of messages. The same dialect writes it back.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Envelope {
    /// None: the document is a list.
    #[default]
    List,
    /// An object of this dialect whose field `member` is the list.
    Object {
        /// The dialect it was decoded from.
        dialect: &'static str,
        /// `messages`, `input`, `output` or `content`.
        member: &'static str,
        /// All fields in their order, with null in place of the list.
        rest: Map<String, Value>,
    },
}
