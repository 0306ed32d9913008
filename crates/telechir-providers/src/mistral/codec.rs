//! The codec of `mistral-conversations`.

use serde_json::Value;
use telechir_protocol::{AnsweredTurn, ModelTurn, Size};

use super::{DIALECT, FLAVOUR, HOSTED, PROVIDER, chat_api, encode, envelope, results, stream};
use crate::chat::declare::declare_as;
use crate::chat_api::ChatApi;
use crate::codec::Codec;
use crate::stream::{SseDecoder, StreamDecoder};
use crate::{
    Declaration, DecodeError, EncodeError, EncodedReply, History, Report, ScreenshotWhen, ToolOffer,
};

/// The codec of `mistral-conversations`.
pub(crate) struct Conversations;

impl Codec for Conversations {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn accepts_unknown_of(&self, dialect: &str) -> bool {
        FLAVOUR.accepts_unknown_of(dialect)
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
        Ok(results::encode_results(turn))
    }

    fn encode_history(&self, history: &History) -> Result<(Value, Report), EncodeError> {
        Ok(encode::write_history(history))
    }

    fn declare(&self, offer: &ToolOffer) -> Result<(Declaration, Report), EncodeError> {
        declare_as(DIALECT, PROVIDER, &HOSTED, offer)
    }

    fn screenshot_size(&self, model: Option<&str>, size: Size) -> Size {
        FLAVOUR.screenshot_size(model, size)
    }

    fn max_image_base64(&self) -> usize {
        FLAVOUR.image_base64()
    }

    /// No document names the formats of an `image_url` in a conversation.
    fn accepts_webp(&self) -> bool {
        false
    }

    fn screenshot_when(&self) -> ScreenshotWhen {
        ScreenshotWhen::LastOfBatch
    }

    fn stream_decoder(&self) -> Option<Box<dyn StreamDecoder>> {
        Some(Box::new(SseDecoder::new(
            stream::ConversationBuilder::default(),
        )))
    }

    fn chat_api(&self) -> Option<&'static dyn ChatApi> {
        Some(&chat_api::ConversationsChat)
    }
}
