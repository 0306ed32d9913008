//! The codec of `agent-framework`.

use serde_json::{Map, Value};
use telechir_protocol::{AnsweredTurn, ApprovalMode, FunctionTool, ModelTurn, Size, Tool};

use super::{DIALECT, encode, envelope};
use crate::chat_api::ChatApi;
use crate::codec::Codec;
use crate::fallback_tools;
use crate::openai::Responses;
use crate::stream::StreamDecoder;
use crate::{
    Declaration, DecodeError, EncodeError, EncodedReply, History, Report, ScreenshotWhen, ToolOffer,
};

/// The codec of `agent-framework`.
pub(crate) struct AgentFramework;

impl Codec for AgentFramework {
    fn name(&self) -> &'static str {
        DIALECT
    }

    /// The neutral form is beside the framework's fields.
    fn holds_neutral_contents(&self) -> bool {
        true
    }

    fn decode_response(&self, document: Value) -> Result<(ModelTurn, Report), DecodeError> {
        envelope::read_response(document)
    }

    fn decode_history(&self, document: Value) -> Result<(History, Report), DecodeError> {
        envelope::read_history(document)
    }

    fn encode_results(&self, turn: &AnsweredTurn) -> Result<EncodedReply, EncodeError> {
        Ok(encode::answers(turn))
    }

    fn encode_history(&self, history: &History) -> Result<(Value, Report), EncodeError> {
        Ok(envelope::write_history(history))
    }

    /// Its clients accept tools as the JSON of a service; its computer and shell contents are those
    /// of OpenAI's Responses. It has no edit contents, so editors are functions.
    fn declare(&self, offer: &ToolOffer) -> Result<(Declaration, Report), EncodeError> {
        let offer = ToolOffer {
            tools: offer.tools.iter().map(editor_as_function).collect(),
            model: offer.model.clone(),
        };
        Responses.declare(&offer)
    }

    fn screenshot_size(&self, model: Option<&str>, size: Size) -> Size {
        Responses.screenshot_size(model, size)
    }

    fn max_image_base64(&self) -> usize {
        Responses.max_image_base64()
    }

    fn accepts_webp(&self) -> bool {
        Responses.accepts_webp()
    }

    fn screenshot_when(&self) -> ScreenshotWhen {
        Responses.screenshot_when()
    }

    /// Its updates are objects inside a process, not bytes.
    fn stream_decoder(&self) -> Option<Box<dyn StreamDecoder>> {
        None
    }

    /// A framework has no API endpoint.
    fn chat_api(&self) -> Option<&'static dyn ChatApi> {
        None
    }
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
