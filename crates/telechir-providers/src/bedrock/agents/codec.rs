//! The codec of `bedrock-agents`.

use serde_json::Value;
use telechir_protocol::{AnsweredTurn, ModelTurn, Size};

use super::{DIALECT, declare, decode, encode, stream};
use crate::anthropic;
use crate::bedrock::event_stream_response::EventStreamResponse;
use crate::chat_api::ChatApi;
use crate::codec::Codec;
use crate::stream::StreamDecoder;
use crate::{
    Declaration, DecodeError, EncodeError, EncodedReply, History, Report, ScreenshotWhen, ToolOffer,
};

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
        crate::bedrock::MAX_IMAGE_BASE64_BYTES
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
