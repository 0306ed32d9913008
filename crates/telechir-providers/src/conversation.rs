//! A conversation in the form that a provider's API expects: its items so far and the next request.
//!
//! Pure: builds bodies and headers and decodes responses; knows neither the network nor API keys.

use std::fmt;
use std::time::Duration;

use serde_json::Value;
use telechir_protocol::{AnsweredTurn, Content, ModelTurn, UsageContent, json_limits};

use crate::codec::ChatApi;
use crate::{Declaration, DecodeError, Dialect, EncodeError, Report};

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

/// A decoded response of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The calls and other contents.
    pub turn: ModelTurn,
    /// What could not be decoded exactly.
    pub report: Report,
    /// Why the response ended, which decides what to do next.
    pub stop: StopReason,
    /// The tokens used, as far as the provider reports them.
    pub usage: UsageContent,
}

impl Response {
    /// All non-empty texts of the response, joined by line feeds.
    pub fn text(&self) -> String {
        let texts = self.turn.contents().iter().filter_map(|content| {
            let Content::Text(text) = content else {
                return None;
            };
            Some(text.text.as_str())
        });
        texts
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join("\n")
    }
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

/// The error that a provider sent as a response body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderError {
    /// The provider's error type, such as `invalid_request_error` or `rate_limit_exceeded`.
    pub kind: String,
    /// The provider's error message.
    pub message: String,
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.kind.is_empty() {
            write!(f, "{}: ", self.kind)?;
        }
        f.write_str(&self.message)
    }
}

impl ProviderError {
    pub(crate) fn as_decode_error(&self) -> DecodeError {
        DecodeError::ProviderError {
            message: self.to_string(),
        }
    }

    /// Reads an error body; `None` if the body is something else, for example a proxy's HTML page.
    pub fn from_body(bytes: &[u8]) -> Option<Self> {
        let body = json_limits::parse(bytes).ok()?;
        Self::from_value(&body).or_else(|| Self::from_aws(&body))
    }

    /// Reads an error body of AWS: a message, usually without the error's type, which is in a
    /// header.
    pub(crate) fn from_aws(body: &Value) -> Option<Self> {
        let text = |name: &str| body.get(name).and_then(Value::as_str);
        let message = text("message").or_else(|| text("Message"))?.to_owned();
        let kind = text("__type").or_else(|| text("code"));
        let kind = kind.map_or("", Self::aws_kind).to_owned();
        Some(Self { kind, message })
    }

    /// The name of an error type that AWS writes after the name of its service and before a URL.
    pub fn aws_kind(text: &str) -> &str {
        let name = text.rsplit('#').next().unwrap_or(text);
        name.split(':').next().unwrap_or(name)
    }

    /// Reads an error from the forms that providers use: an object or a text under `error`, an
    /// object with `"object": "error"`, or the `detail` of a validation error.
    pub(crate) fn from_value(body: &Value) -> Option<Self> {
        let top = body.get("object").and_then(Value::as_str) == Some("error");
        let error = body.get("error").filter(|error| !error.is_null());
        let Some(error) = error.or_else(|| top.then_some(body)) else {
            return Self::from_detail(body);
        };
        let message = match error.get("message") {
            Some(Value::String(sentence)) => sentence.clone(),
            Some(other) => other.to_string(),
            None => error.as_str()?.to_owned(),
        };
        // xAI writes the message as a text, and its kind beside it.
        let from = if error.is_string() { body } else { error };
        let kinds = ["code", "type", "status"].map(|name| match from.get(name) {
            Some(Value::String(kind)) => Some(kind.clone()),
            Some(Value::Number(code)) => Some(code.to_string()),
            _ => None,
        });
        let kind = kinds.into_iter().flatten().next().unwrap_or_default();
        Some(Self { kind, message })
    }

    fn from_detail(body: &Value) -> Option<Self> {
        let only = |name: &String| matches!(name.as_str(), "detail" | "status" | "request_id");
        let body = body.as_object().filter(|body| body.keys().all(only))?;
        let detail = body.get("detail")?;
        let sentence = detail.as_str().map(str::to_owned);
        let message = sentence.unwrap_or_else(|| detail.to_string());
        let kind = "invalid_request_error".to_owned();
        Some(Self { kind, message })
    }

    /// How long to wait before sending the same request again, from an error body. Most providers
    /// use a header instead.
    pub fn retry_delay(bytes: &[u8]) -> Option<Duration> {
        let body: Value = json_limits::parse(bytes).ok()?;
        let details = body.get("error")?.get("details")?.as_array()?;
        let delay = details
            .iter()
            .find_map(|detail| detail.get("retryDelay")?.as_str())?;
        let seconds = delay.strip_suffix('s')?.parse().ok()?;
        Duration::try_from_secs_f64(seconds).ok()
    }

    /// Whether the conversation exceeds the model's context window.
    pub fn is_context_exceeded(&self) -> bool {
        let too_long = [
            "maximum context length",
            "too large for model",
            "exceeds the maximum number of tokens",
            // Bedrock's own message, and the message of the model's vendor that it passes on.
            "Input is too long for requested model",
            "prompt is too long",
        ];
        self.kind == "context_length_exceeded"
            || too_long.iter().any(|text| self.message.contains(text))
    }
}

/// The dialect has no API to converse with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("start a conversation with {dialect}: it is a format without an API endpoint")]
pub struct NotAService {
    /// The dialect that was requested.
    pub dialect: Dialect,
}

/// A conversation as the items that the provider expects.
#[derive(Clone)]
pub struct Conversation {
    dialect: Dialect,
    chat_api: &'static dyn ChatApi,
    options: RequestOptions,
    items: Vec<Value>,
}

impl Conversation {
    /// Starts a conversation that contains the task only.
    ///
    /// # Errors
    /// If the dialect is a format without an API endpoint.
    pub fn new(dialect: Dialect, options: RequestOptions) -> Result<Self, NotAService> {
        let chat_api = dialect.codec().chat_api().ok_or(NotAService { dialect })?;
        let task = chat_api.first_message(&options.task);
        Ok(Self {
            dialect,
            chat_api,
            options,
            items: vec![task],
        })
    }

    /// The name and value of the header that carries the API key.
    pub fn key_header(&self, key: &str) -> (&'static str, String) {
        self.chat_api.key_header(key)
    }

    /// Builds the next request. Removes old images from the conversation.
    pub fn request(&mut self) -> Request {
        self.chat_api.request(&self.options, &mut self.items)
    }

    /// Decodes the response to the last request and adds it to the conversation.
    ///
    /// # Errors
    /// If the body is not JSON, not of this dialect, or repeats a call id.
    pub fn push_response(&mut self, bytes: &[u8]) -> Result<Response, DecodeError> {
        let body: Value = json_limits::parse(bytes)?;
        if let Some(stop) = self.chat_api.failure(&body) {
            return Ok(Response {
                turn: ModelTurn::new(Vec::new())?,
                report: Report::default(),
                stop,
                usage: UsageContent::default(),
            });
        }
        let (turn, report) = self.dialect.codec().decode_response(body.clone())?;
        let has_calls = !turn.calls().is_empty();
        let (stop, usage) = self
            .chat_api
            .push_response(&body, has_calls, &mut self.items);
        Ok(Response {
            turn,
            report,
            stop,
            usage,
        })
    }

    /// Encodes the results of the last response's calls and adds them to the conversation.
    ///
    /// # Errors
    /// If the results lack something that the dialect requires.
    pub fn push_results(&mut self, answered: &AnsweredTurn) -> Result<Report, EncodeError> {
        let reply = self.dialect.encode_results(answered)?;
        self.chat_api.push_results(reply.items, &mut self.items);
        Ok(reply.report)
    }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation")
            .field("dialect", &self.dialect)
            .field("options", &self.options)
            .field("items", &self.items)
            .finish_non_exhaustive()
    }
}

pub(crate) fn usage(body: &Value, total: Option<u64>) -> UsageContent {
    let count = |name: &str| {
        body.get("usage")
            .and_then(|usage| usage.get(name))
            .and_then(Value::as_u64)
    };
    let (input, output) = (count("input_tokens"), count("output_tokens"));
    let sum = input
        .zip(output)
        .map(|(input, output)| input.saturating_add(output));
    UsageContent {
        input_token_count: input,
        output_token_count: output,
        total_token_count: total.or(sum),
        ..UsageContent::default()
    }
}

pub(crate) fn text_of<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
