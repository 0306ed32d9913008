//! The codecs of `bedrock-messages` and `bedrock-invoke`.

use serde_json::Value;
use telechir_protocol::{AnsweredTurn, ModelTurn, Size};

use super::chat_api::AnthropicBodyChat;
use super::{INVOKE, MESSAGES, declare, encode_results, stream, write_invoke, write_messages};
use crate::anthropic;
use crate::bedrock::event_stream_response::EventStreamResponse;
use crate::bedrock::{MAX_IMAGE_BASE64_BYTES, detect};
use crate::chat_api::ChatApi;
use crate::codec::Codec;
use crate::generated_images::ImagesOfModel;
use crate::stream::{SseDecoder, StreamDecoder};
use crate::{
    Declaration, DecodeError, EncodeError, EncodedReply, Envelope, History, Report, ScreenshotWhen,
    ToolOffer,
};

/// An API of Bedrock with Anthropic's bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnthropicBody {
    /// Anthropic's Messages API on Bedrock.
    Messages,
    /// InvokeModel.
    Invoke,
}

impl Codec for AnthropicBody {
    fn name(&self) -> &'static str {
        match self {
            Self::Messages => MESSAGES,
            Self::Invoke => INVOKE,
        }
    }

    fn raw_dialect(&self) -> &'static str {
        anthropic::DIALECT
    }

    fn images_of_model(&self) -> ImagesOfModel {
        ImagesOfModel::Rejected
    }

    fn decode_response(&self, document: Value) -> Result<(ModelTurn, Report), DecodeError> {
        detect::reject_error_body(&document)?;
        anthropic::decode_response(&document)
            .map_err(|error| detect::decode_error_as(error, self.name()))
    }

    fn decode_history(&self, document: Value) -> Result<(History, Report), DecodeError> {
        detect::reject_error_body(&document)?;
        let (mut history, report) = anthropic::decode_history(document)
            .map_err(|error| detect::decode_error_as(error, self.name()))?;
        if let (Self::Invoke, Envelope::Object { dialect, .. }) = (self, &mut history.envelope) {
            *dialect = INVOKE;
        }
        Ok((history, report))
    }

    fn encode_results(&self, turn: &AnsweredTurn) -> Result<EncodedReply, EncodeError> {
        encode_results(turn, self.name())
    }

    fn encode_history(&self, history: &History) -> Result<(Value, Report), EncodeError> {
        match self {
            Self::Messages => write_messages(history),
            Self::Invoke => write_invoke(history),
        }
    }

    fn declare(&self, offer: &ToolOffer) -> Result<(Declaration, Report), EncodeError> {
        match self {
            Self::Messages => declare::messages(offer),
            Self::Invoke => declare::invoke(offer),
        }
    }

    fn screenshot_size(&self, model: Option<&str>, size: Size) -> Size {
        anthropic::screenshot_size(model, size)
    }

    fn max_image_base64(&self) -> usize {
        MAX_IMAGE_BASE64_BYTES
    }

    /// The image blocks of the Messages API.
    fn accepts_webp(&self) -> bool {
        true
    }

    fn screenshot_when(&self) -> ScreenshotWhen {
        ScreenshotWhen::LastOfBatch
    }

    fn stream_decoder(&self) -> Option<Box<dyn StreamDecoder>> {
        Some(match self {
            Self::Messages => Box::new(SseDecoder::new(
                anthropic::AnthropicMessageBuilder::default(),
            )),
            Self::Invoke => Box::new(EventStreamResponse::new(
                stream::InvokeResponseBuilder::default(),
            )),
        })
    }

    fn chat_api(&self) -> Option<&'static dyn ChatApi> {
        Some(match self {
            Self::Messages => &AnthropicBodyChat::Messages,
            Self::Invoke => &AnthropicBodyChat::Invoke,
        })
    }
}
