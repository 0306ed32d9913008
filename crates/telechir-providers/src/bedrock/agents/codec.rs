//! The codec of `bedrock-agents`.

use super::{DIALECT, declare, decode, encode, stream};
use crate::ScreenshotWhen;
use crate::anthropic;
use crate::bedrock::SCREENSHOTS;
use crate::bedrock::event_stream_response::EventStreamResponse;
use crate::codec::{Codec, ScreenshotRules};
use crate::generated_images::ImagesOfModel;

/// Codec of `bedrock-agents`.
pub(crate) static CODEC: Codec = Codec {
    name: DIALECT,
    raw_dialect: DIALECT,
    understands: &[DIALECT],
    images_of_model: ImagesOfModel::Encoded,
    holds_neutral_contents: false,
    accepts_results_of_one_id: false,
    id_field_of_unknown_calls: None,
    decode_response: |document| decode::decode_response(&document),
    decode_history: |document| decode::decode_history(&document),
    encode_results: encode::encode_results,
    encode_history: encode::encode_history,
    declare: declare::declare,
    // `ImageInput.format` is png, jpeg, gif or webp.
    screenshots: ScreenshotRules {
        // Agents use models with the smaller image size.
        size: |model, size| anthropic::screenshot_size(model.or(Some("claude-3-7-sonnet")), size),
        when: ScreenshotWhen::EveryCall,
        ..SCREENSHOTS
    },
    stream_decoder: Some(EventStreamResponse::<stream::AgentsResponseBuilder>::boxed),
    // Agents require signed AWS requests.
    chat_api: None,
};
