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
use crate::stream::Receive;
use crate::wire::{Talk, Wire};
use crate::{
    Declaration, DecodeError, EncodeError, EncodedReply, History, Offer, ScreenshotWhen, Report,
};

/// The dialect's name.
pub(super) const DIALECT: &str = "google-generate-content";

/// The dialect.
pub(crate) struct GenerateContent;

impl Wire for GenerateContent {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn read_response(&self, document: Value) -> Result<(ModelTurn, Report), DecodeError> {
        envelope::read_response(document)
    }

    fn read_history(&self, document: Value) -> Result<(History, Report), DecodeError> {
        envelope::read_history(document)
    }

    fn write_answers(&self, turn: &AnsweredTurn) -> Result<EncodedReply, EncodeError> {
        write::write_answers(turn)
    }

    fn write_history(&self, history: &History) -> Result<(Value, Report), EncodeError> {
        history::write_history(history)
    }

    fn declare(&self, offer: &Offer) -> Result<(Declaration, Report), EncodeError> {
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

    fn receive(&self) -> Option<Box<dyn Receive>> {
        Some(Box::new(stream::Chunks::default()))
    }

    fn talk(&self) -> Option<&'static dyn Talk> {
        Some(&talk::GenerateTalk)
    }
}
