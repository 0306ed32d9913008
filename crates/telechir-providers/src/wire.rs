//! What every dialect does, one implementation each. A dialect's JSON is parsed before it comes
//! here and printed after it left.

use serde_json::Value;
use telechir_protocol::{AnsweredTurn, ModelTurn, Size, UsageContent};

use crate::stream::StreamDecoder;
use crate::{
    Declaration, DecodeError, EncodeError, EncodedReply, History, Report, Request, RequestOptions,
    ScreenshotWhen, StopReason, ToolOffer,
};

/// A dialect. [`Dialect`](crate::Dialect) says what each of these is for.
pub(crate) trait Codec: Sync {
    /// Its name on the command line and in raw representations.
    fn name(&self) -> &'static str;

    /// Whether its documents may have slots in the places of their pictures. Not when it looks
    /// into long texts itself.
    fn takes_slots(&self) -> bool {
        true
    }

    /// Under which name raw representations hold its JSON.
    fn raw_dialect(&self) -> &'static str {
        self.name()
    }

    /// Whether two calls of a history may have one id.
    fn takes_repeated_ids(&self) -> bool {
        false
    }

    /// Reads one response.
    fn decode_response(&self, document: Value) -> Result<(ModelTurn, Report), DecodeError>;

    /// Reads a history, in whichever envelope it comes.
    fn decode_history(&self, document: Value) -> Result<(History, Report), DecodeError>;

    /// Writes the answers to a turn.
    fn encode_results(&self, turn: &AnsweredTurn) -> Result<EncodedReply, EncodeError>;

    /// Writes a history.
    fn encode_history(&self, history: &History) -> Result<(Value, Report), EncodeError>;

    /// Declares tools.
    fn declare(&self, offer: &ToolOffer) -> Result<(Declaration, Report), EncodeError>;

    /// The size at which a picture is neither shrunk nor refused.
    fn screenshot_size(&self, model: Option<&str>, size: Size) -> Size;

    /// Characters of base64 that one picture may have.
    fn image_base64(&self) -> usize;

    /// When it wants a picture of the screen.
    fn screenshot_when(&self) -> ScreenshotWhen;

    /// Puts a response together that arrives in pieces; none when it never does.
    fn stream_decoder(&self) -> Option<Box<dyn StreamDecoder>>;

    /// How to converse with it; none for what is no service of its own.
    fn chat_api(&self) -> Option<&'static dyn ChatApi>;
}

/// A dialect's side of a conversation. The items are what the provider is sent every time.
pub(crate) trait ChatApi: Sync {
    /// The item with which a conversation begins.
    fn first_message(&self, words: &str) -> Value;

    /// The header that carries the key.
    fn key_header(&self, key: &str) -> (&'static str, String);

    /// The next request; old pictures leave the items here.
    fn request(&self, opening: &RequestOptions, items: &mut Vec<Value>) -> Request;

    /// What a response means that has nothing to read; none for any other.
    fn failure(&self, _response: &Value) -> Option<StopReason> {
        None
    }

    /// Adds a response to the items, and says why it ended and what it cost.
    fn push_response(
        &self,
        response: &Value,
        has_calls: bool,
        items: &mut Vec<Value>,
    ) -> (StopReason, UsageContent);

    /// Adds the answers to the items.
    fn push_results(&self, answers: Vec<Value>, items: &mut Vec<Value>);

    /// Where the service is: the host, and what stands before a request's path.
    fn endpoint(&self) -> Endpoint;
}

/// Where a service is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Such as `https://api.anthropic.com`; absent when everyone has another.
    pub host: Option<&'static str>,
    /// Such as `/v1`; people write it behind the host or leave it out.
    pub prefix: &'static str,
}
