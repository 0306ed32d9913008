//! Runs turn after turn until the model is done, a limit is reached, or the run is cancelled.

use telechir_protocol::{
    ActionKind, AnsweredTurn, Content, ModelTurn, SafetyCheck, SafetySource, ToolCall, ToolResult,
    UsageContent,
};
use telechir_providers::{Conversation, Dialect, Report, RequestOptions, Response, StopReason};
use telechir_runtime::SessionEvent;

use crate::http::HttpClient;
use crate::request::RequestSender;
use crate::{AgentError, AgentSession, ApiKey, CancelSignal, HttpLimits, RetryRule};

/// Settings of an agent: provider, limits and retries.
#[derive(Clone, Debug)]
pub struct AgentSettings {
    /// The dialect of the provider's API.
    pub dialect: Dialect,
    /// The URL before the path; absent means the provider's default endpoint.
    pub base_url: Option<String>,
    /// The API key sent with each request.
    pub key: ApiKey,
    /// Maximum number of turns whose calls are executed.
    pub max_steps: u32,
    /// When and how often a failed request is sent again.
    pub retry: RetryRule,
    /// Size and time limits of a request.
    pub http: HttpLimits,
}

impl AgentSettings {
    /// Settings with 50 steps and the provider's default endpoint.
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

    /// The URL before the path; absent if the dialect has no default endpoint and none is set.
    /// Accepted with and without the version path such as `/v1`, because the providers' own clients
    /// differ in it.
    pub fn base_url(&self) -> Option<String> {
        let service = self.dialect.service()?;
        let given = self.base_url.as_deref().or(service.host)?;
        let given = given.trim_end_matches('/');
        let prefix = service.prefix;
        // A self-hosted server may use any path; only a URL without one gets the default.
        if service.host.is_none() && has_path(given) {
            return Some(given.to_owned());
        }
        let host = given.strip_suffix(prefix).unwrap_or(given);
        Some(format!("{host}{prefix}"))
    }
}

fn has_path(address: &str) -> bool {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.contains('/')
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The model reports that the task is done; the agent does not verify it.
    Done,
    /// The model refused the task.
    Refused {
        /// The provider's explanation, possibly empty.
        reason: String,
    },
    /// The response reached its token limit; its calls were not executed.
    MaxTokens,
    /// The conversation exceeds the model's context window.
    ContextExceeded,
    /// The model needs more steps than `max_steps`.
    StepLimit,
    /// A safety check of the provider was not acknowledged, and its protocol allows no other result.
    SafetyCheck {
        /// The provider's message about the check.
        message: String,
    },
    /// The model would act next, and only a plan was requested.
    Planned,
    /// The run was cancelled.
    Cancelled,
    /// The provider ended the run for another reason.
    Incomplete {
        /// The provider's name of the reason.
        reason: String,
    },
}

/// The report of an ended run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReport {
    /// Why the run ended.
    pub reason: EndReason,
    /// The model's last message.
    pub text: String,
    /// Number of turns whose calls were executed.
    pub steps: u32,
    /// Token counts of all requests together.
    pub usage: UsageContent,
}

/// Runs tasks with one provider. The session's subscribers receive progress events.
#[derive(Clone, Debug)]
pub struct Agent {
    sender: RequestSender,
    max_steps: u32,
    cancel: Option<CancelSignal>,
}

impl Agent {
    /// Creates an agent with these settings.
    ///
    /// # Errors
    /// If the base URL is missing or invalid, or an API key must not be sent to it.
    pub fn new(settings: AgentSettings) -> Result<Self, AgentError> {
        let dialect = settings.dialect;
        let base = settings
            .base_url()
            .ok_or(AgentError::NoEndpoint { dialect })?;
        let client = HttpClient::new(&base, settings.http)?;
        let AgentSettings {
            key,
            retry: rule,
            max_steps,
            ..
        } = settings;
        let sender = RequestSender {
            client,
            dialect,
            key,
            rule,
        };
        Ok(Self {
            sender,
            max_steps,
            cancel: None,
        })
    }

    /// Cancels runs when this signal is set.
    #[must_use]
    pub fn cancelled_by(mut self, signal: CancelSignal) -> Self {
        self.cancel = Some(signal);
        self
    }

    /// Runs one task. Dropping the future stops it safely, as the signal does.
    ///
    /// # Errors
    /// If the provider cannot be reached, its response cannot be decoded, or the session fails. The
    /// ways in which a model ends a run are not errors; see [`EndReason`].
    pub async fn run(
        &self,
        options: RequestOptions,
        session: &mut impl AgentSession,
    ) -> Result<RunReport, AgentError> {
        let mut run = self.started(options, session)?;
        let Some(mut cancel) = self.cancel.clone() else {
            return run.run_to_end(session).await;
        };
        let ended = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            ended = run.run_to_end(session) => Some(ended),
        };
        ended.unwrap_or(Ok(run.finished))
    }

    /// The model's next calls for one task, which are not executed. Calls that only observe are, so
    /// that the model can look first.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub async fn plan(
        &self,
        options: RequestOptions,
        session: &mut impl AgentSession,
    ) -> Result<(RunReport, Vec<Content>), AgentError> {
        let mut run = self.started(options, session)?;
        run.only_observes = true;
        let finished = run.run_to_end(session).await?;
        Ok((finished, run.planned))
    }

    fn started(
        &self,
        options: RequestOptions,
        session: &impl AgentSession,
    ) -> Result<TaskRun<'_>, AgentError> {
        let (model, base) = (&options.model, self.sender.client.base());
        let message = format!(
            "The model is {model} at {base}, dialect {}.",
            self.sender.dialect
        );
        session.emit(SessionEvent::Warning { message });
        Ok(TaskRun {
            agent: self,
            conversation: Conversation::new(self.sender.dialect, options)?,
            only_observes: false,
            planned: Vec::new(),
            finished: RunReport {
                reason: EndReason::Cancelled,
                text: String::new(),
                steps: 0,
                usage: UsageContent::default(),
            },
        })
    }
}

struct TaskRun<'a> {
    agent: &'a Agent,
    conversation: Conversation,
    /// Whether calls that act end the run instead of being executed.
    only_observes: bool,
    /// The calls that were not executed for that reason.
    planned: Vec<Content>,
    finished: RunReport,
}

impl TaskRun<'_> {
    async fn run_to_end(
        &mut self,
        session: &mut impl AgentSession,
    ) -> Result<RunReport, AgentError> {
        for step in 1.. {
            session.emit(SessionEvent::RequestSent {
                step,
                limit: u64::from(self.agent.max_steps),
            });
            let stop = session.until_stopped();
            let sender = &self.agent.sender;
            let received = tokio::select! {
                biased;
                received = sender.send(&mut self.conversation, step, session) => received,
                () = stop => {
                    session.finish_dropped_turn().await;
                    return Ok(self.ended(EndReason::Cancelled));
                }
            };
            let response = match received {
                Ok(response) => response,
                Err(error) if is_context_exceeded(&error) => {
                    return Ok(self.ended(EndReason::ContextExceeded));
                }
                Err(error) => return Err(error),
            };
            self.record_response(&response, session);
            let end = match response.stop {
                StopReason::Calls | StopReason::Continue
                    if self.finished.steps >= self.agent.max_steps =>
                {
                    EndReason::StepLimit
                }
                StopReason::Calls if self.only_observes && acts(&response.turn) => {
                    self.planned = response.turn.contents().to_vec();
                    EndReason::Planned
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

    /// Executes and answers a turn's calls; returns why the run ends, if it does.
    async fn step(
        &mut self,
        response: Response,
        session: &mut impl AgentSession,
    ) -> Result<Option<EndReason>, AgentError> {
        self.finished.steps += 1;
        let answered = session.execute(response.turn).await?;
        if let Some(message) = unacknowledged(&answered) {
            return Ok(Some(EndReason::SafetyCheck { message }));
        }
        let report = self.conversation.push_results(&answered)?;
        announce_losses(session, &report);
        Ok(session.is_stopped().then_some(EndReason::Cancelled))
    }

    fn record_response(&mut self, response: &Response, session: &impl AgentSession) {
        add(&mut self.finished.usage, &response.usage);
        let text = response.text();
        if !text.is_empty() {
            session.emit(SessionEvent::AssistantMessage { text: text.clone() });
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

/// Whether a call of the turn does more than observe a screen.
fn acts(turn: &ModelTurn) -> bool {
    turn.calls().into_iter().any(|call| match call {
        ToolCall::Computer(call) => call.actions.iter().any(|action| !observes(action.kind())),
        ToolCall::Shell(_) | ToolCall::Edit(_) | ToolCall::Function(_) => true,
    })
}

fn observes(kind: ActionKind) -> bool {
    matches!(
        kind,
        ActionKind::Screenshot
            | ActionKind::ObserveScreen
            | ActionKind::Zoom
            | ActionKind::CursorPosition
            | ActionKind::Wait
            | ActionKind::ReadPage
            | ActionKind::PageText
            | ActionKind::Find
            | ActionKind::ListTabs
            | ActionKind::ListWindows
            | ActionKind::ListMonitors
            | ActionKind::CaptureWindow
            | ActionKind::CaptureMonitor
    )
}

/// The message of an unacknowledged safety check, without which the API rejects the result.
fn unacknowledged(answered: &AnsweredTurn) -> Option<String> {
    answered.pairs().find_map(|(call, result)| {
        let (ToolCall::Computer(call), ToolResult::Computer(result)) = (call, result) else {
            return None;
        };
        let is_acknowledged = |check: &SafetyCheck| {
            result
                .acknowledged_safety_checks
                .iter()
                .any(|is_acknowledged| is_acknowledged.id == check.id)
        };
        let is_unacknowledged =
            |check: &&SafetyCheck| check.source != SafetySource::Policy && !is_acknowledged(check);
        let check = call.pending_safety_checks.iter().find(is_unacknowledged)?;
        Some(
            check
                .message
                .clone()
                .or_else(|| check.code.clone())
                .unwrap_or_else(|| check.id.clone()),
        )
    })
}

fn announce_losses(session: &impl AgentSession, report: &Report) {
    for loss in &report.losses {
        let retained = loss
            .preserved_as
            .as_ref()
            .map(|how| format!("; kept {how}"))
            .unwrap_or_default();
        let message = format!(
            "{} of {} was not translated exactly: {}{retained}",
            loss.what, loss.location, loss.why
        );
        session.emit(SessionEvent::Warning { message });
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
    fn debug_output_of_an_agent_omits_its_key() {
        let key = ApiKey::new("sk-secret").expect("a key");
        let agent =
            Agent::new(AgentSettings::new(Dialect::OpenaiResponses, key)).expect("an agent");
        assert!(!format!("{agent:?}").contains("secret"));
    }

    #[test]
    fn a_base_url_is_accepted_with_and_without_its_version() {
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
