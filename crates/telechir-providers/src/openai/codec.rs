//! The codec of `openai-responses`.

use serde_json::Value;
use telechir_protocol::{AnsweredTurn, ModelTurn, Size};

use super::{DIALECT, chat_api, declare, encode, envelope, results, stream};
use crate::chat_api::ChatApi;
use crate::codec::Codec;
use crate::stream::{SseDecoder, StreamDecoder};
use crate::{
    Declaration, DecodeError, EncodeError, EncodedReply, History, Report, ScreenshotWhen, ToolOffer,
};

/// The codec of `openai-responses`.
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
        results::encode_results(turn)
    }

    fn encode_history(&self, history: &History) -> Result<(Value, Report), EncodeError> {
        encode::write_history(history)
    }

    fn declare(&self, offer: &ToolOffer) -> Result<(Declaration, Report), EncodeError> {
        declare::declare(offer)
    }

    fn screenshot_size(&self, _model: Option<&str>, size: Size) -> Size {
        screenshot_size(size)
    }

    fn max_image_base64(&self) -> usize {
        MAX_IMAGE_URL_CHARS
    }

    /// No document names the formats of a `computer_screenshot`; the service's own SDK sends PNG.
    fn accepts_webp(&self) -> bool {
        false
    }

    /// Every `computer_call` requires a screenshot in its output.
    fn screenshot_when(&self) -> ScreenshotWhen {
        ScreenshotWhen::EveryCall
    }

    fn stream_decoder(&self) -> Option<Box<dyn StreamDecoder>> {
        Some(Box::new(SseDecoder::new(
            stream::ResponsesBuilder::default(),
        )))
    }

    fn chat_api(&self) -> Option<&'static dyn ChatApi> {
        Some(&chat_api::ResponsesChat)
    }
}

/// Maximum number of characters in an image's `data:` URL, with room for the URL's prefix.
const MAX_IMAGE_URL_CHARS: usize = 20_971_520 - 64;

/// The largest size at which a screenshot is not downscaled: 10,000 patches of 32×32 pixels and
/// 6,000 pixels per side, the strictest limits among the models that accept original-detail images.
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
