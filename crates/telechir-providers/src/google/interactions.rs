//! The Interactions API: one list of steps, whoever takes them.

mod content;
mod envelope;
mod history;
mod step;
mod stream;
mod talk;
mod write;

use serde_json::Value;
use telechir_protocol::{AnsweredTurn, ModelTurn, Size};

use super::declare::{Style, declare};
use crate::stream::{Events, Receive};
use crate::wire::{Talk, Wire};
use crate::{
    Declaration, DecodeError, EncodeError, EncodedReply, History, Offer, ScreenshotWhen, Report,
};

/// The dialect's name.
pub(super) const DIALECT: &str = "google-interactions";

/// The dialect.
pub(crate) struct Interactions;

impl Wire for Interactions {
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
        Ok(write::write_answers(turn))
    }

    fn write_history(&self, history: &History) -> Result<(Value, Report), EncodeError> {
        Ok(history::write_history(history))
    }

    fn declare(&self, offer: &Offer) -> Result<(Declaration, Report), EncodeError> {
        declare(offer, Style::Steps)
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
        Some(Box::new(Events::new(stream::Arriving::default())))
    }

    fn talk(&self) -> Option<&'static dyn Talk> {
        Some(&talk::InteractionsTalk)
    }
}
