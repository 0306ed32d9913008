//! The codecs of `bedrock-messages` and `bedrock-invoke`.

use serde_json::Value;
use telechir_protocol::ModelTurn;

use super::chat_api::AnthropicBodyChat;
use super::{INVOKE, MESSAGES, declare, encode_results, stream, write_invoke, write_messages};
use crate::anthropic::{self, AnthropicMessageBuilder};
use crate::bedrock::event_stream_response::EventStreamResponse;
use crate::bedrock::{SCREENSHOTS, detect};
use crate::codec::Codec;
use crate::generated_images::ImagesOfModel;
use crate::stream::SseDecoder;
use crate::{DecodeError, Envelope, History, Report};

/// Codec of `bedrock-messages`: Anthropic's Messages API on Bedrock.
pub(crate) static MESSAGES_CODEC: Codec = Codec {
    name: MESSAGES,
    raw_dialect: anthropic::DIALECT,
    understands: &[anthropic::DIALECT],
    images_of_model: ImagesOfModel::Rejected,
    holds_neutral_contents: false,
    accepts_results_of_one_id: false,
    id_field_of_unknown_calls: Some("id"),
    decode_response: |document| decode_response(&document, MESSAGES),
    decode_history: |document| decode_history(document, MESSAGES),
    encode_results: |turn| encode_results(turn, MESSAGES),
    encode_history: write_messages,
    declare: declare::messages,
    screenshots: SCREENSHOTS,
    stream_decoder: Some(SseDecoder::<AnthropicMessageBuilder>::boxed),
    chat_api: Some(&AnthropicBodyChat::Messages),
};

/// Codec of `bedrock-invoke`: InvokeModel.
pub(crate) static INVOKE_CODEC: Codec = Codec {
    name: INVOKE,
    raw_dialect: anthropic::DIALECT,
    understands: &[anthropic::DIALECT],
    images_of_model: ImagesOfModel::Rejected,
    holds_neutral_contents: false,
    accepts_results_of_one_id: false,
    id_field_of_unknown_calls: Some("id"),
    decode_response: |document| decode_response(&document, INVOKE),
    decode_history: |document| {
        let (mut history, report) = decode_history(document, INVOKE)?;
        if let Envelope::Object { dialect, .. } = &mut history.envelope {
            *dialect = INVOKE;
        }
        Ok((history, report))
    },
    encode_results: |turn| encode_results(turn, INVOKE),
    encode_history: write_invoke,
    declare: declare::invoke,
    screenshots: SCREENSHOTS,
    stream_decoder: Some(EventStreamResponse::<stream::InvokeResponseBuilder>::boxed),
    chat_api: Some(&AnthropicBodyChat::Invoke),
};

fn decode_response(
    document: &Value,
    dialect: &'static str,
) -> Result<(ModelTurn, Report), DecodeError> {
    detect::reject_error_body(document)?;
    anthropic::decode_response(document).map_err(|error| detect::decode_error_as(error, dialect))
}

fn decode_history(
    document: Value,
    dialect: &'static str,
) -> Result<(History, Report), DecodeError> {
    detect::reject_error_body(&document)?;
    anthropic::decode_history(document).map_err(|error| detect::decode_error_as(error, dialect))
}
