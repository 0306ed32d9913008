//! The codecs of the dialects of chat completions.

use super::{Flavour, chat_api, declare, encode, envelope, results, stream};
use crate::codec::Codec;
use crate::generated_images::ImagesOfModel;
use crate::stream::SseDecoder;

/// The codec of `functions`.
pub(crate) static FUNCTIONS: Codec = codec::<Functions>();
/// The codec of `functions-inline`.
pub(crate) static INLINE: Codec = codec::<Inline>();
/// The codec of `mistral-chat`.
pub(crate) static MISTRAL: Codec = codec::<Mistral>();

/// A flavour as a type, because the functions of a codec hold no values.
trait FlavourType {
    const FLAVOUR: Flavour;
}

struct Functions;
struct Inline;
struct Mistral;

impl FlavourType for Functions {
    const FLAVOUR: Flavour = Flavour::Functions;
}

impl FlavourType for Inline {
    const FLAVOUR: Flavour = Flavour::Inline;
}

impl FlavourType for Mistral {
    const FLAVOUR: Flavour = Flavour::Mistral;
}

const fn codec<F: FlavourType>() -> Codec {
    Codec {
        name: F::FLAVOUR.dialect(),
        raw_dialect: F::FLAVOUR.dialect(),
        understands: F::FLAVOUR.understands(),
        images_of_model: ImagesOfModel::Encoded,
        holds_neutral_contents: false,
        accepts_results_of_one_id: true,
        id_field_of_unknown_calls: None,
        decode_response: |document| envelope::read_response(F::FLAVOUR, document),
        decode_history: |document| envelope::read_history(F::FLAVOUR, document),
        encode_results: |turn| Ok(results::encode_results(F::FLAVOUR, turn)),
        encode_history: |history| Ok(encode::write_history(F::FLAVOUR, history)),
        declare: |offer, refuse| declare::declare(F::FLAVOUR, offer, refuse),
        screenshots: F::FLAVOUR.screenshots(),
        stream_decoder: Some(SseDecoder::<stream::CompletionBuilder>::boxed),
        chat_api: Some(&const { chat_api::CompletionsChat(F::FLAVOUR) }),
    }
}
