//! The codec of the dialects of chat completions.

use serde_json::Value;
use telechir_protocol::{AnsweredTurn, ModelTurn, Size};

use super::{Flavour, chat_api, declare, encode, envelope, results, stream};
use crate::chat_api::ChatApi;
use crate::codec::Codec;
use crate::stream::{SseDecoder, StreamDecoder};
use crate::{
    Declaration, DecodeError, EncodeError, EncodedReply, History, Report, ScreenshotWhen, ToolOffer,
};

/// The codec of the chat completion dialects.
pub(crate) struct ChatCompletions(pub(crate) Flavour);

impl Codec for ChatCompletions {
    fn name(&self) -> &'static str {
        self.0.dialect()
    }

    fn accepts_unknown_of(&self, dialect: &str) -> bool {
        self.0.accepts_unknown_of(dialect)
    }

    fn accepts_results_of_one_id(&self) -> bool {
        true
    }

    fn decode_response(&self, document: Value) -> Result<(ModelTurn, Report), DecodeError> {
        envelope::read_response(self.0, document)
    }

    fn decode_history(&self, document: Value) -> Result<(History, Report), DecodeError> {
        envelope::read_history(self.0, document)
    }

    fn encode_results(&self, turn: &AnsweredTurn) -> Result<EncodedReply, EncodeError> {
        Ok(results::encode_results(self.0, turn))
    }

    fn encode_history(&self, history: &History) -> Result<(Value, Report), EncodeError> {
        Ok(encode::write_history(self.0, history))
    }

    fn declare(&self, offer: &ToolOffer) -> Result<(Declaration, Report), EncodeError> {
        declare::declare(self.0, offer)
    }

    fn screenshot_size(&self, model: Option<&str>, size: Size) -> Size {
        self.0.screenshot_size(model, size)
    }

    fn max_image_base64(&self) -> usize {
        self.0.image_base64()
    }

    /// Many servers speak this format, and not all of them decode WebP.
    fn accepts_webp(&self) -> bool {
        false
    }

    fn screenshot_when(&self) -> ScreenshotWhen {
        ScreenshotWhen::LastOfBatch
    }

    fn stream_decoder(&self) -> Option<Box<dyn StreamDecoder>> {
        Some(Box::new(SseDecoder::new(
            stream::CompletionBuilder::default(),
        )))
    }

    fn chat_api(&self) -> Option<&'static dyn ChatApi> {
        Some(match self.0 {
            Flavour::Functions => &chat_api::CompletionsChat(Flavour::Functions),
            Flavour::Inline => &chat_api::CompletionsChat(Flavour::Inline),
            Flavour::Mistral | Flavour::Conversations => {
                &chat_api::CompletionsChat(Flavour::Mistral)
            }
        })
    }
}
