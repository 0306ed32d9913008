//! The codec of `google-interactions`.

use serde_json::Value;
use telechir_protocol::{AnsweredTurn, ModelTurn, Size};

use super::{DIALECT, chat_api, encode, encode_step, envelope, stream};
use crate::chat_api::ChatApi;
use crate::codec::Codec;
use crate::generated_images::ImagesOfModel;
use crate::google::declare::{DeclarationStyle, declare};
use crate::google::media;
use crate::stream::{SseDecoder, StreamDecoder};
use crate::{
    Declaration, DecodeError, EncodeError, EncodedReply, History, Report, ScreenshotWhen, ToolOffer,
};

/// The codec of `google-interactions`.
pub(crate) struct Interactions;

impl Codec for Interactions {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn images_of_model(&self) -> ImagesOfModel {
        ImagesOfModel::PlainOnly
    }

    fn accepts_results_of_one_id(&self) -> bool {
        true
    }

    fn decode_response(&self, document: Value) -> Result<(ModelTurn, Report), DecodeError> {
        envelope::read_response(document)
    }

    fn decode_history(&self, document: Value) -> Result<(History, Report), DecodeError> {
        envelope::read_history(document)
    }

    fn encode_results(&self, turn: &AnsweredTurn) -> Result<EncodedReply, EncodeError> {
        Ok(encode_step::write_answers(turn))
    }

    fn encode_history(&self, history: &History) -> Result<(Value, Report), EncodeError> {
        Ok(encode::write_history(history))
    }

    fn declare(&self, offer: &ToolOffer) -> Result<(Declaration, Report), EncodeError> {
        declare(offer, DeclarationStyle::Steps)
    }

    fn screenshot_size(&self, _model: Option<&str>, size: Size) -> Size {
        media::screenshot_size(size)
    }

    fn max_image_base64(&self) -> usize {
        media::MAX_IMAGE_BASE64
    }

    /// Only PNG is known to work in a `function_result`.
    fn accepts_webp(&self) -> bool {
        false
    }

    /// Every result of a computer call needs a screenshot.
    fn screenshot_when(&self) -> ScreenshotWhen {
        ScreenshotWhen::EveryCall
    }

    fn stream_decoder(&self) -> Option<Box<dyn StreamDecoder>> {
        Some(Box::new(SseDecoder::new(
            stream::InteractionBuilder::default(),
        )))
    }

    fn chat_api(&self) -> Option<&'static dyn ChatApi> {
        Some(&chat_api::InteractionsChat)
    }
}
