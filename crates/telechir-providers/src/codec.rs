//! What a dialect consists of: its operations, which receive parsed JSON and return JSON that the
//! caller prints, and what its service accepts.

use serde_json::Value;
use telechir_protocol::{AnsweredTurn, ModelTurn, Size};

use crate::chat_api::ChatApi;
use crate::declaration::DeclareTools;
use crate::generated_images::ImagesOfModel;
use crate::stream::StreamDecoder;
use crate::{DecodeError, EncodeError, History, Report};

/// One dialect. [`Dialect`](crate::Dialect) documents the operations for callers.
pub(crate) struct Codec {
    /// The name on the command line.
    pub(crate) name: &'static str,
    /// The name under which raw representations store its JSON.
    pub(crate) raw_dialect: &'static str,
    /// The dialects whose objects a history may contain although no decoder knows them.
    ///
    /// Providers use the same type names for different things, so the name alone shows nothing.
    pub(crate) understands: &'static [&'static str],
    /// Which images the service accepts in the messages of its model.
    pub(crate) images_of_model: ImagesOfModel,
    /// Whether the dialect writes neutral contents as they are: any object with its dialect, all
    /// members, and ids without restrictions.
    pub(crate) holds_neutral_contents: bool,
    /// Whether the service accepts two results of one id in one turn.
    pub(crate) accepts_results_of_one_id: bool,
    /// The field with the id of a call, if the decoder leaves calls of types that it does not know
    /// as unknown contents; `None` if it makes them function calls itself.
    pub(crate) id_field_of_unknown_calls: Option<&'static str>,
    /// Decodes a single response.
    pub(crate) decode_response: fn(Value) -> Result<(ModelTurn, Report), DecodeError>,
    /// Decodes a history in any of the dialect's envelopes.
    pub(crate) decode_history: fn(Value) -> Result<(History, Report), DecodeError>,
    /// Encodes the results of a turn's calls.
    pub(crate) encode_results: fn(&AnsweredTurn) -> Result<EncodedReply, EncodeError>,
    /// Encodes a history in its envelope or as a list.
    pub(crate) encode_history: fn(&History) -> Result<(Value, Report), EncodeError>,
    pub(crate) declare: DeclareTools,
    /// The form of screenshots in results.
    pub(crate) screenshots: ScreenshotRules,
    /// Starts to decode a streamed response; `None` if the dialect has no streams.
    pub(crate) stream_decoder: Option<fn() -> Box<dyn StreamDecoder>>,
    /// The dialect's API for conversations; `None` for a format without an endpoint.
    pub(crate) chat_api: Option<&'static dyn ChatApi>,
}

impl Codec {
    /// Whether a history may contain an object that another decoder did not know, from its dialect.
    pub(crate) fn accepts_unknown_of(&self, dialect: &str) -> bool {
        self.holds_neutral_contents || self.understands.contains(&dialect)
    }
}

/// The screenshots that a service accepts in results.
#[derive(Clone, Copy)]
pub(crate) struct ScreenshotRules {
    /// The largest size of a screenshot that the model neither shrinks nor rejects.
    pub(crate) size: fn(Option<&str>, Size) -> Size,
    /// The maximum size of one image, in characters of base64.
    pub(crate) max_base64: usize,
    /// Whether the service is known to accept WebP as the image of a result.
    pub(crate) accepts_webp: bool,
    /// Whether a screenshot goes with every result or with the last of a batch.
    pub(crate) when: ScreenshotWhen,
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
