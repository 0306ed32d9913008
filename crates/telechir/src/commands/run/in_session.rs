//! `run --session`: a task in a session that stays, through its session host.

use std::future::{Future, pending};
use std::pin::pin;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use telechir_agent::{AgentError, AgentSession, Canceller, RunReport};
use telechir_host::{
    DeviceOffer, HostClient, HostError, HostErrorKind, RunningCall, ScreenshotsFor, SessionName,
    TurnKey, TurnRequest,
};
use telechir_policy::Interface;
use telechir_protocol::{AnsweredTurn, ModelTurn};
use telechir_providers::ToolOffer;
use telechir_runtime::{ConversationEntry, SessionEvent};
use tokio::sync::mpsc::unbounded_channel;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{interval, sleep, timeout};

use super::{CANCEL_TIMEOUT, ModelChoice, conclude, declare, last_cancelled, request_options};
use crate::args::RunArguments;
use crate::error::CliError;
use crate::json_events::JsonEvents;
use crate::live_page::serve_beside_command;
use crate::log::print_note;
use crate::progress::Progress;
use crate::session::{Stopped, until_stopped};
use crate::session_config::SessionConfig;
use crate::session_events::{ModelText, RunEvents, SessionEvents};
use crate::session_host::{Caller, answered_contents, enter, host_failure, paths};
use crate::system_prompt::{Machine, ProgramNetwork, SystemTexts};
use crate::terminal_prompt::TerminalPrompt;

/// How long a turn waits while others use the session.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(600);
/// While a model is waited for, the session is kept open so often, for twice that time.
const KEEP_OPEN: Duration = Duration::from_secs(60);
/// How often a session is asked whether a person still has control.
const CONTROL_POLL: Duration = Duration::from_millis(500);
/// Events of the task that the session host has not got yet.
const MAX_UNREPORTED: usize = 1024;

/// Runs the task in the session with this name, which is found or started.
pub(super) async fn run(
    mut arguments: RunArguments,
    name: SessionName,
) -> Result<ExitCode, CliError> {
    let model = ModelChoice::of(&arguments, None)?;
    let texts = SystemTexts::read(&arguments.conversation)?;
    let digest = match &arguments.safety.policy {
        Some(_) => Some(crate::policy::load(&arguments.safety)?.digest()),
        None => None,
    };
    let caller = Caller {
        devices: &arguments.devices,
        safety: &arguments.safety,
        idle_timeout: arguments.idle_timeout,
        policy: digest,
    };
    let paths = paths(&name)?;
    let entered = until_stopped(enter(&paths, caller)).await;
    let client = entered.map_err(|Stopped(number)| CliError::signal(number))??;
    // What the session has decides from here on, whatever flags this call gave.
    let config = SessionConfig::read(&client.description().config)?;
    (arguments.devices, arguments.safety) = (config.devices, config.safety);
    let policy = client.description().policy;
    // The file may have changed since; then nothing is known of the session's own.
    let policy = crate::policy::load(&arguments.safety)
        .ok()
        .filter(|read| read.digest() == policy);
    let (canceller, signal) = Canceller::new();
    let agent = model.agent(&arguments)?.cancelled_by(signal);
    let screenshots = ScreenshotsFor::Model {
        dialect: model.dialect.name().to_owned(),
        name: model.name.clone(),
    };
    let offered = until_stopped(client.offer_devices(screenshots.clone())).await;
    let offer = offered.map_err(|Stopped(number)| CliError::signal(number))?;
    let offer = offer.map_err(host_failure)?;
    let client = Arc::new(client);
    let (message, pieces) = unbounded_channel();
    let to_page = move |piece: &str| {
        // Without its session the run ends soon.
        let _gone = message.send(piece.to_owned());
    };
    let (agent, [text, json_text]) = arguments.conversation.stream_text(agent, to_page);
    let mut showing = JoinSet::new();
    showing.spawn(show_message(Arc::clone(&client), pieces));
    let is_json = arguments.conversation.json;
    let progress = Progress::start(RunEvents::new(events(&client, &offer).await?, text));
    let json = match is_json {
        true => {
            let events = events(&client, &offer).await?;
            Some(JsonEvents::start(RunEvents::new(events, json_text)))
        }
        // Its channel would keep all text of the run.
        false => {
            drop(json_text);
            None
        }
    };
    let cancelled_events = events(&client, &offer).await?;
    let _until_ended = match arguments.conversation.view {
        true => Some(serve_beside_command(&name.to_string()).await?),
        false => None,
    };
    let tool_offer = ToolOffer {
        tools: offer.tools,
        model: Some(model.name.clone()),
    };
    let declaration = declare(model.dialect, &tool_offer)?;
    let machine = Machine {
        devices: &arguments.devices,
        desktop: offer.desktop,
        browser: offer.browser,
        workspace: offer.workspace,
        network: policy
            .as_ref()
            .map_or_else(ProgramNetwork::unknown, ProgramNetwork::of),
        tools: serde_json::to_string(&declaration.tools)?,
    };
    let mut options = request_options(&arguments, &model, declaration);
    options.system = texts.instructions(&machine);
    options.task = arguments.task.clone().unwrap_or_default();
    let mut session = TaskInSession::new(Arc::clone(&client), name.clone(), screenshots);
    session.approval_wait = Duration::from_secs(arguments.approval_wait);
    let (ended, stopped) = {
        let mut work = pin!(agent.run(options, &mut session));
        tokio::select! {
            ended = &mut work => (ended, None),
            stopped = until_stopped(pending::<()>()) => {
                canceller.cancel();
                let ended = timeout(CANCEL_TIMEOUT, work).await;
                (ended.unwrap_or_else(|_| Ok(RunReport::cancelled())), stopped.err())
            }
        }
    };
    let is_end_known = session.end().await;
    progress.finish().await;
    if let Some(Stopped(number)) = stopped {
        if let Some(json) = json {
            json.finish_soon().await;
        }
        let action = timeout(CANCEL_TIMEOUT, last_cancelled(cancelled_events));
        let action = match action.await.ok().flatten() {
            Some(action) => format!("the task was stopped after {action}"),
            None => "the task was stopped".to_owned(),
        };
        let message = format!("{action}; session {name} continues");
        return Err(CliError::stopped(number, message));
    }
    match json {
        Some(json) if is_end_known => {
            let printed = json.finish().await;
            printed.map_err(|Stopped(number)| CliError::signal(number))?;
        }
        // No event ends the lines.
        Some(json) => json.finish_soon().await,
        None => {}
    }
    let is_streamed = arguments.conversation.is_streamed();
    let finished = ended.map_err(|error| model.explain(&error, is_streamed))?;
    conclude(&finished, is_json)
}

/// The session's events from this task on.
async fn events(client: &HostClient, offer: &DeviceOffer) -> Result<SessionEvents, CliError> {
    let events = client.subscribe(Some(offer.next_row)).await;
    Ok(SessionEvents::Hosted(Some(events.map_err(host_failure)?)))
}

/// Shows the model's message to those who look at the session.
async fn show_message(client: Arc<HostClient>, mut pieces: ModelText) {
    while let Some(mut piece) = pieces.recv().await {
        // What arrived meanwhile goes along, up to the end of the message.
        let mut has_ended = piece.is_empty();
        while !has_ended && let Ok(next) = pieces.try_recv() {
            has_ended = next.is_empty();
            piece.push_str(&next);
        }
        let written = (!piece.is_empty()).then_some(piece);
        let end = has_ended.then(String::new);
        for piece in written.into_iter().chain(end) {
            if let Err(error) = client.show_message(piece).await {
                tracing::debug!(%error, "the session does not show what the model writes");
            }
        }
    }
}

/// What the session host is told of the task, in order.
enum TaskReport {
    Event(Box<SessionEvent>),
    /// Everything before it has arrived.
    Flush(oneshot::Sender<()>),
}

/// A session in a session host, as the agent loop uses it.
struct TaskInSession {
    client: Arc<HostClient>,
    name: SessionName,
    screenshots: ScreenshotsFor,
    approval_wait: Duration,
    reports: mpsc::Sender<TaskReport>,
    /// Whether the last event arrived.
    reporting: JoinHandle<bool>,
    /// Key of the turn that executes the response that was recorded last.
    next_turn: Option<TurnKey>,
    /// The turn under way; left here when its future is dropped.
    running: Option<RunningCall>,
    /// The end of the task, which is reported when nothing runs any more.
    ended: Mutex<Option<SessionEvent>>,
}

impl TaskInSession {
    fn new(client: Arc<HostClient>, name: SessionName, screenshots: ScreenshotsFor) -> Self {
        let (reports, queue) = mpsc::channel(MAX_UNREPORTED);
        let reporting = tokio::spawn(report_all(Arc::clone(&client), queue));
        Self {
            client,
            name,
            screenshots,
            approval_wait: Duration::ZERO,
            reports,
            reporting,
            next_turn: None,
            running: None,
            ended: Mutex::default(),
        }
    }

    /// Cancels what runs, then reports the end of the task, and waits until all events have arrived.
    /// Returns whether the session host has the end.
    async fn end(mut self) -> bool {
        if let Some(call) = self.running.take() {
            let _may_have_acted = call.cancel().await;
        }
        let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
        let has_ended = ended.is_some();
        if let Some(event) = ended.take() {
            report(&self.reports, event);
        }
        drop(self.reports);
        self.reporting.await.unwrap_or(false) && has_ended
    }

    /// Waits until the session host has all events so far.
    async fn flush(&self) {
        let (arrived, has_arrived) = oneshot::channel();
        if self.reports.send(TaskReport::Flush(arrived)).await.is_ok() {
            let _ended = has_arrived.await.is_ok();
        }
    }

    /// Waits while a person has control: the model need not hear of it.
    async fn until_given_back(&self) -> Result<(), AgentError> {
        while self
            .client
            .describe()
            .await
            .map_err(failed)?
            .control
            .is_some()
        {
            sleep(CONTROL_POLL).await;
        }
        Ok(())
    }
}

/// Reports events one after the other. Returns whether the last one arrived.
async fn report_all(client: Arc<HostClient>, mut queue: mpsc::Receiver<TaskReport>) -> bool {
    let mut has_arrived = false;
    while let Some(report) = queue.recv().await {
        match report {
            TaskReport::Event(event) => {
                let reported = client.report_task(*event).await;
                has_arrived = reported.is_ok();
                if let Err(error) = reported {
                    tracing::warn!(%error, "the session does not show an event of the task");
                }
            }
            TaskReport::Flush(arrived) => {
                let _nobody_waits = arrived.send(());
            }
        }
    }
    has_arrived
}

fn report(reports: &mpsc::Sender<TaskReport>, event: SessionEvent) {
    if reports
        .try_send(TaskReport::Event(Box::new(event)))
        .is_err()
    {
        tracing::warn!("the session does not show an event of the task: too many wait");
    }
}

fn failed(error: HostError) -> AgentError {
    AgentError::RemoteSession {
        message: error.to_string(),
    }
}

impl AgentSession for TaskInSession {
    async fn record(&mut self, mut entry: ConversationEntry) -> Result<(), AgentError> {
        if let ConversationEntry::Response { turn, .. } = &mut entry {
            let key = TurnKey::unique();
            *turn = Some(key.to_string());
            self.next_turn = Some(key);
        }
        let recorded = self.client.record_conversation(entry).await;
        recorded.map_err(failed)
    }

    async fn hidden_input(&mut self, turn: &ModelTurn) -> Result<Vec<String>, AgentError> {
        if turn.calls().is_empty() {
            return Ok(Vec::new());
        }
        // Not while a person may bring up a prompt.
        self.until_given_back().await?;
        let contents = answered_contents(turn);
        self.client.hidden_input(contents).await.map_err(failed)
    }

    async fn execute(
        &mut self,
        turn: ModelTurn,
        _response: u64,
        _started: Option<u64>,
    ) -> Result<AnsweredTurn, AgentError> {
        self.flush().await;
        self.until_given_back().await?;
        let request = TurnRequest {
            key: self.next_turn.take().unwrap_or_else(TurnKey::unique),
            screenshots: self.screenshots.clone(),
            interface: Interface::Terminal,
            queue_ms: u64::try_from(QUEUE_TIMEOUT.as_millis()).unwrap_or(u64::MAX),
            runs_on: false,
            may_be_retry: false,
            is_new: true,
            hosted_source: turn.hosted_source(),
            contents: answered_contents(&turn),
        };
        let call = self.client.execute(request).await.map_err(failed)?;
        let name = &self.name;
        let queued = || {
            print_note(&format!(
                "session {name} is executing another call; waiting for up to {} seconds",
                QUEUE_TIMEOUT.as_secs()
            ));
        };
        let mut prompt = TerminalPrompt::new(self.approval_wait);
        let results = self.running.insert(call).results(&mut prompt, queued).await;
        self.running = None;
        let results = results.map_err(|error| match error.kind() == HostErrorKind::Busy {
            true => AgentError::RemoteSession {
                message: format!(
                    "session {name} was busy for {} seconds; nothing of the last response was executed",
                    QUEUE_TIMEOUT.as_secs()
                ),
            },
            false => failed(error),
        })?;
        let answered = turn.answer(results);
        answered.map_err(|error| AgentError::RemoteSession {
            message: format!("failed to {error}"),
        })
    }

    fn emit(&self, event: SessionEvent) {
        if matches!(event, SessionEvent::TaskEnded { .. }) {
            *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(event);
        } else {
            report(&self.reports, event);
        }
    }

    fn emitter(&self) -> impl Fn(SessionEvent) + Send + Sync + use<> {
        let reports = self.reports.clone();
        move |event| report(&reports, event)
    }

    async fn wait_for<T: Send>(&mut self, response: impl Future<Output = T> + Send) -> T {
        let mut response = pin!(response);
        let mut ticks = interval(KEEP_OPEN);
        loop {
            tokio::select! {
                biased;
                received = &mut response => return received,
                _ = ticks.tick() => {
                    // The next turn reports a lost session.
                    let _lost = self.client.keep_open(2 * KEEP_OPEN).await;
                }
            }
        }
    }

    fn is_stopped(&self) -> bool {
        false
    }

    /// A session that the user stopped answers every call as cancelled, from which the model learns it.
    fn until_stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        pending()
    }

    async fn finish_dropped_turn(&mut self) {}
}
