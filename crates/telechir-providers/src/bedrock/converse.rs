//! Bedrock's Converse: AWS's own blocks around the models of many makers.
//!
//! Its blocks are read by the readers of Anthropic's Messages and written by their writers, with
//! `into_block` and `out_of_block` in between; a content keeps the block it came as.

mod chat_api;
mod check;
mod declare;
mod decode;
mod decode_block;
mod encode;
mod encode_block;
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
const DIALECT: &str = "bedrock-converse";

/// Under this name contents keep what only this provider says.
const PROVIDER: &str = "bedrock";

/// The member of a block that holds what only this provider says.
const EXTRA: &str = "bedrock";

/// Begins the type of a block that is kept as it is.
const OPAQUE_PREFIX: &str = "bedrock_";

/// The dialect.
pub(crate) struct Converse;

impl Codec for Converse {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn decode_response(&self, document: Value) -> Result<(ModelTurn, Report), DecodeError> {
        decode::decode_response(&document)
    }

    fn decode_history(&self, document: Value) -> Result<(History, Report), DecodeError> {
        decode::decode_history(document)
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

    fn screenshot_size(&self, model: Option<&str>, size: Size) -> Size {
        anthropic::screenshot_size(model, size)
    }

    fn image_base64(&self) -> usize {
        super::MAX_IMAGE_BASE64_BYTES
    }

    fn screenshot_when(&self) -> ScreenshotWhen {
        ScreenshotWhen::LastOfBatch
    }

    fn stream_decoder(&self) -> Option<Box<dyn StreamDecoder>> {
        Some(Box::new(EventStreamResponse::new(
            stream::ConverseResponseBuilder::default(),
        )))
    }

    fn chat_api(&self) -> Option<&'static dyn ChatApi> {
        Some(&chat_api::ConverseChat)
    }
}
