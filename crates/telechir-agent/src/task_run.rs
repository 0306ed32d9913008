//! One task in progress: its conversation, its limits and its recording.

use serde_json::Value;
use telechir_protocol::{
    ActionKind, AnsweredTurn, Content, ModelTurn, SafetyCheck, SafetySource, ShellAction,
    ShellCall, ToolCall, ToolResult, UsageContent,
};
use telechir_providers::{
    Conversation, DecodeError, Report, RequestOptions, Response, StopReason, StreamError,
};
use telechir_runtime::{ConversationEntry, SessionEvent};

use crate::redact::Redactor;
use crate::request::exceeds_context;
use crate::streamed_text::TextDisplay;
use crate::{Agent, AgentError, AgentSession, EndReason, ResumeMessage, RunReport};

pub(crate) struct TaskRun<'a> {
    agent: &'a Agent,
    options: RequestOptions,
    pub(crate) conversation: Conversation,
    redactor: Redactor,
    /// Number of responses in the conversation.
    pub(crate) responses: u64,
    /// What the model read at its provider since its last turn with calls: the next one is judged
    /// with it.
    pub(crate) hosted_source: Option<String>,
    /// Provider and session of a run whose start is not recorded yet.
    pub(crate) start: Option<(String, Option<Value>)>,
    /// A turn of an earlier process that is not answered yet.
    pub(crate) open: Option<OpenTurn>,
    /// What the model gets before it is asked again.
    pub(crate) message: Option<ResumeMessage>,
    /// Whether calls that act end the run instead of being executed.
    pub(crate) only_observes: bool,
    /// The calls that were not executed for that reason.
    pub(crate) planned: Vec<Content>,
    pub(crate) finished: RunReport,
}

/// A response whose calls an earlier process did not answer all.
pub(crate) struct OpenTurn {
    pub(crate) turn: ModelTurn,
    /// The response's number in the conversation, from 0.
    pub(crate) response: u64,
    /// Number of the turn, if it was started.
    pub(crate) started: Option<u64>,
}

impl<'a> TaskRun<'a> {
    pub(crate) fn new(
        agent: &'a Agent,
        options: RequestOptions,
        conversation: Conversation,
        redactor: Redactor,
    ) -> Self {
        Self {
            agent,
            options,
            conversation,
            redactor,
            responses: 0,
            hosted_source: None,
            start: None,
            open: None,
            message: None,
            only_observes: false,
            planned: Vec::new(),
            finished: RunReport::cancelled(),
        }
    }

    /// Records what every request repeats, and the task.
    async fn record_start(
        &self,
        provider: String,
        started_with: Option<Value>,
        session: &mut impl AgentSession,
    ) -> Result<(), AgentError> {
        let system = self.options.system.as_deref();
        let start = ConversationEntry::Start {
            provider,
            dialect: self.agent.sender.dialect.name().to_owned(),
            model: self.options.model.clone(),
            system: system.map(|system| self.redactor.text(system)),
            session: started_with,
        };
        session.record(start).await?;
        let text = self.redactor.text(&self.options.task);
        session.record(ConversationEntry::Message { text }).await
    }

    pub(crate) fn announce(&self, task: &str, resumed: bool, session: &impl AgentSession) {
        session.emit(SessionEvent::TaskStarted {
            task: self.redactor.text(task),
            model: self.options.model.clone(),
            dialect: self.agent.sender.dialect.name().to_owned(),
            resumed,
        });
    }

    pub(crate) fn announce_end(
        &self,
        ended: &Result<RunReport, AgentError>,
        session: &impl AgentSession,
    ) {
        let report = ended.as_ref().unwrap_or(&self.finished);
        let reason = ended.as_ref().map_or("failed", |ended| ended.reason.name());
        session.emit(SessionEvent::TaskEnded {
            reason: reason.to_owned(),
            text: self.redactor.text(&report.text),
            steps: report.steps,
            input_tokens: report.usage.input_token_count,
            output_tokens: report.usage.output_token_count,
        });
    }

    pub(crate) async fn run_to_end(
        &mut self,
        session: &mut impl AgentSession,
    ) -> Result<RunReport, AgentError> {
        if let Some((provider, started_with)) = self.start.take() {
            self.record_start(provider, started_with, session).await?;
            self.announce(&self.options.task, false, session);
        }
        if let Some(open) = self.open.take()
            && let Some(end) = self.step(open, session).await?
        {
            return Ok(self.ended(end));
        }
        self.send_message(session).await?;
        while self.finished.steps < self.agent.max_steps {
            let mut response = match self.ask(session).await {
                Ok(Some(response)) => response,
                Ok(None) => return Ok(self.ended(EndReason::Cancelled)),
                Err(error) if is_context_exceeded(&error) => {
                    return Ok(self.ended(EndReason::ContextExceeded));
                }
                Err(error) => return Err(error),
            };
            self.record_response(&response, session).await?;
            self.carry_hosted_source(&mut response);
            let end = match response.stop {
                StopReason::Calls if self.only_observes && acts(&response.turn) => {
                    self.planned = response.turn.contents().to_vec();
                    EndReason::Planned
                }
                StopReason::Calls => {
                    self.finished.steps += 1;
                    let open = OpenTurn {
                        turn: response.turn,
                        response: self.responses - 1,
                        started: None,
                    };
                    match self.step(open, session).await? {
                        None => continue,
                        Some(end) => end,
                    }
                }
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

    /// Sends the conversation and adds the response; none if the user stopped the session.
    async fn ask(
        &mut self,
        session: &mut impl AgentSession,
    ) -> Result<Option<Response>, AgentError> {
        let step = u64::from(self.finished.steps) + 1;
        let display = TextDisplay {
            redactor: &self.redactor,
            awaits_hidden_input: match self.agent.sender.text_receiver {
                Some(_) => awaits_hidden_input(session).await?,
                None => false,
            },
        };
        session.emit(SessionEvent::RequestSent {
            step,
            limit: u64::from(self.agent.max_steps),
        });
        let stop = session.until_stopped();
        let emit = session.emitter();
        let sender = &self.agent.sender;
        let response = sender.send(&mut self.conversation, step, display, &emit);
        let received = tokio::select! {
            biased;
            received = session.wait_for(response) => Some(received),
            () = stop => None,
        };
        match received {
            Some(received) => received.map(Some),
            None => {
                session.finish_dropped_turn().await;
                Ok(None)
            }
        }
    }

    /// Adds the message of a resumed run to the conversation.
    async fn send_message(&mut self, session: &mut impl AgentSession) -> Result<(), AgentError> {
        let Some(message) = self.message.take() else {
            return Ok(());
        };
        let message = message.text();
        let text = self.redactor.text(&message);
        session.record(ConversationEntry::Message { text }).await?;
        self.conversation.push_message(&message);
        Ok(())
    }

    /// Executes and answers a turn's calls; returns why the run ends, if it does.
    async fn step(
        &mut self,
        open: OpenTurn,
        session: &mut impl AgentSession,
    ) -> Result<Option<EndReason>, AgentError> {
        let answered = session
            .execute(open.turn, open.response, open.started)
            .await?;
        if let Some(message) = unacknowledged(&answered) {
            return Ok(Some(EndReason::SafetyCheck { message }));
        }
        let report = self.conversation.push_results(&answered)?;
        announce_losses(session, &report);
        Ok(session.is_stopped().then_some(EndReason::Cancelled))
    }

    /// Makes a response durable, before any of its calls is executed.
    async fn record_response(
        &mut self,
        response: &Response,
        session: &mut impl AgentSession,
    ) -> Result<(), AgentError> {
        let hidden = session.hidden_input(&response.turn).await?;
        let is_redacted = !hidden.is_empty();
        self.redactor.hide_input(hidden);
        let mut body = response.body.clone();
        self.redactor.document(&mut body);
        let entry = ConversationEntry::Response {
            body,
            is_redacted,
            turn: None,
        };
        session.record(entry).await?;
        self.responses += 1;
        self.count(response);
        let text = response.text();
        if !text.is_empty() {
            let text = self.redactor.text(&text);
            session.emit(SessionEvent::AssistantMessage { text });
        }
        announce_losses(session, &response.report);
        Ok(())
    }

    /// Gives what the model read at its provider to the turn with its next calls: a response without
    /// any is not executed.
    pub(crate) fn carry_hosted_source(&mut self, response: &mut Response) {
        response.turn.note_hosted_source(self.hosted_source.take());
        if response.stop != StopReason::Calls {
            self.hosted_source = response.turn.hosted_source();
        }
    }

    /// Adds a response's tokens and keeps its text.
    pub(crate) fn count(&mut self, response: &Response) {
        add(&mut self.finished.usage, &response.usage);
        let text = response.text();
        if !text.is_empty() {
            self.finished.text = text;
        }
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
            | ActionKind::WaitFor
            | ActionKind::ReadPage
            | ActionKind::PageText
            | ActionKind::Find
            | ActionKind::ListTabs
            | ActionKind::ListWindows
            | ActionKind::ListMonitors
            | ActionKind::CaptureWindow
            | ActionKind::CaptureMonitor
            | ActionKind::CaptureElement
    )
}

/// The message of an unacknowledged safety check, without which the API rejects the result.
pub(crate) fn unacknowledged(answered: &AnsweredTurn) -> Option<String> {
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

/// Whether the running command waits for input that the shell does not show.
async fn awaits_hidden_input(session: &mut impl AgentSession) -> Result<bool, AgentError> {
    let typed = ShellCall {
        action: ShellAction::SendText("x".to_owned()),
        ..ShellCall::execute("hidden-input", Vec::new())
    };
    let turn = ModelTurn::new(vec![Content::ShellCall(typed)]);
    let turn = turn.map_err(DecodeError::from)?;
    Ok(!session.hidden_input(&turn).await?.is_empty())
}

fn is_context_exceeded(error: &AgentError) -> bool {
    if let AgentError::Stream(StreamError::Provider { message }) = error {
        return exceeds_context("", message);
    }
    let AgentError::Refused { kind, message, .. } = error else {
        return false;
    };
    exceeds_context(kind, message)
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
