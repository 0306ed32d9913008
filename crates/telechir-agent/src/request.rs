//! Sends one request, with retries. A retry sends exactly the same bytes.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant, SystemTime};

use serde::de::IgnoredAny;
use telechir_http::{Bytes, HttpClient, HttpRequest, HttpResponse, Method};
use telechir_providers::{
    Conversation, Dialect, ProviderError, Request, Response, StopReason, StreamError,
};
use telechir_runtime::SessionEvent;

use crate::streamed_text::{StreamedText, TextDisplay, TextReceiver};
use crate::{Advice, AgentError, ApiKey, Attempt, HttpError, RetryDecision, RetryRule};

/// Error codes of a failed response that are worth a retry.
const TRANSIENT_CODES: [&str; 4] = [
    "server_error",
    "rate_limit_exceeded",
    "server_is_overloaded",
    "slow_down",
];

/// Sends requests to one provider.
#[derive(Clone, Debug)]
pub(crate) struct RequestSender {
    pub(crate) client: HttpClient,
    pub(crate) dialect: Dialect,
    pub(crate) key: ApiKey,
    pub(crate) rule: RetryRule,
    /// Who receives the model's text as it arrives; none: responses are not streamed.
    pub(crate) text_receiver: Option<TextReceiver>,
}

/// A failed attempt with the data for the retry decision.
struct FailedAttempt {
    error: AgentError,
    response: Option<HttpResponse>,
    class: FailureClass,
}

#[derive(Clone, Copy)]
enum FailureClass {
    Status(u16),
    Other(Attempt<'static>),
    Final,
}

impl RequestSender {
    /// Sends the conversation and adds the response to it.
    pub(crate) async fn send(
        &self,
        conversation: &mut Conversation,
        step: u64,
        display: TextDisplay<'_>,
        emit: &(impl Fn(SessionEvent) + Sync),
    ) -> Result<Response, AgentError> {
        let mut request = conversation.request();
        if self.text_receiver.is_some() {
            conversation.ask_for_stream(&mut request);
        }
        let body = Bytes::from(serde_json::to_vec(&request.body)?);
        let (started, mut waited, mut attempt) = (Instant::now(), Duration::ZERO, 1);
        loop {
            tracing::debug!(
                attempt,
                bytes = body.len(),
                screenshots = request.images,
                "send a request"
            );
            let sent = self.attempt(conversation, &request, body.clone(), display);
            let failed = match sent.await {
                Ok((response, request_id)) => {
                    tracing::debug!(?request_id, "got an answer");
                    emit(received(step, started.elapsed(), &response));
                    return Ok(response);
                }
                Err(failed) => *failed,
            };
            let Some(wait) = self.wait(&failed, attempt, waited) else {
                return Err(exhausted(failed.error, attempt, started.elapsed()));
            };
            let (wait_ms, reason) = (millis(wait), format!("failed to {}", failed.error));
            emit(SessionEvent::Retrying {
                attempt,
                wait_ms,
                reason,
            });
            tokio::time::sleep(wait).await;
            waited = waited.saturating_add(wait);
            attempt += 1;
        }
    }

    async fn attempt(
        &self,
        conversation: &mut Conversation,
        request: &Request,
        body: Bytes,
        display: TextDisplay<'_>,
    ) -> Result<(Response, Option<String>), Box<FailedAttempt>> {
        let (name, value) = conversation.key_header(self.key.reveal());
        let mut headers = request.headers.clone();
        headers.push((name.to_owned(), value));
        let request = HttpRequest {
            method: Method::POST,
            path: request.path.clone(),
            headers,
            body,
        };
        let receiver = self.text_receiver.as_ref();
        let mut streamed =
            receiver.and_then(|receiver| StreamedText::new(self.dialect, receiver, display));
        let sent = self.client.send_in_pieces(request, |bytes| {
            if let Some(streamed) = &mut streamed {
                streamed.push(bytes);
            }
        });
        let sent = sent.await;
        let streamed = streamed.and_then(StreamedText::finish);
        let response = sent.map_err(|error| Box::new(FailedAttempt::http(error)))?;
        let request_id = response
            .header("request-id")
            .or_else(|| response.header("x-request-id"))
            .map(str::to_owned);
        if !response.is_success() {
            return Err(Box::new(FailedAttempt::status(response, request_id)));
        }
        let response = match streamed {
            Some(stream) => stream
                .and_then(|stream| conversation.push_stream(stream))
                .map_err(|error| Box::new(FailedAttempt::stream(error)))?,
            None => self.read(conversation, &response.body)?,
        };
        match response.stop {
            StopReason::Failed { code, message } => {
                Err(Box::new(FailedAttempt::model(code, message)))
            }
            StopReason::Calls
            | StopReason::Continue
            | StopReason::Done
            | StopReason::Refused { .. }
            | StopReason::MaxTokens
            | StopReason::ContextExceeded
            | StopReason::Incomplete { .. } => Ok((response, request_id)),
        }
    }

    /// Adds a response that arrived as one document to the conversation.
    fn read(
        &self,
        conversation: &mut Conversation,
        body: &[u8],
    ) -> Result<Response, Box<FailedAttempt>> {
        if let Some(what) = malformed(body) {
            let error = AgentError::NotAResponse {
                what,
                dialect: self.dialect.name(),
            };
            return Err(Box::new(FailedAttempt {
                error,
                response: None,
                class: FailureClass::Other(Attempt::Malformed),
            }));
        }
        conversation.push_response(body).map_err(|error| {
            Box::new(FailedAttempt {
                error: error.into(),
                response: None,
                class: FailureClass::Final,
            })
        })
    }

    fn wait(&self, failed: &FailedAttempt, attempt: u32, waited: Duration) -> Option<Duration> {
        let header = |name: &str| {
            failed
                .response
                .as_ref()
                .and_then(|response| response.header(name))
        };
        let in_body = failed
            .response
            .as_ref()
            .and_then(|response| ProviderError::retry_delay(&response.body))
            .map(|delay| delay.as_millis().to_string());
        let class = match failed.class {
            FailureClass::Final => return None,
            FailureClass::Other(class) => class,
            FailureClass::Status(status) => {
                let advice = Advice {
                    should_retry: header("x-should-retry"),
                    retry_after: header("retry-after"),
                    retry_after_ms: header("retry-after-ms").or(in_body.as_deref()),
                };
                Attempt::Status(status, advice)
            }
        };
        match self
            .rule
            .next(class, attempt, waited, SystemTime::now(), chance())
        {
            RetryDecision::Wait(wait) => Some(wait),
            RetryDecision::GiveUp => None,
        }
    }
}

impl FailedAttempt {
    fn http(error: HttpError) -> Self {
        let class = match &error {
            HttpError::Timeout { .. } => FailureClass::Other(Attempt::TimedOut),
            HttpError::Connection { .. } => FailureClass::Other(Attempt::Connection),
            HttpError::Address { .. }
            | HttpError::Certificates { .. }
            | HttpError::RequestTooLarge { .. }
            | HttpError::Header { .. }
            | HttpError::ResponseTooLarge { .. }
            | HttpError::Redirect { .. } => FailureClass::Final,
        };
        Self {
            error: error.into(),
            response: None,
            class,
        }
    }

    fn stream(error: StreamError) -> Self {
        let class = match &error {
            StreamError::Provider { message } if is_permanent(message) => FailureClass::Final,
            // A rejected request has an error status; what is reported later is mostly temporary.
            StreamError::Provider { .. } => FailureClass::Other(Attempt::Transient),
            StreamError::BadEvent { .. } | StreamError::Truncated { .. } => {
                FailureClass::Other(Attempt::Malformed)
            }
            StreamError::TooLong { .. }
            | StreamError::Broken
            | StreamError::InconsistentCall(_)
            | StreamError::Decode(_) => FailureClass::Final,
        };
        Self {
            error: error.into(),
            response: None,
            class,
        }
    }

    fn status(response: HttpResponse, request_id: Option<String>) -> Self {
        let status = response.status;
        let problem = ProviderError::from_body(&response.body);
        let mut problem = problem.unwrap_or_else(|| ProviderError {
            kind: String::new(),
            message: body_start(&response.body),
        });
        // AWS reports the error type only in this header.
        let header = response.header("x-amzn-errortype");
        if let (true, Some(kind)) = (problem.kind.is_empty(), header) {
            problem.kind = ProviderError::aws_kind(kind).to_owned();
        }
        let error = AgentError::Refused {
            status,
            kind: problem.kind,
            message: problem.message,
            request_id,
        };
        Self {
            error,
            response: Some(response),
            class: FailureClass::Status(status),
        }
    }

    fn model(code: String, message: String) -> Self {
        let transient = TRANSIENT_CODES.contains(&code.as_str());
        let class = if transient {
            FailureClass::Other(Attempt::Transient)
        } else {
            FailureClass::Final
        };
        Self {
            error: AgentError::ModelFailed { code, message },
            response: None,
            class,
        }
    }
}

/// Whether an error that arrived in a stream would come again.
fn is_permanent(message: &str) -> bool {
    const PERMANENT: [&str; 2] = ["insufficient_quota", "invalid_request_error"];
    exceeds_context("", message) || PERMANENT.iter().any(|kind| message.contains(kind))
}

/// Whether an error is that the conversation is too long. In a stream errors may have no kind.
pub(crate) fn exceeds_context(kind: &str, message: &str) -> bool {
    let error = ProviderError {
        kind: kind.to_owned(),
        message: message.to_owned(),
    };
    error.is_context_exceeded()
}

fn received(step: u64, duration: Duration, response: &Response) -> SessionEvent {
    SessionEvent::ResponseReceived {
        step,
        ms: millis(duration),
        input_tokens: response.usage.input_token_count,
        output_tokens: response.usage.output_token_count,
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn exhausted(last: AgentError, attempts: u32, waited: Duration) -> AgentError {
    if attempts == 1 {
        last
    } else {
        AgentError::GaveUp {
            attempts,
            waited,
            last: Box::new(last),
        }
    }
}

/// Describes a body that cannot be a provider's response.
fn malformed(body: &[u8]) -> Option<&'static str> {
    let text = body.trim_ascii();
    if text.is_empty() {
        Some("empty")
    } else if text.starts_with(b"<") {
        Some("an HTML page")
    } else if serde_json::from_slice::<IgnoredAny>(text).is_err() {
        Some("invalid or truncated JSON")
    } else {
        None
    }
}

/// The start of a body that is not a provider's error, on one line.
fn body_start(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(800)]).into_owned();
    let parts: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    let line: String = parts.join(" ").chars().take(200).collect();
    if line.is_empty() {
        "no explanation in the response".to_owned()
    } else {
        line
    }
}

/// A random number in 0..1, from the seed of a new hash map.
fn chance() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 40;
    f64::from(u32::try_from(bits).unwrap_or_default()) / f64::from(1_u32 << 24)
}
