//! The closed set of dialects and what can be done with each. A new one is a variant, its arm in
//! `wire`, and an implementation of [`Wire`].

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};
use telechir_protocol::slots::fill;
use telechir_protocol::{AnsweredTurn, Message, ModelTurn, Size};

use crate::document::{self, Document, Input};
use crate::wire::{ChatApi, Codec, Endpoint};
use crate::{
    Declaration, DecodeError, EncodeError, Report, ToolOffer, agent_framework, anthropic, bedrock,
    chat, foreign, google, mistral, openai, repeated,
};

/// A provider's way of writing calls and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Anthropic's Messages: `anthropic-messages`.
    AnthropicMessages,
    /// OpenAI's Responses: `openai-responses`.
    OpenaiResponses,
    /// Amazon Bedrock's Converse: `bedrock-converse`.
    BedrockConverse,
    /// Anthropic's Messages behind Bedrock: `bedrock-messages`.
    BedrockMessages,
    /// Anthropic's bodies for Bedrock's InvokeModel: `bedrock-invoke`.
    BedrockInvoke,
    /// Bedrock's agents that return control: `bedrock-agents`.
    BedrockAgents,
    /// Google's `generateContent`: `google-generate-content`.
    GoogleGenerateContent,
    /// Google's Interactions: `google-interactions`.
    GoogleInteractions,
    /// The messages of Agent Framework: `agent-framework`.
    AgentFramework,
    /// Our tools as functions of any chat completions; pictures follow the results: `functions`.
    Functions,
    /// The same with the pictures in the results themselves: `functions-inline`.
    FunctionsInline,
    /// Mistral's chat completions: `mistral-chat`.
    MistralChat,
    /// Mistral's conversations: `mistral-conversations`.
    MistralConversations,
}

/// A name that is no dialect's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("name a dialect: `{name}` is none; there are {}", Dialect::names())]
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
    pub const ALL: [Self; 13] = [
        Self::AnthropicMessages,
        Self::OpenaiResponses,
        Self::BedrockConverse,
        Self::BedrockMessages,
        Self::BedrockInvoke,
        Self::BedrockAgents,
        Self::GoogleGenerateContent,
        Self::GoogleInteractions,
        Self::AgentFramework,
        Self::Functions,
        Self::FunctionsInline,
        Self::MistralChat,
        Self::MistralConversations,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        self.wire().name()
    }

    fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    pub(crate) fn wire(self) -> &'static dyn Codec {
        match self {
            Self::AnthropicMessages => &anthropic::Messages,
            Self::OpenaiResponses => &openai::Responses,
            Self::BedrockConverse => &bedrock::Converse,
            Self::GoogleGenerateContent => &google::GenerateContent,
            Self::GoogleInteractions => &google::Interactions,
            Self::AgentFramework => &agent_framework::AgentFramework,
            Self::Functions => &chat::Chat(chat::Flavour::Functions),
            Self::FunctionsInline => &chat::Chat(chat::Flavour::Inline),
            Self::MistralChat => &chat::Chat(chat::Flavour::Mistral),
            Self::BedrockMessages => &bedrock::Messages,
            Self::BedrockInvoke => &bedrock::Invoke,
            Self::MistralConversations => &mistral::Conversations,
            Self::BedrockAgents => &bedrock::Agents,
        }
    }

    /// Reads one response: the calls to carry out and all else that was said.
    ///
    /// # Errors
    /// When it is not JSON, not of this dialect, or an error of the provider.
    pub fn decode_response<'a>(
        self,
        document: impl Into<Input<'a>>,
    ) -> Result<(ModelTurn, Report), DecodeError> {
        let wire = self.wire();
        let read = |value| self.own(value, |value| wire.decode_response(value));
        document::read(document.into(), wire.takes_slots(), read)
    }

    /// Reads a history: a whole request, its list of messages or items, or one response. A
    /// document that is given away is not copied; its pictures stay in it.
    ///
    /// # Errors
    /// When it is not JSON or not of this dialect.
    pub fn decode_history<'a>(
        self,
        document: impl Into<Input<'a>>,
    ) -> Result<(History, Report), DecodeError> {
        let wire = self.wire();
        let read = |value| self.own(value, |value| wire.decode_history(value));
        document::read(document.into(), wire.takes_slots(), read)
    }

    /// Reads what has no call of another dialect: as something unknown it would only be kept.
    fn own<T>(
        self,
        value: Value,
        read: impl FnOnce(Value) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let foreign = foreign::find(self, &value);
        match (read(value), foreign) {
            (Ok(_) | Err(DecodeError::WrongShape { .. }), Some(foreign)) => Err(foreign),
            (read, _) => read,
        }
    }

    /// Writes the answers to a turn.
    ///
    /// # Errors
    /// When the dialect demands something that the answers do not have.
    pub fn encode_answers(self, turn: &AnsweredTurn) -> Result<EncodedReply, EncodeError> {
        let wire = self.wire();
        let mut slots = Vec::new();
        turn.gather_slots(&mut slots);
        let without_slots = || {
            let mut whole = turn.clone();
            whole.fill_slots();
            wire.encode_results(&whole)
        };
        if slots.is_empty() {
            return wire.encode_results(turn);
        }
        if !wire.takes_slots() {
            return without_slots();
        }
        let mut written = wire.encode_results(turn);
        if document::is_touched(&written, parts_of_reply, &slots) {
            written = without_slots();
        }
        let mut reply = written?;
        reply.items.iter_mut().for_each(|item| fill(item, &slots));
        Ok(reply)
    }

    /// Writes a history in the form it came in, or as the dialect's list of messages or items
    /// when it came from another dialect.
    ///
    /// # Errors
    /// When the dialect demands something that the history does not have.
    pub fn encode_history(self, history: &History) -> Result<(Value, Report), EncodeError> {
        let (document, report) = self.write_history(history)?;
        Ok((document.into_value(), report))
    }

    /// The same as a document to be written, without a copy of its pictures.
    ///
    /// # Errors
    /// When the dialect demands something that the history does not have.
    pub fn write_history(self, history: &History) -> Result<(Document, Report), EncodeError> {
        let wire = self.wire();
        let apart = match wire.takes_repeated_ids() {
            true => None,
            false => repeated::told_apart(&history.messages, wire.raw_dialect()),
        };
        let Some((messages, mut report)) = apart else {
            return write_history(wire, history);
        };
        let envelope = history.envelope.clone();
        let (document, losses) = write_history(wire, &History { messages, envelope })?;
        report.absorb(losses);
        Ok((document, report))
    }

    /// The size at which a picture of a screen of `size` reaches this model as it was sent,
    /// neither shrunk nor refused. Absent model means the newest.
    pub fn screenshot_size(self, model: Option<&str>, size: Size) -> Size {
        self.wire().screenshot_size(model, size)
    }

    /// Bytes that one picture may have: what is taken of its base64, back in bytes. PNG, JPEG and
    /// WebP are taken by every dialect.
    pub fn max_image_bytes(self) -> usize {
        self.wire().image_base64() / 4 * 3
    }

    /// When a picture of the screen goes with the answers.
    pub fn screenshot_when(self) -> ScreenshotWhen {
        self.wire().screenshot_when()
    }

    /// Declares tools to a model.
    ///
    /// # Errors
    /// When the model takes no such tool, or a size it demands is missing.
    pub fn declare(self, offer: &ToolOffer) -> Result<(Declaration, Report), EncodeError> {
        self.wire().declare(offer)
    }

    /// Where the service is; none for what is no service of its own and cannot be conversed with.
    pub fn service(self) -> Option<Endpoint> {
        self.wire().chat_api().map(ChatApi::endpoint)
    }
}

/// Writes a history whose pictures stay where they are, as far as nothing is made of them.
fn write_history(wire: &dyn Codec, history: &History) -> Result<(Document, Report), EncodeError> {
    let slots = document::slots_of(&history.messages);
    let without_slots = || {
        let mut whole = history.clone();
        whole.messages.iter_mut().for_each(Message::fill_slots);
        wire.encode_history(&whole)
    };
    let mut written = if slots.is_empty() || wire.takes_slots() {
        wire.encode_history(history)
    } else {
        without_slots()
    };
    if !slots.is_empty() && document::is_touched(&written, parts_of_history, &slots) {
        written = without_slots();
    }
    let (template, report) = written?;
    Ok((Document::new(template, slots), report))
}

fn parts_of_history((value, report): &(Value, Report)) -> (&[Value], &Report) {
    (std::slice::from_ref(value), report)
}

fn parts_of_reply(reply: &EncodedReply) -> (&[Value], &Report) {
    (&reply.items, &reply.report)
}

/// When a dialect wants a picture of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenshotWhen {
    /// With the answer to every call.
    EveryCall,
    /// With the last answer of a batch of calls.
    LastOfBatch,
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
