//! Errors that providers send as the body of a response.

use std::fmt;
use std::time::Duration;

use serde_json::Value;
use telechir_protocol::json_limits;

use crate::DecodeError;

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
