//! Runs turn after turn until the model is done, a limit is reached, or the run is cancelled.

use std::sync::Arc;

use serde_json::Value;
use telechir_http::HttpClient;
use telechir_protocol::{Content, UsageContent};
use telechir_providers::{Conversation, Dialect, RequestOptions};
use telechir_runtime::{RecordedConversation, SessionEvent};

use crate::redact::Redactor;
use crate::request::RequestSender;
use crate::streamed_text::TextReceiver;
use crate::task_run::TaskRun;
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
    /// Maximum number of requests for a task. The calls of the last response are executed, and the
    /// model is not asked again.
    pub max_steps: u32,
    /// Name of the provider, which the recording has for a later [`Agent::resume`].
    pub provider: String,
    /// What the session was started with, which the recording has for a later [`Agent::resume`]; opaque
    /// here, and absent if it is not to be recorded.
    pub session: Option<Value>,
    /// Values of environment variables, which recordings do not contain; nor the key.
    pub secrets: Vec<String>,
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
            provider: String::new(),
            session: None,
            secrets: Vec::new(),
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
    /// `max_steps` turns were executed, and the model had not finished.
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

impl EndReason {
    /// The name in events.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused { .. } => "refused",
            Self::MaxTokens => "max_tokens",
            Self::ContextExceeded => "context_exceeded",
            Self::StepLimit => "step_limit",
            Self::SafetyCheck { .. } => "safety_check",
            Self::Planned => "planned",
            Self::Cancelled => "cancelled",
            Self::Incomplete { .. } => "incomplete",
        }
    }
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

impl RunReport {
    /// A run that was cancelled before anything is known of it.
    pub fn cancelled() -> Self {
        Self {
            reason: EndReason::Cancelled,
            text: String::new(),
            steps: 0,
            usage: UsageContent::default(),
        }
    }
}

/// What the model is told when a run is resumed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResumeMessage {
    /// A further task of the user, also after the model has finished an earlier one.
    pub task: Option<String>,
    /// That the run was interrupted, and what is different now.
    pub note: String,
}

impl ResumeMessage {
    /// The text for the model.
    pub fn text(&self) -> String {
        match &self.task {
            Some(task) => format!("{task}\n\n{}", self.note),
            None => self.note.clone(),
        }
    }
}

/// Runs tasks with one provider. The session's subscribers receive progress events.
#[derive(Clone, Debug)]
pub struct Agent {
    pub(crate) sender: RequestSender,
    pub(crate) max_steps: u32,
    provider: String,
    started_with: Option<Value>,
    redactor: Redactor,
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
            provider,
            session: started_with,
            secrets,
            ..
        } = settings;
        let redactor = Redactor::of(secrets.into_iter().chain([key.reveal().to_owned()]));
        let sender = RequestSender {
            client,
            dialect,
            key,
            rule,
            text_receiver: None,
        };
        Ok(Self {
            sender,
            max_steps,
            provider,
            started_with,
            redactor,
            cancel: None,
        })
    }

    /// Cancels runs when this signal is set.
    #[must_use]
    pub fn cancelled_by(mut self, signal: CancelSignal) -> Self {
        self.cancel = Some(signal);
        self
    }

    /// Requests responses as streams, and gives the model's text to `receiver` as it arrives, without
    /// secrets, and an empty piece at the end of each response. It is for display: a response may break
    /// off and be requested again, and nothing is given on before the end while the shell waits for
    /// hidden input. The complete text is in [`SessionEvent::AssistantMessage`] afterwards, as without
    /// a stream.
    #[must_use]
    pub fn stream_text_to(mut self, receiver: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.sender.text_receiver = Some(TextReceiver(Arc::new(receiver)));
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
        run.start = Some((self.provider.clone(), self.started_with.clone()));
        self.work(&mut run, session).await
    }

    /// Continues a recorded run: calls that were not executed are, and what was executed is not
    /// executed again. `options` are those of the recorded run, with its first message as the task.
    ///
    /// # Errors
    /// As [`Self::run`], and if the recorded conversation cannot be continued.
    pub async fn resume(
        &self,
        recorded: &RecordedConversation,
        options: RequestOptions,
        message: ResumeMessage,
        session: &mut impl AgentSession,
    ) -> Result<RunReport, AgentError> {
        let task = options.task.clone();
        let mut run = self.started(options, session)?;
        run.replay(recorded, message.task.is_some())?;
        run.announce(message.task.as_ref().unwrap_or(&task), true, session);
        run.message = Some(message);
        self.work(&mut run, session).await
    }

    async fn work(
        &self,
        run: &mut TaskRun<'_>,
        session: &mut impl AgentSession,
    ) -> Result<RunReport, AgentError> {
        let ended = match self.cancel.clone() {
            None => run.run_to_end(session).await,
            Some(mut cancel) => {
                let ended = tokio::select! {
                    biased;
                    () = cancel.cancelled() => None,
                    ended = run.run_to_end(session) => Some(ended),
                };
                ended.unwrap_or_else(|| Ok(run.finished.clone()))
            }
        };
        run.announce_end(&ended, session);
        ended
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
        let conversation = Conversation::new(self.sender.dialect, options.clone())?;
        let redactor = self.redactor.clone();
        Ok(TaskRun::new(self, options, conversation, redactor))
    }
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
