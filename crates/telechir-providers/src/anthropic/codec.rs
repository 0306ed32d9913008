//! The codec of `anthropic-messages`.

use serde_json::Value;
use telechir_protocol::{AnsweredTurn, ModelTurn, Size};

use super::{
    AnthropicChat, AnthropicMessageBuilder, DIALECT, NEWEST, declare, decode_history,
    decode_response, encode_history, encode_results, image, screenshot_size,
};
use crate::chat_api::ChatApi;
use crate::codec::Codec;
use crate::generated_images::ImagesOfModel;
use crate::stream::{SseDecoder, StreamDecoder};
use crate::{
    Declaration, DecodeError, EncodeError, EncodedReply, History, Report, ScreenshotWhen, ToolOffer,
};

/// Codec of `anthropic-messages`.
pub(crate) struct AnthropicMessages;

impl Codec for AnthropicMessages {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn images_of_model(&self) -> ImagesOfModel {
        ImagesOfModel::Rejected
    }

    fn decode_response(&self, document: Value) -> Result<(ModelTurn, Report), DecodeError> {
        decode_response(&document)
    }

    fn decode_history(&self, document: Value) -> Result<(History, Report), DecodeError> {
        decode_history(document)
    }

    fn encode_results(&self, turn: &AnsweredTurn) -> Result<EncodedReply, EncodeError> {
        encode_results(turn)
    }

    fn encode_history(&self, history: &History) -> Result<(Value, Report), EncodeError> {
        encode_history(history, NEWEST)
    }

    fn declare(&self, offer: &ToolOffer) -> Result<(Declaration, Report), EncodeError> {
        declare(offer, NEWEST)
    }

    fn screenshot_size(&self, model: Option<&str>, size: Size) -> Size {
        screenshot_size(model, size)
    }

    fn max_image_base64(&self) -> usize {
        image::MAX_BASE64_BYTES
    }

    /// An image block's media type is PNG, JPEG, GIF or WebP, also in a `tool_result`.
    fn accepts_webp(&self) -> bool {
        true
    }

    fn screenshot_when(&self) -> ScreenshotWhen {
        ScreenshotWhen::LastOfBatch
    }

    fn stream_decoder(&self) -> Option<Box<dyn StreamDecoder>> {
        Some(Box::new(
            SseDecoder::new(AnthropicMessageBuilder::default()),
        ))
    }

    fn chat_api(&self) -> Option<&'static dyn ChatApi> {
        Some(&AnthropicChat)
    }
}
