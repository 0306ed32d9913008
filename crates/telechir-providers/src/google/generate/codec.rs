//! The codec of `google-generate-content`.

use super::encode_part::Parts;
use super::{DIALECT, chat_api, encode, envelope, stream};
use crate::codec::Codec;
use crate::generated_images::ImagesOfModel;
use crate::google::declare::{DeclarationStyle, declare};
use crate::google::{call_encoder, media};

/// The codec of `google-generate-content`.
pub(crate) static CODEC: Codec = Codec {
    name: DIALECT,
    raw_dialect: DIALECT,
    understands: &[DIALECT],
    images_of_model: ImagesOfModel::PlainOnly,
    holds_neutral_contents: false,
    accepts_results_of_one_id: true,
    id_field_of_unknown_calls: None,
    decode_response: envelope::read_response,
    decode_history: envelope::read_history,
    encode_results: |turn| Ok(call_encoder::encode_results::<Parts>(turn)),
    encode_history: |history| Ok(encode::write_history(history)),
    declare: |offer, refuse| declare(offer, DeclarationStyle::Parts, refuse),
    screenshots: media::SCREENSHOTS,
    stream_decoder: Some(|| Box::new(stream::ChunkDecoder::default())),
    chat_api: Some(&chat_api::GenerateChat),
};
