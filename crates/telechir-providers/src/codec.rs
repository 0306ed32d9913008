//! The trait that every dialect implements. Implementations receive parsed JSON and return JSON
//! that the caller prints.

use serde_json::Value;
use telechir_protocol::{AnsweredTurn, ModelTurn, Size};

use crate::chat_api::ChatApi;
use crate::generated_images::ImagesOfModel;
use crate::stream::StreamDecoder;
use crate::{Declaration, DecodeError, EncodeError, History, Report, ToolOffer};

/// The operations of one dialect. [`Dialect`](crate::Dialect) documents each of them for callers.
pub(crate) trait Codec: Sync {
    /// The name on the command line and in raw representations.
    fn name(&self) -> &'static str;

    /// The name under which raw representations store its JSON.
    fn raw_dialect(&self) -> &'static str {
        self.name()
    }

    /// Whether a history may contain an object that another decoder did not know, from its dialect.
    ///
    /// Providers use the same type names for different things, so the name alone shows nothing.
    fn accepts_unknown_of(&self, dialect: &str) -> bool {
        dialect == self.raw_dialect() || self.holds_neutral_contents()
    }

    /// Which images the service accepts in the messages of its model.
    fn images_of_model(&self) -> ImagesOfModel {
        ImagesOfModel::Encoded
    }

    /// Whether the dialect writes neutral contents as they are: any object with its dialect, all
    /// members, and ids without restrictions.
    fn holds_neutral_contents(&self) -> bool {
        false
    }

    /// Whether the service accepts two results of one id in one turn.
    fn accepts_results_of_one_id(&self) -> bool {
        self.holds_neutral_contents()
    }

    /// Decodes a single response.
    fn decode_response(&self, document: Value) -> Result<(ModelTurn, Report), DecodeError>;

    /// Decodes a history in any of the dialect's envelopes.
    fn decode_history(&self, document: Value) -> Result<(History, Report), DecodeError>;

    /// Encodes the results of a turn's calls.
    fn encode_results(&self, turn: &AnsweredTurn) -> Result<EncodedReply, EncodeError>;

    /// Encodes a history in its envelope or as a list.
    fn encode_history(&self, history: &History) -> Result<(Value, Report), EncodeError>;

    /// Encodes tool declarations for a request.
    fn declare(&self, offer: &ToolOffer) -> Result<(Declaration, Report), EncodeError>;

    /// The largest size of a screenshot that the model neither shrinks nor rejects.
    fn screenshot_size(&self, model: Option<&str>, size: Size) -> Size;

    /// The maximum size of one image, in characters of base64.
    fn max_image_base64(&self) -> usize;

    /// Whether the service is known to accept WebP as the image of a result.
    fn accepts_webp(&self) -> bool;

    /// Whether a screenshot goes with every result or with the last of a batch.
    fn screenshot_when(&self) -> ScreenshotWhen;

    /// Starts to decode a streamed response; `None` if the dialect has no streams.
    fn stream_decoder(&self) -> Option<Box<dyn StreamDecoder>>;

    /// The dialect's API for conversations; `None` for a format without an endpoint.
    fn chat_api(&self) -> Option<&'static dyn ChatApi>;
}

/// Which results carry a screenshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenshotWhen {
    /// The result of every call.
    EveryCall,
    /// The last result of a batch of calls.
    LastOfBatch,
}

/// Encoded results of a turn, ready to send.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EncodedReply {
    /// Anthropic: the blocks of the next user message. OpenAI: the next input items. Neutral: the
    /// results.
    pub items: Vec<Value>,
    /// What could not be encoded exactly.
    pub report: Report,
}
