//! One question and its answer, with retries. A retry sends the very same bytes again.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant, SystemTime};

use hyper::body::Bytes;
use serde::de::IgnoredAny;
use telechir_providers::{Conversation, Dialect, ProviderError, Request, Response, StopReason};
use telechir_runtime::{Session, SessionEvent};

use crate::http::{Answer, HttpClient};
use crate::{Advice, AgentError, ApiKey, Attempt, HttpError, Next, RetryRule};

/// Codes of a failed response after which the same request may succeed.
const TRANSIENT_CODES: [&str; 2] = ["server_error", "rate_limit_exceeded"];

/// Asks a provider.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) client: HttpClient,
    pub(crate) dialect: Dialect,
    pub(crate) key: ApiKey,
    pub(crate) rule: RetryRule,
}

/// A failed attempt with what decides about the next one.
struct Failed {
    error: AgentError,
    answer: Option<Answer>,
    sort: Sort,
}

#[derive(Clone, Copy)]
enum Sort {
    Status(u16),
    Other(Attempt<'static>),
    Final,
}

impl Exchange {
    /// Sends the conversation and takes the answer into it.
    pub(crate) async fn ask(
        &self,
        conversation: &mut Conversation,
        step: u64,
        session: &Session,
    ) -> Result<Response, AgentError> {
        let request = conversation.request();
        let body = Bytes::from(serde_json::to_vec(&request.body)?);
        let (started, mut waited, mut attempt) = (Instant::now(), Duration::ZERO, 1);
        loop {
            tracing::debug!(
                attempt,
                bytes = body.len(),
                screenshots = request.images,
                "send a request"
            );
            let failed = match self.attempt(conversation, &request, body.clone()).await {
                Ok((response, request_id)) => {
                    tracing::debug!(?request_id, "got an answer");
                    session.announce(received(step, started.elapsed(), &response));
                    return Ok(response);
                }
                Err(failed) => *failed,
            };
            let Some(wait) = self.wait(&failed, attempt, waited) else {
                return Err(gave_up(failed.error, attempt, started.elapsed()));
            };
            let (wait_ms, reason) = (millis(wait), format!("failed to {}", failed.error));
            session.announce(SessionEvent::Retrying {
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
    ) -> Result<(Response, Option<String>), Box<Failed>> {
        let (name, value) = conversation.key_header(self.key.reveal());
        let sent = self
            .client
            .post(&request.path, &request.headers, (name, &value), body)
            .await;
        let answer = sent.map_err(|error| Box::new(Failed::http(error)))?;
        let request_id = answer
            .header("request-id")
            .or_else(|| answer.header("x-request-id"))
            .map(str::to_owned);
        if !answer.status.is_success() {
            return Err(Box::new(Failed::status(answer, request_id)));
        }
        if let Some(what) = garbled(&answer.body) {
            let error = AgentError::NotAnAnswer {
                what,
                dialect: self.dialect.name(),
            };
            return Err(Box::new(Failed {
                error,
                answer: None,
                sort: Sort::Other(Attempt::Garbled),
            }));
        }
        let taken = conversation.take(&answer.body);
        let response = taken.map_err(|error| {
            Box::new(Failed {
                error: error.into(),
                answer: None,
                sort: Sort::Final,
            })
        })?;
        match response.stop {
            StopReason::Failed { code, message } => Err(Box::new(Failed::model(code, message))),
            StopReason::Calls
            | StopReason::Continue
            | StopReason::Done
            | StopReason::Refused { .. }
            | StopReason::MaxTokens
            | StopReason::ContextExceeded
            | StopReason::Incomplete { .. } => Ok((response, request_id)),
        }
    }

    fn wait(&self, failed: &Failed, attempt: u32, waited: Duration) -> Option<Duration> {
        let header = |name: &str| {
            failed
                .answer
                .as_ref()
                .and_then(|answer| answer.header(name))
        };
        let in_body = failed
            .answer
            .as_ref()
            .and_then(|answer| ProviderError::retry_delay(&answer.body))
            .map(|delay| delay.as_millis().to_string());
        let sort = match failed.sort {
            Sort::Final => return None,
            Sort::Other(sort) => sort,
            Sort::Status(status) => {
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
            .next(sort, attempt, waited, SystemTime::now(), chance())
        {
            Next::Wait(wait) => Some(wait),
            Next::GiveUp => None,
        }
    }
}

impl Failed {
    fn http(error: HttpError) -> Self {
        let sort = match &error {
            HttpError::Timeout { .. } => Sort::Other(Attempt::TimedOut),
            HttpError::Connection { .. } => Sort::Other(Attempt::Connection),
            HttpError::Address { .. }
            | HttpError::Certificates { .. }
            | HttpError::RequestTooLarge { .. }
            | HttpError::Header { .. }
            | HttpError::ResponseTooLarge { .. }
            | HttpError::Redirect { .. } => Sort::Final,
        };
        Self {
            error: error.into(),
            answer: None,
            sort,
        }
    }

    fn status(answer: Answer, request_id: Option<String>) -> Self {
        let status = answer.status.as_u16();
        let said = ProviderError::from_body(&answer.body);
        let mut said = said.unwrap_or_else(|| ProviderError {
            kind: String::new(),
            message: opening_of(&answer.body),
        });
        // AWS says the sort of an error there, and nowhere else.
        let header = answer.header("x-amzn-errortype");
        if let (true, Some(kind)) = (said.kind.is_empty(), header) {
            said.kind = ProviderError::aws_kind(kind).to_owned();
        }
        let error = AgentError::Refused {
            status,
            kind: said.kind,
            message: said.message,
            request_id,
        };
        Self {
            error,
            answer: Some(answer),
            sort: Sort::Status(status),
        }
    }

    fn model(code: String, message: String) -> Self {
        let transient = TRANSIENT_CODES.contains(&code.as_str());
        let sort = if transient {
            Sort::Other(Attempt::Transient)
        } else {
            Sort::Final
        };
        Self {
            error: AgentError::ModelFailed { code, message },
            answer: None,
            sort,
        }
    }
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

fn gave_up(last: AgentError, attempts: u32, waited: Duration) -> AgentError {
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

/// What a body is when it cannot be a provider's answer.
fn garbled(body: &[u8]) -> Option<&'static str> {
    let text = body.trim_ascii();
    if text.is_empty() {
        Some("empty")
    } else if text.starts_with(b"<") {
        Some("an HTML page")
    } else if serde_json::from_slice::<IgnoredAny>(text).is_err() {
        Some("no JSON, or only half of it")
    } else {
        None
    }
}

/// The first words of a body that is no provider's error, on one line.
fn opening_of(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(800)]).into_owned();
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    let line: String = words.join(" ").chars().take(200).collect();
    if line.is_empty() {
        "no explanation came with it".to_owned()
    } else {
        line
    }
}

/// A number in 0..1 from the seed that every hash map gets.
fn chance() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 40;
    f64::from(u32::try_from(bits).unwrap_or_default()) / f64::from(1_u32 << 24)
}
