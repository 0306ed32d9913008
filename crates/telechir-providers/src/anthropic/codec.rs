//! The codec of `anthropic-messages`.

use super::{
    AnthropicChat, AnthropicMessageBuilder, DIALECT, NEWEST, declare, decode_history,
    decode_response, encode_history, encode_results, image, screenshot_size,
};
use crate::ScreenshotWhen;
use crate::codec::{Codec, ScreenshotRules};
use crate::generated_images::ImagesOfModel;
use crate::stream::SseDecoder;

/// Codec of `anthropic-messages`.
pub(crate) static CODEC: Codec = Codec {
    name: DIALECT,
    raw_dialect: DIALECT,
    understands: &[DIALECT],
    images_of_model: ImagesOfModel::Rejected,
    holds_neutral_contents: false,
    accepts_results_of_one_id: false,
    id_field_of_unknown_calls: Some("id"),
    decode_response: |document| decode_response(&document),
    decode_history,
    encode_results,
    encode_history: |history| encode_history(history, NEWEST),
    declare: |offer, refuse| declare(offer, NEWEST, refuse),
    screenshots: ScreenshotRules {
        size: screenshot_size,
        max_base64: image::MAX_BASE64_BYTES,
        // An image block's media type is PNG, JPEG, GIF or WebP, also in a `tool_result`.
        accepts_webp: true,
        when: ScreenshotWhen::LastOfBatch,
    },
    stream_decoder: Some(SseDecoder::<AnthropicMessageBuilder>::boxed),
    chat_api: Some(&AnthropicChat),
};
