//! OpenAI's Responses: one list of items, whoever speaks.
//!
//! `envelope` finds the list, `read` takes one item to a message, `write` a message to items,
//! `answers` and `declare` serve a turn. An item keeps its own JSON and goes back as it came
//! unless somebody edited what it means.

pub(crate) mod action;
mod call_form;
mod chat_api;
mod check;
mod declare;
mod encode_result;
mod envelope;
pub(crate) mod item;
mod read;
mod stream;
mod write;

use serde_json::Value;
use telechir_protocol::{AnsweredTurn, ModelTurn, Size};

use crate::stream::{Events, StreamDecoder};
use crate::wire::{ChatApi, Codec};
use crate::{
    Declaration, DecodeError, EncodeError, EncodedReply, History, Report, ScreenshotWhen, ToolOffer,
};

/// The dialect's name.
const DIALECT: &str = "openai-responses";

/// Under this name contents keep what only this provider says.
const PROVIDER: &str = "openai";

/// The most characters one text may have.
const MAX_TEXT_CHARS: usize = 10_485_760;

/// The dialect.
pub(crate) struct Responses;

impl Codec for Responses {
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
        encode_result::encode_results(turn)
    }

    fn encode_history(&self, history: &History) -> Result<(Value, Report), EncodeError> {
        write::write_history(history)
    }

    fn declare(&self, offer: &ToolOffer) -> Result<(Declaration, Report), EncodeError> {
        declare::declare(offer)
    }

    fn screenshot_size(&self, _model: Option<&str>, size: Size) -> Size {
        screenshot_size(size)
    }

    fn image_base64(&self) -> usize {
        MAX_IMAGE_URL_CHARS
    }

    /// Every `computer_call` demands one.
    fn screenshot_when(&self) -> ScreenshotWhen {
        ScreenshotWhen::EveryCall
    }

    fn stream_decoder(&self) -> Option<Box<dyn StreamDecoder>> {
        Some(Box::new(Events::new(stream::ResponsesBuilder::default())))
    }

    fn chat_api(&self) -> Option<&'static dyn ChatApi> {
        Some(&chat_api::ResponsesChat)
    }
}

/// Characters of an address that a picture may have, and it is one: a `data:` URL.
const MAX_IMAGE_URL_CHARS: usize = 20_971_520 - 64;

/// The size at which a picture goes through unshrunk: at most 10,000 patches of 32 by 32 pixels
/// and 6,000 pixels a side, the narrowest limits of the models that take pictures as they are.
fn screenshot_size(size: Size) -> Size {
    const MAX_SIDE_PX: u32 = 6_000;
    const MAX_PATCHES: u64 = 10_000;
    let fits = |width: u32, height: u32| {
        let patches = u64::from(width.div_ceil(32)) * u64::from(height.div_ceil(32));
        width.max(height) <= MAX_SIDE_PX && patches <= MAX_PATCHES
    };
    let height = |width: u32| {
        let scaled = u64::from(width) * u64::from(size.height) / u64::from(size.width.max(1));
        u32::try_from(scaled).unwrap_or(u32::MAX).max(1)
    };
    if fits(size.width, size.height) {
        return size;
    }
    let width = (1..size.width)
        .rev()
        .find(|width| fits(*width, height(*width)))
        .unwrap_or(1);
    Size::new(width, height(width))
}
