//! The codec of `bedrock-converse`.

use super::{DIALECT, chat_api, declare, decode, encode, stream};
use crate::anthropic;
use crate::bedrock::SCREENSHOTS;
use crate::bedrock::event_stream_response::EventStreamResponse;
use crate::codec::Codec;
use crate::generated_images::ImagesOfModel;

/// Codec of `bedrock-converse`.
pub(crate) static CODEC: Codec = Codec {
    name: DIALECT,
    raw_dialect: DIALECT,
    // Blocks of Anthropic's Messages are converted, or reported by name.
    understands: &[DIALECT, anthropic::DIALECT],
    images_of_model: ImagesOfModel::Rejected,
    holds_neutral_contents: false,
    accepts_results_of_one_id: false,
    id_field_of_unknown_calls: Some("toolUseId"),
    decode_response: |document| decode::decode_response(&document),
    decode_history: decode::decode_history,
    encode_results: encode::encode_results,
    encode_history: encode::encode_history,
    declare: declare::declare,
    screenshots: SCREENSHOTS,
    stream_decoder: Some(EventStreamResponse::<stream::ConverseResponseBuilder>::boxed),
    chat_api: Some(&chat_api::ConverseChat),
};
