//! The codec of `openai-responses`.

use telechir_protocol::Size;

use super::{DIALECT, chat_api, declare, encode, envelope, results, stream};
use crate::ScreenshotWhen;
use crate::codec::{Codec, ScreenshotRules};
use crate::generated_images::ImagesOfModel;
use crate::stream::SseDecoder;

/// The codec of `openai-responses`.
pub(crate) static CODEC: Codec = Codec {
    name: DIALECT,
    raw_dialect: DIALECT,
    understands: &[DIALECT],
    images_of_model: ImagesOfModel::Encoded,
    holds_neutral_contents: false,
    accepts_results_of_one_id: false,
    id_field_of_unknown_calls: None,
    decode_response: envelope::read_response,
    decode_history: envelope::read_history,
    encode_results: results::encode_results,
    encode_history: encode::write_history,
    declare: declare::declare,
    screenshots: SCREENSHOTS,
    stream_decoder: Some(SseDecoder::<stream::ResponsesBuilder>::boxed),
    chat_api: Some(&chat_api::ResponsesChat),
};

pub(crate) const SCREENSHOTS: ScreenshotRules = ScreenshotRules {
    size: screenshot_size,
    max_base64: MAX_IMAGE_URL_CHARS,
    // No document names the formats of a `computer_screenshot`; the service's own SDK sends PNG.
    accepts_webp: false,
    // Every `computer_call` requires a screenshot in its output.
    when: ScreenshotWhen::EveryCall,
};

/// Maximum number of characters in an image's `data:` URL, with room for the URL's prefix.
const MAX_IMAGE_URL_CHARS: usize = 20_971_520 - 64;

/// The largest size at which a screenshot is not downscaled: 10,000 patches of 32×32 pixels and
/// 6,000 pixels per side, the strictest limits among the models that accept original-detail images.
fn screenshot_size(_model: Option<&str>, size: Size) -> Size {
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
