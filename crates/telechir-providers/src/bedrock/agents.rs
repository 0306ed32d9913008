//! Bedrock's agents: calls they hand back (`returnControl`), and the results they are told.
//!
//! The agent keeps the conversation; a history here is its responses and the requests between
//! them. Calls become blocks of Anthropic's tools and are read as those.

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
use crate::stream::StreamDecoder;
use crate::wire::{ChatApi, Codec};
use crate::{
    Declaration, DecodeError, EncodeError, EncodedReply, History, Report, ScreenshotWhen, ToolOffer,
};

/// The dialect's name.
const DIALECT: &str = "bedrock-agents";

/// Under this name contents keep what only this provider says.
const PROVIDER: &str = "bedrock";

/// The sort of a check that a person is to confirm a call.
const CONFIRMATION: &str = "user_confirmation";

/// Most calls of one invocation, and most results.
const MAX_CALLS: usize = 5;

/// The dialect.
pub(crate) struct Agents;

impl Codec for Agents {
    fn name(&self) -> &'static str {
        DIALECT
    }

    /// Results are compared with the documents they came in.
    fn takes_slots(&self) -> bool {
        false
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

    /// The models that agents know are those of the smaller pictures.
    fn screenshot_size(&self, model: Option<&str>, size: Size) -> Size {
        anthropic::screenshot_size(model.or(Some("claude-3-7-sonnet")), size)
    }

    fn image_base64(&self) -> usize {
        super::MAX_IMAGE_BASE64_BYTES
    }

    fn screenshot_when(&self) -> ScreenshotWhen {
        ScreenshotWhen::EveryCall
    }

    fn stream_decoder(&self) -> Option<Box<dyn StreamDecoder>> {
        Some(Box::new(EventStreamResponse::new(
            stream::AgentsResponseBuilder::default(),
        )))
    }

    /// An agent is asked with signed requests, by whoever has made it.
    fn chat_api(&self) -> Option<&'static dyn ChatApi> {
        None
    }
}
