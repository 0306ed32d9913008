//! Bedrock agents: the calls they return control for (`returnControl`), and their results.
//!
//! The agent stores the conversation; a history consists of its responses and the requests
//! between them. Calls are converted to `tool_use` blocks and decoded as those.

mod declare;
mod decode;
mod encode;
mod encode_result;
mod ids;
mod parameters;
mod stream;

use serde_json::Value;
use telechir_protocol::{AnsweredTurn, ModelTurn, Size};

use super::event_stream_response::EventStreamResponse;
use crate::anthropic;
use crate::chat_api::ChatApi;
use crate::codec::Codec;
use crate::stream::StreamDecoder;
use crate::{
    Declaration, DecodeError, EncodeError, EncodedReply, History, Report, ScreenshotWhen, ToolOffer,
};

/// The dialect's name on the command line and in raw representations.
const DIALECT: &str = "bedrock-agents";

/// Key of the additional properties that only this provider has.
const PROVIDER: &str = "bedrock_agents";

/// Code of the safety check that asks the user to confirm a call.
const CONFIRMATION: &str = "user_confirmation";

/// Maximum number of calls in one invocation, and of results in one request.
const MAX_CALLS: usize = 5;

/// Codec of `bedrock-agents`.
pub(crate) struct BedrockAgents;

impl Codec for BedrockAgents {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn decode_response(&self, document: Value) -> Result<(ModelTurn, Report), DecodeError> {
        decode::decode_response(&document)
    }

    fn decode_history(&self, document: Value) -> Result<(History, Report), DecodeError> {
        decode::decode_history(&document)
    }

    fn encode_results(&self, turn: &AnsweredTurn) -> Result<EncodedReply, EncodeError> {
        encode::encode_results(turn)
    }

    fn encode_history(&self, history: &History) -> Result<(Value, Report), EncodeError> {
        encode::encode_history(history)
    }

    fn declare(&self, offer: &ToolOffer) -> Result<(Declaration, Report), EncodeError> {
        declare::declare(offer)
    }

    /// Agents use models with the smaller image size.
    fn screenshot_size(&self, model: Option<&str>, size: Size) -> Size {
        anthropic::screenshot_size(model.or(Some("claude-3-7-sonnet")), size)
    }

    fn max_image_base64(&self) -> usize {
        super::MAX_IMAGE_BASE64_BYTES
    }

    /// `ImageInput.format` is png, jpeg, gif or webp.
    fn accepts_webp(&self) -> bool {
        true
    }

    fn screenshot_when(&self) -> ScreenshotWhen {
        ScreenshotWhen::EveryCall
    }

    fn stream_decoder(&self) -> Option<Box<dyn StreamDecoder>> {
        Some(Box::new(EventStreamResponse::new(
            stream::AgentsResponseBuilder::default(),
        )))
    }

    /// None: agents require signed AWS requests.
    fn chat_api(&self) -> Option<&'static dyn ChatApi> {
        None
    }
}
