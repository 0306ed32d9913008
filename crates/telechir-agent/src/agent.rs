//! Turn after turn until the model is done, a limit is reached, or someone says stop.

use telechir_protocol::{
    AnsweredTurn, SafetyCheck, SafetySource, ToolCall, ToolResult, UsageContent,
};
use telechir_providers::{Conversation, Dialect, Report, RequestOptions, Response, StopReason};
use telechir_runtime::{Session, SessionEvent};

use crate::http::HttpClient;
use crate::request::Exchange;
use crate::{AgentError, ApiKey, CancelSignal, HttpLimits, RetryRule};

/// Which provider, and how patiently.
#[derive(Clone, Debug)]
pub struct AgentSettings {
    /// The provider's way of speaking.
    pub dialect: Dialect,
    /// The address before the path; absent means the provider's own.
    pub base_url: Option<String>,
    /// The key.
    pub key: ApiKey,
    /// Turns whose calls are carried out, at most.
    pub max_steps: u32,
    /// When a request is sent again.
    pub retry: RetryRule,
    /// Sizes and times of a request.
    pub http: HttpLimits,
}

impl AgentSettings {
    /// Fifty steps with the provider itself.
    pub fn new(dialect: Dialect, key: ApiKey) -> Self {
        let (retry, http) = (RetryRule::default(), HttpLimits::default());
        Self {
            dialect,
            base_url: None,
            key,
            max_steps: 50,
            retry,
            http,
        }
    }

    /// The address before the path; none when the dialect has no service of its own and none was
    /// given. The providers' own clients differ in whether `/v1` belongs to it, so it is taken
    /// with and without.
    pub fn base_url(&self) -> Option<String> {
        let service = self.dialect.service()?;
        let given = self.base_url.as_deref().or(service.host)?;
        let given = given.trim_end_matches('/');
        let prefix = service.prefix;
        // A server of one's own may have any path; only an address without one gets ours.
        if service.host.is_none() && has_path(given) {
            return Some(given.to_owned());
        }
        let host = given.strip_suffix(prefix).unwrap_or(given);
        Some(format!("{host}{prefix}"))
    }
}

fn has_path(address: &str) -> bool {
    let behind = address.split_once("://").map_or(address, |(_, rest)| rest);
    behind.contains('/')
}

/// How a run came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The model says that it is done. Whether the task is, is another question.
    Done,
    /// The model does not want to.
    Refused {
        /// The provider's words, possibly none.
        reason: String,
    },
    /// An answer was longer than allowed; calls in it were not carried out.
    MaxTokens,
    /// The conversation became longer than the model can read.
    ContextExceeded,
    /// So many steps were taken; the model wanted more.
    StepLimit,
    /// Nobody acknowledged a safety check of the provider, whose protocol knows no other answer.
    SafetyCheck {
        /// The provider's words on it.
        message: String,
    },
    /// Someone said stop.
    Cancelled,
    /// The provider ended it in another way.
    Incomplete {
        /// The provider's word for it.
        reason: String,
    },
}

/// A run that came to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReport {
    /// How.
    pub reason: EndReason,
    /// The model's last words.
    pub text: String,
    /// Turns whose calls were carried out.
    pub steps: u32,
    /// What it cost, all requests together.
    pub usage: UsageContent,
}

/// Runs tasks with one provider. What goes on is said to the session's readers.
#[derive(Clone, Debug)]
pub struct Agent {
    exchange: Exchange,
    max_steps: u32,
    cancel: Option<CancelSignal>,
}

impl Agent {
    /// An agent of these settings.
    ///
    /// # Errors
    /// When the base address is none, or one that a key must not go to.
    pub fn new(settings: AgentSettings) -> Result<Self, AgentError> {
        let dialect = settings.dialect;
        let base = settings
            .base_url()
            .ok_or(AgentError::NoAddress { dialect })?;
        let client = HttpClient::new(&base, settings.http)?;
        let AgentSettings {
            key,
            retry: rule,
            max_steps,
            ..
        } = settings;
        let exchange = Exchange {
            client,
            dialect,
            key,
            rule,
        };
        Ok(Self {
            exchange,
            max_steps,
            cancel: None,
        })
    }

    /// Stops when this signal says so.
    #[must_use]
    pub fn cancelled_by(mut self, signal: CancelSignal) -> Self {
        self.cancel = Some(signal);
        self
    }

    /// Runs one task. Dropping the future stops it safely, as the signal does.
    ///
    /// # Errors
    /// When the provider cannot be reached or understood, or the session breaks. How a model
    /// ends is no error.
    pub async fn run(
        &self,
        opening: RequestOptions,
        session: &mut Session,
    ) -> Result<RunReport, AgentError> {
        let (model, place) = (&opening.model, self.exchange.client.base());
        let message = format!(
            "The model is {model} at {place}, in the words of {}.",
            self.exchange.dialect
        );
        session.announce(SessionEvent::Warning { message });
        let mut run = Run {
            agent: self,
            conversation: Conversation::new(self.exchange.dialect, opening)?,
            finished: RunReport {
                reason: EndReason::Cancelled,
                text: String::new(),
                steps: 0,
                usage: UsageContent::default(),
            },
        };
        let Some(mut cancel) = self.cancel.clone() else {
            return run.go_on_to_the_end(session).await;
        };
        let ended = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            ended = run.go_on_to_the_end(session) => Some(ended),
        };
        ended.unwrap_or(Ok(run.finished))
    }
}

struct Run<'a> {
    agent: &'a Agent,
    conversation: Conversation,
    finished: RunReport,
}

impl Run<'_> {
    async fn go_on_to_the_end(&mut self, session: &mut Session) -> Result<RunReport, AgentError> {
        for step in 1.. {
            session.announce(SessionEvent::RequestSent {
                step,
                limit: u64::from(self.agent.max_steps),
            });
            let stop = session.until_stopped();
            let exchange = &self.agent.exchange;
            let asked = tokio::select! {
                biased;
                asked = exchange.ask(&mut self.conversation, step, session) => asked,
                _why = stop => {
                    session.settle().await;
                    return Ok(self.ended(EndReason::Cancelled));
                }
            };
            let response = match asked {
                Ok(response) => response,
                Err(error) if is_context_exceeded(&error) => {
                    return Ok(self.ended(EndReason::ContextExceeded));
                }
                Err(error) => return Err(error),
            };
            self.note(&response, session);
            let end = match response.stop {
                StopReason::Calls | StopReason::Continue
                    if self.finished.steps >= self.agent.max_steps =>
                {
                    EndReason::StepLimit
                }
                StopReason::Calls => match self.step(response, session).await? {
                    None => continue,
                    Some(end) => end,
                },
                StopReason::Continue => {
                    self.finished.steps += 1;
                    continue;
                }
                StopReason::Done => EndReason::Done,
                StopReason::Refused { reason } => EndReason::Refused { reason },
                StopReason::MaxTokens => EndReason::MaxTokens,
                StopReason::ContextExceeded => EndReason::ContextExceeded,
                StopReason::Failed { code, message } => {
                    return Err(AgentError::ModelFailed { code, message });
                }
                StopReason::Incomplete { reason } => EndReason::Incomplete { reason },
            };
            return Ok(self.ended(end));
        }
        Ok(self.ended(EndReason::StepLimit))
    }

    /// Carries a turn's calls out and answers them, or says why it cannot be answered.
    async fn step(
        &mut self,
        response: Response,
        session: &mut Session,
    ) -> Result<Option<EndReason>, AgentError> {
        self.finished.steps += 1;
        let answered = session.execute(response.turn).await?;
        if let Some(message) = unacknowledged(&answered) {
            return Ok(Some(EndReason::SafetyCheck { message }));
        }
        let report = self.conversation.answer(&answered)?;
        announce_losses(session, &report);
        Ok(session.stopped().map(|_| EndReason::Cancelled))
    }

    fn note(&mut self, response: &Response, session: &Session) {
        add(&mut self.finished.usage, &response.usage);
        let text = response.text();
        if !text.is_empty() {
            session.announce(SessionEvent::AssistantMessage { text: text.clone() });
            self.finished.text = text;
        }
        announce_losses(session, &response.report);
    }

    fn ended(&self, end: EndReason) -> RunReport {
        RunReport {
            reason: end,
            ..self.finished.clone()
        }
    }
}

/// What a check says that nobody acknowledged, where an answer without it would be refused.
fn unacknowledged(answered: &AnsweredTurn) -> Option<String> {
    answered.pairs().find_map(|(call, result)| {
        let (ToolCall::Computer(call), ToolResult::Computer(result)) = (call, result) else {
            return None;
        };
        let known = |check: &SafetyCheck| {
            result
                .acknowledged_safety_checks
                .iter()
                .any(|known| known.id == check.id)
        };
        let demanded = |check: &&SafetyCheck| check.source != SafetySource::Policy && !known(check);
        let check = call.pending_safety_checks.iter().find(demanded)?;
        Some(
            check
                .message
                .clone()
                .or_else(|| check.code.clone())
                .unwrap_or_else(|| check.id.clone()),
        )
    })
}

fn announce_losses(session: &Session, report: &Report) {
    for loss in &report.losses {
        let kept = loss
            .kept
            .as_ref()
            .map(|how| format!("; kept {how}"))
            .unwrap_or_default();
        let message = format!(
            "{} of {} was not said as it was: {}{kept}",
            loss.what, loss.place, loss.why
        );
        session.announce(SessionEvent::Warning { message });
    }
}

fn is_context_exceeded(error: &AgentError) -> bool {
    let AgentError::Refused { kind, message, .. } = error else {
        return false;
    };
    let error = telechir_providers::ProviderError {
        kind: kind.clone(),
        message: message.clone(),
    };
    error.is_context_exceeded()
}

fn add(total: &mut UsageContent, one: &UsageContent) {
    let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (None, None) => None,
        (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
    };
    total.input_token_count = sum(total.input_token_count, one.input_token_count);
    total.output_token_count = sum(total.output_token_count, one.output_token_count);
    total.total_token_count = sum(total.total_token_count, one.total_token_count);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_can_be_printed_without_its_key() {
        let key = ApiKey::new("sk-secret").expect("a key");
        let agent =
            Agent::new(AgentSettings::new(Dialect::OpenaiResponses, key)).expect("an agent");
        assert!(!format!("{agent:?}").contains("secret"));
    }

    #[test]
    fn a_base_address_is_taken_with_and_without_its_version() {
        let base = |dialect, given: Option<&str>| {
            let mut settings = AgentSettings::new(dialect, ApiKey::new("k").expect("a key"));
            settings.base_url = given.map(str::to_owned);
            settings.base_url().expect("an address")
        };
        let (anthropic, openai) = (Dialect::AnthropicMessages, Dialect::OpenaiResponses);
        assert_eq!(base(anthropic, None), "https://api.anthropic.com/v1");
        assert_eq!(base(anthropic, Some("https://gate/v1/")), "https://gate/v1");
        assert_eq!(base(openai, None), "https://api.openai.com/v1");
        assert_eq!(
            base(openai, Some("https://gate/openai/v1")),
            "https://gate/openai/v1"
        );
        assert_eq!(base(openai, Some("https://gate")), "https://gate/v1");
        let server = |given| base(Dialect::Functions, Some(given));
        assert_eq!(
            server("http://localhost:11434"),
            "http://localhost:11434/v1"
        );
        assert_eq!(server("http://localhost/v1/"), "http://localhost/v1");
        assert_eq!(
            server("https://gate/v1beta/openai"),
            "https://gate/v1beta/openai"
        );
    }
}
