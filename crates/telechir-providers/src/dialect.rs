//! The dialects and their operations. A new dialect needs a variant, an arm in [`Dialect::codec`],
//! and a [`Codec`].

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde_json::Value;
use telechir_protocol::{AnsweredTurn, Content, Message, ModelTurn, Size, json_limits};

use crate::chat_api::{ChatApi, Endpoint};
use crate::codec::Codec;
use crate::declaration::{RefusedTools, end_declaration};
use crate::{
    Declaration, DecodeError, EncodeError, EncodedReply, History, Report, ScreenshotWhen,
    ToolOffer, agent_framework, answered_names, anthropic, bedrock, chat, declare, duplicate_ids,
    forced_function, foreign_contents, generated_images, google, hosted_source, image_formats,
    instructions, misrouted, missing_ids, mistral, neutral, openai, precision, repeated_results,
    settings, unknown_calls, unwritten_values, written_values,
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
    /// The neutral contents themselves: `neutral`.
    Neutral,
}

/// A name that is not the name of a dialect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown dialect `{name}`; expected one of {}", Dialect::names())]
pub struct UnknownDialect {
    /// The name as given; the case of names matters.
    pub name: String,
}

impl Dialect {
    /// Every dialect, in the order of the enum.
    pub const ALL: [Self; 14] = [
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
        Self::Neutral,
    ];

    /// The dialect's name on the command line.
    pub fn name(self) -> &'static str {
        self.codec().name
    }

    fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    pub(crate) fn codec(self) -> &'static Codec {
        match self {
            Self::AnthropicMessages => &anthropic::CODEC,
            Self::OpenaiResponses => &openai::CODEC,
            Self::BedrockConverse => &bedrock::CONVERSE,
            Self::BedrockMessages => &bedrock::MESSAGES,
            Self::BedrockInvoke => &bedrock::INVOKE,
            Self::BedrockAgents => &bedrock::AGENTS,
            Self::GoogleGenerateContent => &google::GENERATE_CONTENT,
            Self::GoogleInteractions => &google::INTERACTIONS,
            Self::AgentFramework => &agent_framework::CODEC,
            Self::Functions => &chat::FUNCTIONS,
            Self::FunctionsInline => &chat::INLINE,
            Self::MistralChat => &chat::MISTRAL,
            Self::MistralConversations => &mistral::CODEC,
            Self::Neutral => &neutral::CODEC,
        }
    }

    /// Decodes one response: its calls and all other contents.
    ///
    /// # Errors
    /// If the document is not JSON, not of this dialect, or an error of the provider.
    pub fn decode_response(
        self,
        document: impl AsRef<[u8]>,
    ) -> Result<(ModelTurn, Report), DecodeError> {
        self.decode(document.as_ref(), |value| {
            let forced = forced_function::name_in(&value);
            let (mut turn, report) = self.decode_turn(value)?;
            if let Some(function) = forced {
                turn.mark_structured_output(&function);
            }
            Ok((turn, report))
        })
    }

    /// Decodes a response of this dialect. Each call for the client has a neutral kind.
    pub(crate) fn decode_turn(self, response: Value) -> Result<(ModelTurn, Report), DecodeError> {
        let codec = self.codec();
        let hosted_source = hosted_source::find(&response);
        let (turn, report) = (codec.decode_response)(response)?;
        let mut turn = match codec.id_field_of_unknown_calls {
            Some(id_field) => unknown_calls::answerable(turn, id_field, codec.raw_dialect),
            None => turn,
        };
        turn.note_hosted_source(hosted_source);
        Ok((turn, report))
    }

    /// Decodes a history: a request, a list of messages or items, or one response.
    ///
    /// # Errors
    /// If the document is not JSON or not of this dialect.
    pub fn decode_history(
        self,
        document: impl AsRef<[u8]>,
    ) -> Result<(History, Report), DecodeError> {
        let codec = self.codec();
        self.decode(document.as_ref(), |value| {
            let forced = forced_function::name_in(&value);
            let (mut history, report) = (codec.decode_history)(value)?;
            if let Some(function) = forced {
                let messages = history.messages.iter_mut();
                let contents = messages.flat_map(|message| &mut message.contents);
                contents.for_each(|content| content.mark_structured_output(&function));
            }
            Ok((history, report))
        })
    }

    /// Decodes a document and rejects it if it has calls of another dialect. Decoding alone would
    /// keep those as unknown contents, and nobody would execute them.
    fn decode<T>(
        self,
        document: &[u8],
        read: impl FnOnce(Value) -> Result<(T, Report), DecodeError>,
    ) -> Result<(T, Report), DecodeError> {
        let value = json_limits::parse(document)?;
        let misrouted = misrouted::find(self, &value);
        let (decoded, mut report) = match (read(value), misrouted) {
            (Ok(_) | Err(DecodeError::WrongShape { .. }), Some(error)) => return Err(error),
            (read, _) => read?,
        };
        precision::report(document, "", &mut report);
        Ok((decoded, report))
    }

    /// Encodes the results of a turn's calls.
    ///
    /// # Errors
    /// If the results lack something that the dialect requires.
    pub fn encode_results(self, turn: &AnsweredTurn) -> Result<EncodedReply, EncodeError> {
        let codec = self.codec();
        let single = match codec.accepts_results_of_one_id {
            true => None,
            false => turn.without_repeated_ids(),
        };
        let (turn, repeated) = match &single {
            Some((turn, repeated)) => (turn, repeated.as_slice()),
            None => (turn, [].as_slice()),
        };
        let mut reply = (codec.encode_results)(turn)?;
        for id in repeated {
            let what = format!("the error of a further call {id}");
            let why = "the call was not executed, and the service accepts one result per id";
            reply.report.lost(what, format!("call {id}"), why);
        }
        if !codec.holds_neutral_contents {
            let items = Value::Array(std::mem::take(&mut reply.items));
            settings::report_results(turn, self.name(), &items, &mut reply.report);
            report_open_requests(turn, &mut reply.report);
            if let Value::Array(items) = items {
                reply.items = items;
            }
        }
        Ok(reply)
    }

    /// Encodes a history in its original envelope, or as the dialect's list of messages or items if
    /// it came from another dialect.
    ///
    /// # Errors
    /// If the history lacks something that the dialect requires.
    pub fn encode_history(self, history: &History) -> Result<(Value, Report), EncodeError> {
        let codec = self.codec();
        let mut report = Report::default();
        let with_instructions = instructions::as_message(history, self.envelope_dialect());
        let history = match &with_instructions {
            Some((history, left)) => {
                for field in left {
                    let why = "the instructions became a message";
                    report.lost(format!("field `{field}`"), field, why);
                }
                history
            }
            None => history,
        };
        let mut messages = match codec.holds_neutral_contents {
            true => Cow::Borrowed(history.messages.as_slice()),
            false => forced_function::without_marks(&history.messages),
        };
        let accepts = |dialect: &str| codec.accepts_unknown_of(dialect);
        let remaining = foreign_contents::remove(&messages, &accepts);
        replace(&mut messages, remaining, &mut report);
        let (raw_dialect, images) = (codec.raw_dialect, codec.images_of_model);
        let moved = generated_images::move_to_user(&messages, raw_dialect, images);
        replace(&mut messages, moved, &mut report);
        let with_ids = missing_ids::assign(&messages, raw_dialect);
        replace(&mut messages, with_ids, &mut report);
        if !codec.holds_neutral_contents {
            let unique = duplicate_ids::deduplicate(&messages, raw_dialect);
            replace(&mut messages, unique, &mut report);
        }
        if !codec.accepts_results_of_one_id {
            let single = repeated_results::move_to_user(&messages, raw_dialect);
            replace(&mut messages, single, &mut report);
        }
        let (document, losses) = match messages {
            Cow::Borrowed(_) => (codec.encode_history)(history)?,
            Cow::Owned(messages) => {
                let envelope = history.envelope.clone();
                (codec.encode_history)(&History { messages, envelope })?
            }
        };
        report.absorb(losses);
        image_formats::report_webp(codec, &history.messages, &mut report);
        if !codec.holds_neutral_contents {
            answered_names::report(&history.messages, codec.name, &document, &mut report);
            settings::report_usage(&history.messages, &mut report);
            let written = written_values::lazily(&document);
            let dialects = (codec.name, codec.raw_dialect);
            settings::report_history(&history.messages, dialects, &written, &mut report);
            unwritten_values::report(&history.messages, codec.name, &written, &mut report);
        }
        Ok((document, report))
    }

    /// Reports what a document of this dialect lacks of the original JSON of messages that were not
    /// written as messages.
    pub(crate) fn report_unwritten(
        self,
        messages: &[Message],
        document: &Value,
        report: &mut Report,
    ) {
        let written = written_values::lazily(document);
        if !self.codec().holds_neutral_contents {
            settings::report_usage(messages, report);
            settings::report_neutral_messages(messages, self.name(), &written, report);
        }
        unwritten_values::report(messages, self.name(), &written, report);
    }

    /// The size to which a screenshot of a `size` screen is scaled, so that the model neither
    /// shrinks nor rejects it. If `model` is absent, the newest model's limits apply.
    pub fn screenshot_size(self, model: Option<&str>, size: Size) -> Size {
        (self.codec().screenshots.size)(model, size)
    }

    /// Maximum size of one image in bytes, from the dialect's limit on base64.
    pub fn max_image_bytes(self) -> usize {
        self.codec().screenshots.max_base64 / 4 * 3
    }

    /// Whether the service is known to accept WebP as the image of a result. Every service accepts
    /// PNG and JPEG.
    pub fn accepts_webp(self) -> bool {
        self.codec().screenshots.accepts_webp
    }

    /// Whether a screenshot goes with every result or with the last of a batch.
    pub fn screenshot_when(self) -> ScreenshotWhen {
        self.codec().screenshots.when
    }

    /// The name that the codec gives its own envelopes.
    pub(crate) fn envelope_dialect(self) -> &'static str {
        if self == Self::BedrockMessages {
            anthropic::DIALECT
        } else {
            self.name()
        }
    }

    /// Encodes tool declarations for a model.
    ///
    /// # Errors
    /// If the model does not support a tool, or a screen size that it requires is missing.
    pub fn declare(self, offer: &ToolOffer) -> Result<(Declaration, Report), EncodeError> {
        let codec = self.codec().declare;
        declare::declare(self.name(), offer, codec, &mut end_declaration)
    }

    /// Encodes declarations of the tools that a request can have beside each other, the first ones
    /// of those that exclude each other, and returns the others by their positions.
    pub(crate) fn declare_possible(
        self,
        offer: &ToolOffer,
    ) -> Result<(Declaration, Report, RefusedTools), EncodeError> {
        let mut refused = Vec::new();
        let codec = self.codec().declare;
        let (declaration, report) =
            declare::declare(self.name(), offer, codec, &mut |at, error| {
                refused.push((at, error));
                Ok(())
            })?;
        Ok((declaration, report, refused))
    }

    /// The API's default endpoint; `None` for a format without an API.
    pub fn service(self) -> Option<Endpoint> {
        self.codec().chat_api.map(ChatApi::endpoint)
    }
}

/// Reports approval requests that the results leave to the caller.
fn report_open_requests(turn: &AnsweredTurn, report: &mut Report) {
    for content in turn.turn().contents() {
        let Content::ApprovalRequest(request) = content else {
            continue;
        };
        let what = format!("approval request {}", request.id);
        if !report.losses.iter().any(|loss| loss.what == what) {
            let why = "the results have no answer to it, so the caller has to send one";
            report.lost(what, "the turn", why);
        }
    }
}

/// Replaces the messages by changed ones, if any.
fn replace(
    messages: &mut Cow<'_, [Message]>,
    changed: Option<(Vec<Message>, Report)>,
    report: &mut Report,
) {
    if let Some((changed, losses)) = changed {
        *messages = Cow::Owned(changed);
        report.absorb(losses);
    }
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
