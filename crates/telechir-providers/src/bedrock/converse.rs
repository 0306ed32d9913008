//! Bedrock's Converse API: AWS's content blocks for the models of many vendors.
//!
//! Its blocks are decoded and encoded by the codec of Anthropic's Messages: `decode_block` converts
//! a block to Anthropic's format and `encode_block` converts it back. A content retains the
//! original block.

mod chat_api;
mod check;
mod declare;
mod decode;
mod decode_block;
mod encode;
mod encode_block;
mod stream;

pub(crate) use decode_block::marker as cache_marker;
pub(crate) use encode_block::cache_point;

use serde_json::{Map, Value};
use telechir_protocol::{AnsweredTurn, ModelTurn, Size};

use super::event_stream_response::EventStreamResponse;
use crate::anthropic;
use crate::chat_api::ChatApi;
use crate::codec::Codec;
use crate::generated_images::ImagesOfModel;
use crate::stream::StreamDecoder;
use crate::{
    Declaration, DecodeError, EncodeError, EncodedReply, History, Report, ScreenshotWhen, ToolOffer,
};

/// The dialect's name on the command line and in raw representations.
const DIALECT: &str = "bedrock-converse";

/// Key of the additional properties that only this provider has.
const PROVIDER: &str = "bedrock";

/// Field of an Anthropic block for what only this provider has.
const EXTRA: &str = "bedrock";

/// Prefix of the type of a block that passes unchanged.
const OPAQUE_PREFIX: &str = "bedrock_";

type JsonObject = Map<String, Value>;

/// Codec of `bedrock-converse`.
pub(crate) struct BedrockConverse;

impl Codec for BedrockConverse {
    fn name(&self) -> &'static str {
        DIALECT
    }

    /// Blocks of Anthropic's Messages are converted, or reported by name.
    fn accepts_unknown_of(&self, dialect: &str) -> bool {
        [DIALECT, anthropic::DIALECT].contains(&dialect)
    }

    fn images_of_model(&self) -> ImagesOfModel {
        ImagesOfModel::Rejected
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

    fn max_image_base64(&self) -> usize {
        super::MAX_IMAGE_BASE64_BYTES
    }

    /// `ImageFormat` is png, jpeg, gif or webp, also in a `toolResult`.
    fn accepts_webp(&self) -> bool {
        true
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
