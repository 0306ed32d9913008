//! The codec of `neutral`.

use serde_json::json;
use telechir_protocol::{AnsweredTurn, Tool, ToolResult};

use super::decode::DIALECT;
use super::envelope;
use crate::codec::{Codec, ScreenshotRules};
use crate::generated_images::ImagesOfModel;
use crate::{Declaration, EncodedReply, Report, ScreenshotWhen, ToolOffer};

/// The codec of `neutral`.
pub(crate) static CODEC: Codec = Codec {
    name: DIALECT,
    raw_dialect: DIALECT,
    understands: &[],
    images_of_model: ImagesOfModel::Encoded,
    holds_neutral_contents: true,
    accepts_results_of_one_id: true,
    id_field_of_unknown_calls: Some("call_id"),
    decode_response: envelope::read_response,
    decode_history: envelope::read_history,
    encode_results: |turn| Ok(encode_results(turn)),
    encode_history: |history| Ok(envelope::write_history(history)),
    declare: |offer, _| Ok((declare(offer), Report::default())),
    screenshots: ScreenshotRules {
        // No service shrinks or rejects a screenshot.
        size: |_model, size| size,
        // As large as the largest limit of a service.
        max_base64: 50 << 20,
        accepts_webp: false,
        when: ScreenshotWhen::EveryCall,
    },
    stream_decoder: None,
    chat_api: None,
};

/// The results as contents, one per call.
fn encode_results(turn: &AnsweredTurn) -> EncodedReply {
    let results = turn.results().iter().cloned();
    let contents = results.map(ToolResult::into_content);
    let items = contents.map(|content| envelope::content_json(&content));
    EncodedReply {
        items: items.collect(),
        report: Report::default(),
    }
}

/// The tools as they were given; a declaration of another dialect stays a `raw` tool.
fn declare(offer: &ToolOffer) -> Declaration {
    let tools = offer.tools.iter().map(|tool| {
        if let Tool::Raw(raw) = tool
            && raw.dialect == DIALECT
        {
            return raw.json.clone();
        }
        json!(tool)
    });
    Declaration {
        tools: tools.collect(),
        ..Declaration::default()
    }
}
