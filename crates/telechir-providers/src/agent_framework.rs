//! Agent Framework: the JSON of its messages and contents.
//!
//! `envelope` finds the messages, `read` takes one content to a neutral one, `native` says a
//! neutral content in the framework's members, `ours` is about our own functions among those,
//! `carry` keeps beside them whatever they have no place for, so that every neutral content comes
//! back as it was.

mod carry;
mod envelope;
mod native;
mod ours;
mod read;
mod write;

use serde_json::{Map, Value};
use telechir_protocol::{AnsweredTurn, ApprovalMode, FunctionTool, ModelTurn, Size, Tool};

use crate::function_tools;
use crate::openai::Responses;
use crate::stream::StreamDecoder;
use crate::wire::{ChatApi, Codec};
use crate::{
    Declaration, DecodeError, EncodeError, EncodedReply, History, Report, ScreenshotWhen, ToolOffer,
};

/// The dialect's name.
const DIALECT: &str = "agent-framework";

/// Under this name contents keep what only the framework says.
const PROVIDER: &str = "agent_framework";

/// Under this additional property of the framework's contents stands what it has no members for.
const CARRIED: &str = "telechir";

/// The dialect.
pub(crate) struct AgentFramework;

impl Codec for AgentFramework {
    fn name(&self) -> &'static str {
        DIALECT
    }

    /// What is carried beside a content points into its long texts.
    fn takes_slots(&self) -> bool {
        false
    }

    /// A call and its result are contents like any other.
    fn takes_repeated_ids(&self) -> bool {
        true
    }

    fn decode_response(&self, document: Value) -> Result<(ModelTurn, Report), DecodeError> {
        envelope::read_response(document)
    }

    fn decode_history(&self, document: Value) -> Result<(History, Report), DecodeError> {
        envelope::read_history(document)
    }

    fn encode_results(&self, turn: &AnsweredTurn) -> Result<EncodedReply, EncodeError> {
        Ok(write::answers(turn))
    }

    fn encode_history(&self, history: &History) -> Result<(Value, Report), EncodeError> {
        Ok(envelope::write_history(history))
    }

    /// Its clients take tools as a service's own JSON; its computer and shell contents are those
    /// of OpenAI's Responses. It has no contents for edits: editors are functions.
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

    fn image_base64(&self) -> usize {
        Responses.image_base64()
    }

    fn screenshot_when(&self) -> ScreenshotWhen {
        Responses.screenshot_when()
    }

    /// Its updates are objects within a program, no bytes.
    fn stream_decoder(&self) -> Option<Box<dyn StreamDecoder>> {
        None
    }

    /// A framework, no service.
    fn chat_api(&self) -> Option<&'static dyn ChatApi> {
        None
    }
}

fn editor_as_function(tool: &Tool) -> Tool {
    let is_hosted = matches!(tool, Tool::Hosted(_));
    match function_tools::function(tool).filter(|_| is_hosted) {
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
