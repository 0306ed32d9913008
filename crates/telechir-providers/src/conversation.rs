//! A conversation as a provider wants it sent: what was said so far, and the next request.
//!
//! Pure: it makes bodies and headers and reads answers, and knows no network and no key.

use std::fmt;
use std::time::Duration;

use serde_json::Value;
use telechir_protocol::{AnsweredTurn, Content, ModelTurn, UsageContent, bounded};

use crate::wire::ChatApi;
use crate::{Declaration, DecodeError, Dialect, EncodeError, Report};

/// What a conversation begins with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestOptions {
    /// The model's name.
    pub model: String,
    /// Instructions above the task.
    pub system: Option<String>,
    /// What is to be done.
    pub task: String,
    /// The tools and the headers that go with them.
    pub declaration: Declaration,
    /// Tokens one answer may have. Anthropic demands a number, and gets 16000 without one.
    pub max_tokens: Option<u32>,
    /// How many pictures stay in it.
    pub images: ImageLimit,
}

/// When old pictures leave a conversation. They leave in batches, so that the part before them
/// stays the same and a provider's cache of it is of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageLimit {
    /// How many remain.
    pub keep: usize,
    /// How many there must be before any leaves.
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

/// One request, but for the key.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Where, behind the base address.
    pub path: String,
    /// Headers beside the key's and `content-type`.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Value,
    /// How many pictures are in it.
    pub images: usize,
}

/// What a model answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The turn.
    pub turn: ModelTurn,
    /// What could not be read as it was said.
    pub report: Report,
    /// What to do next.
    pub stop: StopReason,
    /// Its cost.
    pub usage: UsageContent,
}

impl Response {
    /// What was said in words.
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

/// Why a model stopped talking, and with that what comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// There are calls to answer.
    Calls,
    /// It has not finished and is to be asked again, without anything new.
    Continue,
    /// It is done.
    Done,
    /// It does not want to; the provider's reason.
    Refused {
        /// The provider's words, possibly none.
        reason: String,
    },
    /// Its answer was longer than allowed, so that calls in it may be cut.
    MaxTokens,
    /// The conversation is longer than the model can read.
    ContextExceeded,
    /// It failed on the provider's side.
    Failed {
        /// The provider's code.
        code: String,
        /// The provider's sentence.
        message: String,
    },
    /// Something else that is no end in good order.
    Incomplete {
        /// The provider's word for it.
        reason: String,
    },
}

/// An error body of a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderError {
    /// Its sort: `invalid_request_error`, `rate_limit_exceeded`, ….
    pub kind: String,
    /// Its sentence.
    pub message: String,
}

impl ProviderError {
    /// Reads an error body; none when it is no such body (a proxy's HTML page, say).
    pub fn from_body(bytes: &[u8]) -> Option<Self> {
        let body = bounded::parse(bytes).ok()?;
        Self::from_value(&body).or_else(|| Self::of_aws(&body))
    }

    /// The error that a body of AWS is: a message, mostly without its sort, which is a header.
    pub(crate) fn of_aws(body: &Value) -> Option<Self> {
        let text = |name: &str| body.get(name).and_then(Value::as_str);
        let message = text("message").or_else(|| text("Message"))?.to_owned();
        let kind = text("__type").or_else(|| text("code"));
        let kind = kind.map_or("", Self::aws_kind).to_owned();
        Some(Self { kind, message })
    }

    /// The name of a sort of error as AWS writes it: behind the name of its service, before an
    /// address.
    pub fn aws_kind(said: &str) -> &str {
        let name = said.rsplit('#').next().unwrap_or(said);
        name.split(':').next().unwrap_or(name)
    }

    /// The error that a body is: under `error`, as a sentence there, at the top of an object
    /// `error`, or the `detail` of a body that was not valid.
    pub(crate) fn from_value(body: &Value) -> Option<Self> {
        let top = body.get("object").and_then(Value::as_str) == Some("error");
        let error = body.get("error").filter(|error| !error.is_null());
        let Some(error) = error.or_else(|| top.then_some(body)) else {
            return Self::from_detail(body);
        };
        let text = |name: &str| error.get(name).and_then(Value::as_str).map(str::to_owned);
        let message = match error.get("message") {
            Some(Value::String(sentence)) => sentence.clone(),
            Some(said) => said.to_string(),
            None => error.as_str()?.to_owned(),
        };
        let kind = text("code").or_else(|| text("type"));
        let kind = kind.or_else(|| text("status")).unwrap_or_default();
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

    /// How long an error body asks to wait before the same request is sent again; most say that
    /// in a header instead.
    pub fn retry_delay(bytes: &[u8]) -> Option<Duration> {
        let body: Value = bounded::parse(bytes).ok()?;
        let details = body.get("error")?.get("details")?.as_array()?;
        let delay = details
            .iter()
            .find_map(|detail| detail.get("retryDelay")?.as_str())?;
        let seconds = delay.strip_suffix('s')?.parse().ok()?;
        Duration::try_from_secs_f64(seconds).ok()
    }

    /// Whether it says that the conversation became too long for the model.
    pub fn is_context_exceeded(&self) -> bool {
        let too_long = [
            "maximum context length",
            "too large for model",
            "exceeds the maximum number of tokens",
            // Bedrock's own words, and those of the model's maker, which it repeats.
            "Input is too long for requested model",
            "prompt is too long",
        ];
        self.kind == "context_length_exceeded"
            || too_long.iter().any(|words| self.message.contains(words))
    }
}

/// A dialect that nobody can be talked to in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("converse in {dialect}: it is a way of writing, and no service that could be asked")]
pub struct NotAService {
    /// The dialect.
    pub dialect: Dialect,
}

/// What was said so far, in the provider's own words.
#[derive(Clone)]
pub struct Conversation {
    dialect: Dialect,
    talk: &'static dyn ChatApi,
    opening: RequestOptions,
    items: Vec<Value>,
}

impl Conversation {
    /// A conversation that has only its task.
    ///
    /// # Errors
    /// When the dialect is no service's own, so that there is nobody to talk to.
    pub fn new(dialect: Dialect, opening: RequestOptions) -> Result<Self, NotAService> {
        let talk = dialect.wire().chat_api().ok_or(NotAService { dialect })?;
        let task = talk.first_message(&opening.task);
        Ok(Self {
            dialect,
            talk,
            opening,
            items: vec![task],
        })
    }

    /// The header that carries the key.
    pub fn key_header(&self, key: &str) -> (&'static str, String) {
        self.talk.key_header(key)
    }

    /// The next request. Old pictures leave the conversation here.
    pub fn request(&mut self) -> Request {
        self.talk.request(&self.opening, &mut self.items)
    }

    /// Reads the answer to the last request and keeps it, so that the next one repeats it.
    ///
    /// # Errors
    /// When it is not JSON, not of this dialect, or has calls that cannot be told apart.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Response, DecodeError> {
        let body: Value = bounded::parse(bytes)?;
        if let Some(stop) = self.talk.failure(&body) {
            return Ok(Response {
                turn: ModelTurn::new(Vec::new())?,
                report: Report::default(),
                stop,
                usage: UsageContent::default(),
            });
        }
        let (turn, report) = self.dialect.wire().decode_response(body.clone())?;
        let has_calls = !turn.calls().is_empty();
        let (stop, usage) = self.talk.push_response(&body, has_calls, &mut self.items);
        Ok(Response {
            turn,
            report,
            stop,
            usage,
        })
    }

    /// Writes the answers to the calls of the last response and keeps them for the next request.
    ///
    /// # Errors
    /// When the dialect demands something that the answers do not have.
    pub fn answer(&mut self, answered: &AnsweredTurn) -> Result<Report, EncodeError> {
        let reply = self.dialect.encode_answers(answered)?;
        self.talk.push_results(reply.items, &mut self.items);
        Ok(reply.report)
    }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation")
            .field("dialect", &self.dialect)
            .field("opening", &self.opening)
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
