//! What a dialect's API needs for a conversation: the items of the next request and the end of a
//! response.

use serde_json::Value;

use crate::Declaration;

/// A provider's API for conversations. The items are sent again with every request.
pub(crate) trait ChatApi: Sync {
    /// The first item of a conversation: the task.
    fn first_message(&self, task: &str) -> Value;

    /// Adds a message of the user to the items. It becomes part of a user message at the end, because
    /// some APIs reject two in a row.
    fn push_message(&self, text: &str, items: &mut Vec<Value>) {
        let mut message = self.first_message(text);
        let last = items.last_mut().filter(|last| last["role"] == "user");
        let lists = last.and_then(|last| {
            let name = ["content", "parts"]
                .into_iter()
                .find(|name| last[*name].is_array() && message[*name].is_array())?;
            Some((last[name].as_array_mut()?, message[name].as_array_mut()?))
        });
        match lists {
            Some((last, added)) => last.append(added),
            None => items.push(message),
        }
    }

    /// Whether an item like the model's own was inserted by the encoder.
    fn is_inserted(&self, _item: &Value) -> bool {
        false
    }

    /// The name and value of the header that carries the API key.
    fn key_header(&self, key: &str) -> (&'static str, String) {
        ("authorization", format!("Bearer {key}"))
    }

    /// Builds the next request. Removes old screenshots from the items.
    fn request(&self, options: &RequestOptions, items: &mut Vec<Value>) -> Request;

    /// Makes a request ask for its response as a stream.
    fn stream(&self, request: &mut Request) {
        request.body["stream"] = true.into();
    }

    /// Why a response without content ended; `None` if there is content to decode.
    fn failure(&self, _response: &Value) -> Option<StopReason> {
        None
    }

    /// Adds a response to the items; returns why it ended.
    fn push_response(
        &self,
        response: &Value,
        has_calls: bool,
        items: &mut Vec<Value>,
    ) -> StopReason;

    /// Adds encoded results to the items.
    fn push_results(&self, results: Vec<Value>, items: &mut Vec<Value>) {
        items.extend(results);
    }

    /// The API's default host and path prefix.
    fn endpoint(&self) -> Endpoint;
}

/// The base URL of a provider's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// For example `https://api.anthropic.com`; absent when it differs for each account.
    pub host: Option<&'static str>,
    /// For example `/v1`. Users may write it after the host or leave it out.
    pub prefix: &'static str,
}

/// What a conversation starts with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestOptions {
    /// The model's name, as the provider writes it.
    pub model: String,
    /// System instructions, which stand before the task.
    pub system: Option<String>,
    /// The task, as the first user message.
    pub task: String,
    /// The declared tools with their headers and body fields.
    pub declaration: Declaration,
    /// Maximum tokens of one response. Anthropic requires a value; without one it receives 16000.
    pub max_tokens: Option<u32>,
    /// How many screenshots stay in the conversation.
    pub images: ImageLimit,
    /// The oldest turns are removed with their results while the conversation has more tokens than
    /// this, by an estimate; the task and the last turn stay. None: no limit.
    pub max_history_tokens: Option<u64>,
}

/// When old images are removed from a conversation. They are removed in batches, so that the
/// provider's prompt cache of the items before them stays valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageLimit {
    /// Number of images that remain after a removal.
    pub keep: usize,
    /// Images are removed only above this number.
    pub prune_above: usize,
}

impl ImageLimit {
    /// The limit, lowered to what the service accepts.
    pub(crate) fn at_most(self, keep: usize, prune_above: usize) -> Self {
        Self {
            keep: self.keep.min(keep),
            prune_above: self.prune_above.min(prune_above),
        }
    }
}

impl Default for ImageLimit {
    fn default() -> Self {
        Self {
            keep: 10,
            prune_above: 40,
        }
    }
}

/// One HTTP request without the API key.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The path after the base URL.
    pub path: String,
    /// Headers except for the key's and `content-type`.
    pub headers: Vec<(String, String)>,
    /// The JSON body, which has no key either.
    pub body: Value,
    /// The number of images in the body.
    pub images: usize,
}

/// Why a response ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// There are calls to execute.
    Calls,
    /// The model paused; send the conversation again without new items.
    Continue,
    /// The model has finished its task.
    Done,
    /// The model or a filter of the provider refused to answer.
    Refused {
        /// The provider's reason; empty if it gives none.
        reason: String,
    },
    /// The token limit was reached; calls in the response may be truncated.
    MaxTokens,
    /// The conversation exceeds the model's context window.
    ContextExceeded,
    /// The provider reported an error in its response.
    Failed {
        /// The provider's error code.
        code: String,
        /// The provider's error message.
        message: String,
    },
    /// The response ended for a reason that is not listed here.
    Incomplete {
        /// The provider's name of the reason.
        reason: String,
    },
}
