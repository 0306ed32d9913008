//! `generateContent`: contents of parts, the model's and the user's in turn.

mod envelope;
mod history;
mod part;
mod partial;
mod stream;
mod talk;
mod write;

use serde_json::Value;
use telechir_protocol::{AnsweredTurn, ModelTurn, Size};

pub(super) use write::content_of;

use super::declare::{Style, declare};
use crate::stream::StreamDecoder;
use crate::wire::{ChatApi, Codec};
use crate::{
    Declaration, DecodeError, EncodeError, EncodedReply, History, Report, ScreenshotWhen, ToolOffer,
};

/// The dialect's name.
pub(super) const DIALECT: &str = "google-generate-content";

/// The dialect.
pub(crate) struct GenerateContent;

impl Codec for GenerateContent {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn decode_response(&self, document: Value) -> Result<(ModelTurn, Report), DecodeError> {
        envelope::read_response(document)
    }

    fn decode_history(&self, document: Value) -> Result<(History, Report), DecodeError> {
        envelope::read_history(document)
    }

    fn encode_results(&self, turn: &AnsweredTurn) -> Result<EncodedReply, EncodeError> {
        write::write_answers(turn)
    }

    fn encode_history(&self, history: &History) -> Result<(Value, Report), EncodeError> {
        history::write_history(history)
    }

    fn declare(&self, offer: &ToolOffer) -> Result<(Declaration, Report), EncodeError> {
        declare(offer, Style::Parts)
    }

    fn screenshot_size(&self, _model: Option<&str>, size: Size) -> Size {
        super::media::screenshot_size(size)
    }

    fn image_base64(&self) -> usize {
        super::media::IMAGE_BASE64
    }

    /// Every answer of a screen wants one.
    fn screenshot_when(&self) -> ScreenshotWhen {
        ScreenshotWhen::EveryCall
    }

    fn stream_decoder(&self) -> Option<Box<dyn StreamDecoder>> {
        Some(Box::new(stream::Chunks::default()))
    }

    fn chat_api(&self) -> Option<&'static dyn ChatApi> {
        Some(&talk::GenerateTalk)
    }
}
