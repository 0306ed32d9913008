//! The codec of `agent-framework`.

use serde_json::Map;
use telechir_protocol::{ApprovalMode, FunctionTool, Tool};

use super::{DIALECT, encode, envelope};
use crate::codec::Codec;
use crate::declaration::RefuseTool;
use crate::generated_images::ImagesOfModel;
use crate::{Declaration, EncodeError, Report, ToolOffer, fallback_tools, openai};

/// The codec of `agent-framework`.
pub(crate) static CODEC: Codec = Codec {
    name: DIALECT,
    raw_dialect: DIALECT,
    understands: &[],
    images_of_model: ImagesOfModel::Encoded,
    // The neutral form is beside the framework's fields.
    holds_neutral_contents: true,
    accepts_results_of_one_id: true,
    id_field_of_unknown_calls: Some("call_id"),
    decode_response: envelope::read_response,
    decode_history: envelope::read_history,
    encode_results: |turn| Ok(encode::answers(turn)),
    encode_history: |history| Ok(envelope::write_history(history)),
    declare,
    screenshots: openai::SCREENSHOTS,
    // Its updates are objects inside a process, not bytes.
    stream_decoder: None,
    chat_api: None,
};

/// Its clients accept tools as the JSON of a service; its computer and shell contents are those of
/// OpenAI's Responses. It has no edit contents, so editors are functions.
fn declare(
    offer: &ToolOffer,
    refuse: RefuseTool<'_>,
) -> Result<(Declaration, Report), EncodeError> {
    let offer = ToolOffer {
        tools: offer.tools.iter().map(editor_as_function).collect(),
        model: offer.model.clone(),
    };
    (openai::CODEC.declare)(&offer, refuse)
}

fn editor_as_function(tool: &Tool) -> Tool {
    let is_hosted = matches!(tool, Tool::Hosted(_));
    match fallback_tools::declare_function(tool).filter(|_| is_hosted) {
        Some(function) => Tool::Function(FunctionTool {
            name: function.name,
            description: function.description,
            parameters: function.parameters,
            approval_mode: ApprovalMode::default(),
            additional_properties: Map::new(),
        }),
        None => tool.clone(),
    }
}
