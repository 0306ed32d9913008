//! The codec of `mistral-conversations`.

use super::{DIALECT, FLAVOUR, HOSTED, PROVIDER, chat_api, encode, envelope, results, stream};
use crate::chat::declare::declare_as;
use crate::codec::Codec;
use crate::generated_images::ImagesOfModel;
use crate::stream::SseDecoder;

/// The codec of `mistral-conversations`.
pub(crate) static CODEC: Codec = Codec {
    name: DIALECT,
    raw_dialect: DIALECT,
    understands: FLAVOUR.understands(),
    images_of_model: ImagesOfModel::Encoded,
    holds_neutral_contents: false,
    accepts_results_of_one_id: true,
    id_field_of_unknown_calls: None,
    decode_response: envelope::read_response,
    decode_history: envelope::read_history,
    encode_results: |turn| Ok(results::encode_results(turn)),
    encode_history: |history| Ok(encode::write_history(history)),
    declare: |offer, refuse| declare_as((DIALECT, PROVIDER), &HOSTED, offer, refuse),
    screenshots: FLAVOUR.screenshots(),
    stream_decoder: Some(SseDecoder::<stream::ConversationBuilder>::boxed),
    chat_api: Some(&chat_api::ConversationsChat),
};
