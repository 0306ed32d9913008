//! The codec of `bedrock-converse`.

use serde_json::Value;
use telechir_protocol::{AnsweredTurn, ModelTurn, Size};

use super::{DIALECT, chat_api, declare, decode, encode, stream};
use crate::anthropic;
use crate::bedrock::event_stream_response::EventStreamResponse;
use crate::chat_api::ChatApi;
use crate::codec::Codec;
use crate::generated_images::ImagesOfModel;
use crate::stream::StreamDecoder;
use crate::{
    Declaration, DecodeError, EncodeError, EncodedReply, History, Report, ScreenshotWhen, ToolOffer,
};

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
        crate::bedrock::MAX_IMAGE_BASE64_BYTES
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
