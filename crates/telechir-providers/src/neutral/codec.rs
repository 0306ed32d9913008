//! The codec of `neutral`.

use serde_json::{Value, json};
use telechir_protocol::{AnsweredTurn, ModelTurn, Size, Tool, ToolResult};

use super::decode::DIALECT;
use super::envelope;
use crate::chat_api::ChatApi;
use crate::codec::Codec;
use crate::stream::StreamDecoder;
use crate::{
    Declaration, DecodeError, EncodeError, EncodedReply, History, Report, ScreenshotWhen, ToolOffer,
};

/// The codec of `neutral`.
pub(crate) struct Neutral;

impl Codec for Neutral {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn holds_neutral_contents(&self) -> bool {
        true
    }

    fn decode_response(&self, document: Value) -> Result<(ModelTurn, Report), DecodeError> {
        envelope::read_response(document)
    }

    fn decode_history(&self, document: Value) -> Result<(History, Report), DecodeError> {
        envelope::read_history(document)
    }

    /// The results as contents, one per call.
    fn encode_results(&self, turn: &AnsweredTurn) -> Result<EncodedReply, EncodeError> {
        let results = turn.results().iter().cloned();
        let contents = results.map(ToolResult::into_content);
        let items = contents.map(|content| envelope::content_json(&content));
        Ok(EncodedReply {
            items: items.collect(),
            report: Report::default(),
        })
    }

    fn encode_history(&self, history: &History) -> Result<(Value, Report), EncodeError> {
        Ok(envelope::write_history(history))
    }

    /// The tools as they were given; a declaration of another dialect stays a `raw` tool.
    fn declare(&self, offer: &ToolOffer) -> Result<(Declaration, Report), EncodeError> {
        let tools = offer.tools.iter().map(|tool| {
            if let Tool::Raw(raw) = tool
                && raw.dialect == DIALECT
            {
                return raw.json.clone();
            }
            json!(tool)
        });
        let declaration = Declaration {
            tools: tools.collect(),
            ..Declaration::default()
        };
        Ok((declaration, Report::default()))
    }

    /// No service shrinks or rejects a screenshot.
    fn screenshot_size(&self, _model: Option<&str>, size: Size) -> Size {
        size
    }

    /// As large as the largest limit of a service.
    fn max_image_base64(&self) -> usize {
        50 << 20
    }

    fn accepts_webp(&self) -> bool {
        false
    }

    fn screenshot_when(&self) -> ScreenshotWhen {
        ScreenshotWhen::EveryCall
    }

    fn stream_decoder(&self) -> Option<Box<dyn StreamDecoder>> {
        None
    }

    fn chat_api(&self) -> Option<&'static dyn ChatApi> {
        None
    }
}
