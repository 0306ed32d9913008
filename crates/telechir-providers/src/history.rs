//! Neutral messages with the document around them, and what all dialects do with them.

pub(crate) mod prune;
pub(crate) mod split_ids;
pub(crate) mod trim;
pub(crate) mod turns;

use serde_json::{Map, Value};
use telechir_protocol::{Content, InvalidTurn, Message, ModelTurn};

use crate::Report;

/// Messages with the envelope they were decoded from.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// The document around the messages.
    pub envelope: Envelope,
}

impl History {
    /// The contents of all messages as a turn. Fails if one of these types of calls could not be
    /// decoded, because nothing would answer it.
    pub(crate) fn into_turn(self, calls: &[&str]) -> Result<ModelTurn, InvalidTurn> {
        let messages = self.messages.into_iter();
        let contents: Vec<Content> = messages.flat_map(|message| message.contents).collect();
        let undecoded = |content: &Content| {
            let Content::Other(other) = content else {
                return None;
            };
            let kind = other.kind.as_deref().filter(|kind| calls.contains(kind))?;
            Some(kind.to_owned())
        };
        match contents.iter().find_map(undecoded) {
            Some(name) => Err(InvalidTurn::MissingCallId { name }),
            None => ModelTurn::new(contents),
        }
    }
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
        /// All fields in their order, with null or an empty list in place of the list.
        rest: Map<String, Value>,
    },
}

impl Envelope {
    /// The envelope of a document whose list was in `member`; a plain list without a member.
    pub(crate) fn of(
        dialect: &'static str,
        member: Option<&'static str>,
        rest: Map<String, Value>,
    ) -> Self {
        match member {
            None => Self::List,
            Some(member) => Self::Object {
                dialect,
                member,
                rest,
            },
        }
    }

    /// The list's member and the fields, if the envelope is of this dialect.
    pub(crate) fn own(&self, dialect: &str) -> Option<(&'static str, &Map<String, Value>)> {
        match self {
            Self::Object {
                dialect: own,
                member,
                rest,
            } if *own == dialect => Some((*member, rest)),
            Self::Object { .. } | Self::List => None,
        }
    }

    /// Reports the members around the list, without nulls, if the envelope is of another dialect, and
    /// those beside the messages in the entries of the list, such as `/candidates/0/finishReason`.
    /// The role and type of a response that is a message are those of the message.
    pub(crate) fn report_foreign(&self, dialect: &str, report: &mut Report) {
        let Self::Object {
            dialect: other,
            member,
            rest,
        } = self
        else {
            return;
        };
        if *other == dialect {
            return;
        }
        let is_message = *member != "messages";
        let is_of_message = |name: &str| is_message && matches!(name, "role" | "type");
        let is_around = |name: &str| name != *member && !is_of_message(name);
        let around = rest
            .iter()
            .filter(|(name, value)| is_around(name) && !value.is_null());
        let around = around.map(|(name, _)| format!("/{name}"));
        let list = rest.get(*member).into_iter();
        let beside = list.flat_map(|list| fields_beside(&format!("/{member}"), list));
        for pointer in around.chain(beside) {
            let name = pointer.rsplit('/').next().unwrap_or_default();
            let why = "a list of messages has no members of a request or response";
            report.lost(format!("member `{name}`"), pointer.clone(), why);
        }
    }
}

/// Pointers of the fields that are not null, in an object or in the objects of a list.
fn fields_beside(pointer: &str, value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) => {
            let present = fields.iter().filter(|(_, value)| !value.is_null());
            present
                .map(|(name, _)| format!("{pointer}/{name}"))
                .collect()
        }
        Value::Array(entries) => {
            let entries = entries.iter().enumerate();
            entries
                .flat_map(|(at, entry)| fields_beside(&format!("{pointer}/{at}"), entry))
                .collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}
