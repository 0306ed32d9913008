//! The dialects and their operations. A new dialect needs a variant, an arm in [`Dialect::wire`],
//! and an implementation of [`Codec`].

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};
use telechir_protocol::slots::expand;
use telechir_protocol::{AnsweredTurn, Message, ModelTurn, Size};

use crate::codec::{ChatApi, Codec, Endpoint};
use crate::document::{self, Document, DocumentInput};
use crate::{
    Declaration, DecodeError, EncodeError, Report, ToolOffer, agent_framework, anthropic, bedrock,
    chat, duplicate_ids, google, image_formats, misrouted, mistral, openai,
};

/// A provider's JSON format for tool calls and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Anthropic's Messages API: `anthropic-messages`.
    AnthropicMessages,
    /// OpenAI's Responses API: `openai-responses`.
    OpenaiResponses,
    /// Amazon Bedrock's Converse API: `bedrock-converse`.
    BedrockConverse,
    /// Anthropic's Messages API on Bedrock: `bedrock-messages`.
    BedrockMessages,
    /// Anthropic request bodies for Bedrock's InvokeModel: `bedrock-invoke`.
    BedrockInvoke,
    /// Bedrock agents with return of control: `bedrock-agents`.
    BedrockAgents,
    /// Google's `generateContent` API: `google-generate-content`.
    GoogleGenerateContent,
    /// Google's Interactions API: `google-interactions`.
    GoogleInteractions,
    /// Messages of Microsoft Agent Framework: `agent-framework`.
    AgentFramework,
    /// Chat completions with our tools as functions; images follow the results in a user message:
    /// `functions`.
    Functions,
    /// Like [`Functions`](Self::Functions), with the images inside the results: `functions-inline`.
    FunctionsInline,
    /// Mistral's chat completions: `mistral-chat`.
    MistralChat,
    /// Mistral's Conversations API: `mistral-conversations`.
    MistralConversations,
}

/// A name that is not the name of a dialect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown dialect `{name}`; expected one of {}", Dialect::names())]
pub struct UnknownDialect {
    /// The name as given; the case of names matters.
    pub name: String,
}

/// Encoded results of a turn, ready to send.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EncodedReply {
    /// Anthropic: the blocks of the next user message. OpenAI: the next input items.
    pub items: Vec<Value>,
    /// What could not be encoded exactly.
    pub report: Report,
}

impl Dialect {
    /// Every dialect, in the order of the enum.
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

    /// The dialect's name on the command line.
    pub fn name(self) -> &'static str {
        self.codec().name()
    }

    fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    pub(crate) fn codec(self) -> &'static dyn Codec {
        match self {
            Self::AnthropicMessages => &anthropic::AnthropicMessages,
            Self::OpenaiResponses => &openai::Responses,
            Self::BedrockConverse => &bedrock::BedrockConverse,
            Self::GoogleGenerateContent => &google::GenerateContent,
            Self::GoogleInteractions => &google::Interactions,
            Self::AgentFramework => &agent_framework::AgentFramework,
            Self::Functions => &chat::ChatCompletions(chat::Flavour::Functions),
            Self::FunctionsInline => &chat::ChatCompletions(chat::Flavour::Inline),
            Self::MistralChat => &chat::ChatCompletions(chat::Flavour::Mistral),
            Self::BedrockMessages => &bedrock::BedrockMessages,
            Self::BedrockInvoke => &bedrock::BedrockInvoke,
            Self::MistralConversations => &mistral::Conversations,
            Self::BedrockAgents => &bedrock::BedrockAgents,
        }
    }

    /// Decodes one response: its calls and all other contents.
    ///
    /// # Errors
    /// If the document is not JSON, not of this dialect, or an error of the provider.
    pub fn decode_response<'a>(
        self,
        document: impl Into<DocumentInput<'a>>,
    ) -> Result<(ModelTurn, Report), DecodeError> {
        let wire = self.codec();
        let read = |value| self.decode_own(value, |value| wire.decode_response(value));
        document::read(document.into(), wire.supports_slots(), read)
    }

    /// Decodes a history: a request, a list of messages or items, or one response. An owned
    /// document is not copied; the decoded images refer to it.
    ///
    /// # Errors
    /// If the document is not JSON or not of this dialect.
    pub fn decode_history<'a>(
        self,
        document: impl Into<DocumentInput<'a>>,
    ) -> Result<(History, Report), DecodeError> {
        let wire = self.codec();
        let read = |value| self.decode_own(value, |value| wire.decode_history(value));
        document::read(document.into(), wire.supports_slots(), read)
    }

    /// Decodes a document and rejects it if it has calls of another dialect. Decoding alone would
    /// keep those as unknown contents, and nobody would execute them.
    fn decode_own<T>(
        self,
        value: Value,
        read: impl FnOnce(Value) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let misrouted = misrouted::find(self, &value);
        match (read(value), misrouted) {
            (Ok(_) | Err(DecodeError::WrongShape { .. }), Some(error)) => Err(error),
            (read, _) => read,
        }
    }

    /// Encodes the results of a turn's calls.
    ///
    /// # Errors
    /// If the results lack something that the dialect requires.
    pub fn encode_results(self, turn: &AnsweredTurn) -> Result<EncodedReply, EncodeError> {
        let wire = self.codec();
        let mut slots = Vec::new();
        turn.gather_slots(&mut slots);
        let without_slots = || {
            let mut complete = turn.clone();
            complete.fill_slots();
            wire.encode_results(&complete)
        };
        if slots.is_empty() {
            return wire.encode_results(turn);
        }
        if !wire.supports_slots() {
            return without_slots();
        }
        let mut written = wire.encode_results(turn);
        if document::is_touched(&written, parts_of_reply, &slots) {
            written = without_slots();
        }
        let mut reply = written?;
        reply.items.iter_mut().for_each(|item| expand(item, &slots));
        Ok(reply)
    }

    /// Encodes a history in its original envelope, or as the dialect's list of messages or items if
    /// it came from another dialect.
    ///
    /// # Errors
    /// If the history lacks something that the dialect requires.
    pub fn encode_history(self, history: &History) -> Result<(Value, Report), EncodeError> {
        let (document, report) = self.encode_document(history)?;
        Ok((document.into_value(), report))
    }

    /// Like [`encode_history`](Self::encode_history), but returns a document that does not copy its
    /// images.
    ///
    /// # Errors
    /// If the history lacks something that the dialect requires.
    pub fn encode_document(self, history: &History) -> Result<(Document, Report), EncodeError> {
        let wire = self.codec();
        let deduplicated = match wire.allows_duplicate_ids() {
            true => None,
            false => duplicate_ids::deduplicate(&history.messages, wire.raw_dialect()),
        };
        let Some((messages, mut report)) = deduplicated else {
            return write_history(wire, history);
        };
        let envelope = history.envelope.clone();
        let (document, losses) = write_history(wire, &History { messages, envelope })?;
        report.absorb(losses);
        Ok((document, report))
    }

    /// The size to which a screenshot of a `size` screen is scaled, so that the model neither
    /// shrinks nor rejects it. If `model` is absent, the newest model's limits apply.
    pub fn screenshot_size(self, model: Option<&str>, size: Size) -> Size {
        self.codec().screenshot_size(model, size)
    }

    /// Maximum size of one image in bytes, from the dialect's limit on base64.
    pub fn max_image_bytes(self) -> usize {
        self.codec().max_image_base64() / 4 * 3
    }

    /// Whether the service is known to accept WebP as the image of a result. Every service accepts
    /// PNG and JPEG.
    pub fn accepts_webp(self) -> bool {
        self.codec().accepts_webp()
    }

    /// Whether a screenshot goes with every result or with the last of a batch.
    pub fn screenshot_when(self) -> ScreenshotWhen {
        self.codec().screenshot_when()
    }

    /// Encodes tool declarations for a model.
    ///
    /// # Errors
    /// If the model does not support a tool, or a screen size that it requires is missing.
    pub fn declare(self, offer: &ToolOffer) -> Result<(Declaration, Report), EncodeError> {
        self.codec().declare(offer)
    }

    /// The API's default endpoint; `None` for a format without an API.
    pub fn service(self) -> Option<Endpoint> {
        self.codec().chat_api().map(ChatApi::endpoint)
    }
}

/// Encodes a history with slots in place of its images, or without slots if the encoder changes
/// one.
fn write_history(wire: &dyn Codec, history: &History) -> Result<(Document, Report), EncodeError> {
    let slots = document::slots_of(&history.messages);
    let without_slots = || {
        let mut complete = history.clone();
        complete.messages.iter_mut().for_each(Message::fill_slots);
        wire.encode_history(&complete)
    };
    let mut written = if slots.is_empty() || wire.supports_slots() {
        wire.encode_history(history)
    } else {
        without_slots()
    };
    if !slots.is_empty() && document::is_touched(&written, parts_of_history, &slots) {
        written = without_slots();
    }
    let (template, mut report) = written?;
    image_formats::report_webp(wire, &history.messages, &mut report);
    Ok((Document::new(template, slots), report))
}

fn parts_of_history((value, report): &(Value, Report)) -> (&[Value], &Report) {
    (std::slice::from_ref(value), report)
}

fn parts_of_reply(reply: &EncodedReply) -> (&[Value], &Report) {
    (&reply.items, &reply.report)
}

/// Which results carry a screenshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenshotWhen {
    /// The result of every call.
    EveryCall,
    /// The last result of a batch of calls.
    LastOfBatch,
}

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
