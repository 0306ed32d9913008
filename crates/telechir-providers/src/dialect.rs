//! The closed set of dialects and what each can do. A new dialect is a compile error here until
//! every table knows it.

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};
use telechir_protocol::{AnsweredTurn, Message, ModelTurn, Size};

use crate::{Declaration, DecodeError, EncodeError, Offer, Report, anthropic, openai};

/// A provider's way of writing calls and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Anthropic's Messages: `anthropic-messages`.
    AnthropicMessages,
    /// OpenAI's Responses: `openai-responses`.
    OpenaiResponses,
}

/// A name that is no dialect's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("know the dialect `{name}`; there are {}", Dialect::names())]
pub struct UnknownDialect {
    /// The name.
    pub name: String,
}

/// Answers in a dialect's words, ready to send.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EncodedReply {
    /// Anthropic: the blocks of the next user message. OpenAI: the next input items.
    pub items: Vec<Value>,
    /// What could not be said.
    pub report: Report,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::AnthropicMessages, Self::OpenaiResponses];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic-messages",
            Self::OpenaiResponses => "openai-responses",
        }
    }

    fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// Reads one response: the calls to carry out and all else that was said.
    ///
    /// # Errors
    /// When it is not JSON, not of this dialect, or an error of the provider.
    pub fn decode_response(self, bytes: &[u8]) -> Result<(ModelTurn, Report), DecodeError> {
        match self {
            Self::AnthropicMessages => anthropic::decode_response(bytes),
            Self::OpenaiResponses => openai::decode_response(bytes),
        }
    }

    /// Reads a history: a whole request, its list of messages or items, or one response.
    ///
    /// # Errors
    /// When it is not JSON or not of this dialect.
    pub fn decode_history(self, bytes: &[u8]) -> Result<(History, Report), DecodeError> {
        match self {
            Self::AnthropicMessages => anthropic::decode_history(bytes),
            Self::OpenaiResponses => openai::decode_history(bytes),
        }
    }

    /// Writes the answers to a turn.
    ///
    /// # Errors
    /// When the dialect demands something that the answers do not have.
    pub fn encode_answers(self, turn: &AnsweredTurn) -> Result<EncodedReply, EncodeError> {
        match self {
            Self::AnthropicMessages => anthropic::encode_answers(turn),
            Self::OpenaiResponses => openai::encode_answers(turn),
        }
    }

    /// Writes a history in the form it came in, or as the dialect's list of messages or items
    /// when it came from another dialect.
    ///
    /// # Errors
    /// When the dialect demands something that the history does not have.
    pub fn encode_history(self, history: &History) -> Result<(Value, Report), EncodeError> {
        match self {
            Self::AnthropicMessages => anthropic::encode_history(history),
            Self::OpenaiResponses => openai::encode_history(history),
        }
    }

    /// The size at which a picture of a screen of `size` reaches this model as it was sent,
    /// neither shrunk nor refused. Absent model means the newest.
    pub fn picture_size(self, model: Option<&str>, size: Size) -> Size {
        match self {
            Self::AnthropicMessages => anthropic::picture_size(model, size),
            Self::OpenaiResponses => openai::picture_size(size),
        }
    }

    /// Declares tools to a model.
    ///
    /// # Errors
    /// When the model takes no such tool, or a size it demands is missing.
    pub fn declare(self, offer: &Offer) -> Result<(Declaration, Report), EncodeError> {
        match self {
            Self::AnthropicMessages => anthropic::declare(offer),
            Self::OpenaiResponses => openai::declare(offer),
        }
    }
}

/// Messages with the envelope they came in.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// In order.
    pub messages: Vec<Message>,
    /// What was around them.
    pub envelope: Envelope,
}

/// What a list of messages came in; the same dialect writes it back.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Envelope {
    /// Nothing: a list.
    #[default]
    List,
    /// An object of this dialect whose `member` is the list; the rest as it came.
    Object {
        /// The dialect.
        dialect: &'static str,
        /// `messages`, `input`, `output` or `content`.
        member: &'static str,
        /// All members in order, the list's place held by null.
        rest: Map<String, Value>,
    },
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|dialect| dialect.name() == name);
        found.ok_or_else(|| UnknownDialect {
            name: name.to_owned(),
        })
    }
}
