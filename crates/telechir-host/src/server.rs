//! The session host: starts the devices, serves turns in order of arrival, and closes the session.

mod approver;
mod call_questions;
mod calls;
mod connections;
mod control;
mod devtools;
mod ended_turns;
mod events;
mod person;
mod person_turns;
mod status;
mod tasks;

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{PidfdFlags, getppid, pidfd_open};
use telechir_protocol::{AnsweredTurn, ModelTurn, ToolResult};
use telechir_runtime::{JournalError, NewestOutput, RuntimeError, Session, TurnIdentity};
use tokio::net::UnixListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until, timeout};

pub use approver::HostApprover;
pub use call_questions::{CallQuestions, ViewedSession};
use calls::{Call, CallEnd, CallTable};
use connections::{Closer, Connections, Shared};
use control::{ControlSlot, EventSlot, SessionControl};
pub use control::{Extending, PolicySource, TimeExtender};
use devtools::{DevtoolsConnections, DevtoolsRequest};
use person::{PersonControl, PersonRequest};
pub use person_turns::PersonTurns;
pub use status::HostSettings;
use status::SessionStatus;
pub use tasks::HostedTools;
use tasks::{TaskRequest, TaskRequests, refuse_all, serve_task};

use crate::approvals::{ApprovalQueue, UnsandboxedDevices};
use crate::launch::StartReport;
use crate::paths::Lock;
use crate::probe::exited;
use crate::{
    HostError, HostErrorKind, ScreenshotsFor, SessionPaths, SessionState, TurnRequest, error_chain,
};

/// Time for the first client to connect before a failed start is reported to nobody.
const FIRST_CLIENT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a call waits for a person who has control before it is answered that one has.
const CONTROL_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of requests to close the session that wait for its end.
const MAX_CLOSERS: usize = 64;

/// Starts the devices of a session.
pub trait SessionStarter {
    /// The session with its devices.
    type Session: HostedSession;

    /// Starts the devices. Questions go to `approver`.
    fn start(self, approver: HostApprover) -> impl Future<Output = Result<Self::Session, String>>;
}

/// A session with everything that it owns, as a session host serves it.
pub trait HostedSession {
    /// The session that executes the turns.
    fn session(&mut self) -> &mut Session;

    /// Sends the screenshots of later turns as a client requires.
    ///
    /// # Errors
    /// When the client's dialect is unknown.
    fn set_screenshots(&mut self, whom: &ScreenshotsFor) -> Result<(), String>;

    /// What a model can use of the devices.
    fn tools(&self) -> HostedTools;

    /// Prepares the first turn, which a page or a file may precede; called before every turn until
    /// it succeeds once. A failure ends the session.
    fn prepare(&mut self) -> impl Future<Output = Result<(), String>>;

    /// Reads the session's policy again, for a reload; called at any time until the session is closed.
    /// Without an error the new policy also counts for what the devices' programs do themselves.
    fn policy_source(&self) -> PolicySource;

    /// Gives what the session rents at services more time; called at any time until it is closed.
    fn time_extender(&self) -> TimeExtender;

    /// Ends everything that the session owns.
    fn close(self) -> impl Future<Output = Result<(), String>>;
}

/// How a session host ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostEnd {
    /// The session is closed.
    Closed,
    /// Another process already serves the session.
    Taken,
    /// The session is closed because of this signal.
    Signal(u8),
}

/// Serves a session until it is closed, idle for too long, or ended by a signal. `prepare` runs once
/// the session's name is taken; its failure is reported to the process that launched this one.
///
/// # Errors
/// When the session cannot be served, or was not closed cleanly.
pub async fn serve<S: SessionStarter>(
    paths: &SessionPaths,
    prepare: impl FnOnce() -> Result<(HostSettings, S), String>,
) -> Result<HostEnd, HostError> {
    let Some(lock) = paths.claim()? else {
        let _nobody_waits = StartReport::Taken.print();
        return Ok(HostEnd::Taken);
    };
    let prepared = prepare().and_then(|prepared| {
        let listening = Listening::start(paths, &lock).map_err(|e| {
            let socket = paths.socket();
            format!("failed to listen on {}: {e}", socket.display())
        })?;
        Ok((prepared, listening))
    });
    let ((settings, starter), listening) = match prepared {
        Ok(prepared) => prepared,
        Err(reason) => {
            paths.release(lock)?;
            let _nobody_waits = StartReport::Failed(reason.clone()).print();
            return Err(HostError::new(reason));
        }
    };
    // A session without a turn ends with the process that started it. That process reads the report,
    // so it is the parent until then.
    let parent = getppid().and_then(|parent| pidfd_open(parent, PidfdFlags::empty()).ok());
    let is_awaited = StartReport::Ready.print().is_ok();
    let Listening {
        listener,
        signals,
        hangups,
        unsandboxed,
    } = listening;
    let (closes, close_requests) = mpsc::channel(MAX_CLOSERS);
    let calls = Arc::<CallTable>::default();
    let queue = ApprovalQueue::new(
        settings.approval_timeout,
        unsandboxed,
        settings.standing.clone(),
    );
    let (person, person_requests) = PersonControl::new();
    let (devtools, devtools_requests) = DevtoolsConnections::new();
    let (tasks, task_requests) = TaskRequests::new();
    let control = ControlSlot::new();
    let shared = Arc::new(Shared {
        person: Arc::new(person),
        devtools: Arc::new(devtools),
        tasks: Arc::new(tasks),
        message: NewestOutput::default(),
        status: SessionStatus::new(paths.name.to_string(), settings),
        approver: HostApprover::new(Arc::clone(&calls), queue, control.clone()),
        calls,
        closes,
        control,
    });
    let reloads = tokio::spawn(reload_on_signal(hangups, Arc::clone(&shared)));
    let unused = {
        let shared = Arc::clone(&shared);
        async move {
            let is_gone = match parent {
                Some(parent) if is_awaited => exited(parent).await.is_ok(),
                Some(_) | None => !is_awaited,
            };
            if is_gone {
                shared.end_if_unused();
            }
        }
    };
    let start = tokio::spawn(unused);
    let host = SessionHost {
        shared,
        person_requests,
        devtools_requests,
        task_requests,
        ends: Ends {
            signals,
            close_requests,
        },
    };
    let ended = host.run(starter, paths, lock, listener).await;
    reloads.abort();
    start.abort();
    ended
}

/// Reloads the policy with every hang-up signal.
async fn reload_on_signal(mut hangups: Signal, shared: Arc<Shared>) {
    while hangups.recv().await.is_some() {
        match shared.reload() {
            Ok(policy) => tracing::info!(%policy, "the policy was reloaded"),
            Err(message) => tracing::warn!(message, "the policy was not reloaded"),
        }
    }
}

/// What a session host reacts to.
struct Listening {
    listener: UnixListener,
    signals: Signals,
    hangups: Signal,
    unsandboxed: UnsandboxedDevices,
}

impl Listening {
    fn start(paths: &SessionPaths, lock: &Lock) -> io::Result<Self> {
        Ok(Self {
            listener: paths.listen(lock)?,
            signals: Signals::new()?,
            hangups: signal(SignalKind::hangup())?,
            unsandboxed: UnsandboxedDevices::of(paths.folder())?,
        })
    }
}

/// Why a session ends.
#[derive(Debug)]
enum SessionEnd {
    Idle,
    Requested(Closer),
    Signal(u8),
    /// The start failed; the client received the reason.
    Unstarted,
}

/// How a turn ended.
#[derive(Debug, PartialEq, Eq)]
enum TurnOutcome {
    Done,
    /// It was cancelled or invalid before anything started.
    NotTaken,
    /// The devices or the first page failed to start.
    Unstarted,
}

#[derive(Debug)]
struct SessionHost {
    shared: Arc<Shared>,
    person_requests: mpsc::Receiver<PersonRequest>,
    devtools_requests: mpsc::Receiver<DevtoolsRequest>,
    task_requests: mpsc::Receiver<TaskRequest>,
    ends: Ends,
}

impl SessionHost {
    async fn run<S: SessionStarter>(
        mut self,
        starter: S,
        paths: &SessionPaths,
        lock: Lock,
        listener: UnixListener,
    ) -> Result<HostEnd, HostError> {
        let shared = Arc::clone(&self.shared);
        let mut connections = Connections::new();
        let (session, end) = tokio::select! {
            ended = self.serve_session(starter) => ended,
            () = connections.accept_all(&listener, &shared) => (None, SessionEnd::Unstarted),
        };
        tracing::info!(?end, "the session ends");
        shared.status.set(SessionState::Closing);
        paths.stop_listening(listener);
        shared.calls.close(&format!(
            "session {}: it was closed; nothing was executed",
            shared.status.name
        ));
        refuse_all(&mut self.task_requests, "the session is being closed");
        let closed = match session {
            Some(session) => session.close().await,
            None => Ok(()),
        };
        shared.control.close();
        // While the name is ours: the next session with it may have a token at once.
        shared.status.revoke_tokens();
        paths.release(lock)?;
        self.report_closed(&end, closed.as_ref().err()).await;
        connections.close().await;
        closed.map_err(HostError::new)?;
        Ok(match end {
            SessionEnd::Signal(number) => HostEnd::Signal(number),
            SessionEnd::Idle | SessionEnd::Requested(_) | SessionEnd::Unstarted => HostEnd::Closed,
        })
    }

    /// Starts the devices and serves turns until the session ends.
    async fn serve_session<S: SessionStarter>(
        &mut self,
        starter: S,
    ) -> (Option<S::Session>, SessionEnd) {
        let approver = self.shared.approver.clone();
        let started = tokio::select! {
            biased;
            end = self.ends.next() => Err(end),
            started = starter.start(approver) => Ok(started),
        };
        match started {
            Err(end) => (None, end),
            Ok(Err(message)) => {
                tracing::warn!(message, "the session did not start");
                // Report the failure to the client that started us, which may still be connecting.
                let first = async {
                    tokio::select! {
                        _call = self.shared.calls.next() => None,
                        request = self.task_requests.recv() => request,
                    }
                };
                match timeout(FIRST_CLIENT_TIMEOUT, first).await {
                    Ok(None) => {
                        let end = CallEnd::Failed(HostError::new(message.as_str()));
                        self.shared.calls.finish(end, false);
                    }
                    Ok(Some(request)) => request.refuse(&message),
                    Err(_too_late) => {}
                }
                refuse_all(&mut self.task_requests, &message);
                self.shared.calls.close(&message);
                (None, SessionEnd::Unstarted)
            }
            Ok(Ok(mut session)) => {
                let end = match self.open(&mut session).await {
                    Ok(control) => self.serve_turns(&mut session, &control).await,
                    Err(message) => {
                        self.shared.calls.close(&message);
                        refuse_all(&mut self.task_requests, &message);
                        SessionEnd::Unstarted
                    }
                };
                (Some(session), end)
            }
        }
    }

    /// Gives clients access to a session that has started.
    async fn open(&self, hosted: &mut impl HostedSession) -> Result<Arc<SessionControl>, String> {
        let policy_source = hosted.policy_source();
        let time_extender = hosted.time_extender();
        let session = hosted.session();
        session.set_control(self.shared.person.lease());
        let failed = |e: &dyn std::error::Error| format!("failed to {}", error_chain(e));
        let recording = session.recording().map_err(|e| failed(&e))?;
        if self.shared.status.is_resumed() {
            let turns = recording.turns().await.map_err(|e| failed(&e))?;
            self.shared.calls.restore(turns);
        }
        let control = Arc::new(SessionControl {
            recording,
            screens: session.screens(),
            page: session.page_outline(),
            output: session.shell_output(),
            policy_slot: session.policy_slot(),
            policy_source,
            time_extender: Some(time_extender),
            policy_changed: Notify::new(),
            events: EventSlot::new(session.event_sender()),
        });
        self.shared.control.set(Arc::clone(&control));
        Ok(control)
    }

    async fn serve_turns(
        &mut self,
        hosted: &mut impl HostedSession,
        control: &SessionControl,
    ) -> SessionEnd {
        let shared = Arc::clone(&self.shared);
        let mut parked = None;
        loop {
            shared.status.set(SessionState::Idle);
            let stop = hosted.session().until_stopped();
            let call = tokio::select! {
                biased;
                end = self.ends.next() => {
                    shared.fail_call();
                    return end;
                }
                Some(request) = self.person_requests.recv() => {
                    serve_person(hosted, &shared, request).await;
                    continue;
                }
                () = shared.devtools.check_is_due() => {
                    shared.devtools.check(hosted.session()).await;
                    continue;
                }
                Some(request) = self.devtools_requests.recv() => {
                    if shared.person.is_taken() {
                        devtools::refuse_devtools(request);
                        continue;
                    }
                    let served = tokio::select! {
                        biased;
                        end = self.ends.next() => Err(end),
                        served = serve_program(hosted, &shared, request) => Ok(served),
                    };
                    match served {
                        Ok(()) => continue,
                        Err(end) => return end,
                    }
                }
                Some(request) = self.task_requests.recv() => {
                    shared.calls.note_use();
                    serve_task(hosted, request).await;
                    shared.note_use();
                    continue;
                }
                () = shared.person.expired() => {
                    shared.person.finish(hosted.session()).await;
                    shared.note_use();
                    continue;
                }
                call = next_call(&shared, &mut parked) => call,
                _why = stop => {
                    hosted.session().finish_dropped_turn().await;
                    continue;
                }
                () = control.policy_changed.notified() => {
                    hosted.session().apply_policy();
                    continue;
                }
                () = shared.status.idle_too_long(), if !shared.person.is_taken() => {
                    return SessionEnd::Idle;
                }
            };
            shared.status.set(SessionState::Busy);
            let served = tokio::select! {
                biased;
                end = self.ends.next() => Err(end),
                turn = serve_turn(hosted, &shared, &call) => Ok(turn),
            };
            match served {
                Err(end) => {
                    shared.fail_call();
                    return end;
                }
                Ok((outcome, end)) => {
                    shared.status.set(SessionState::Idle);
                    shared.calls.finish(end, outcome == TurnOutcome::Done);
                    match outcome {
                        TurnOutcome::Unstarted => return SessionEnd::Unstarted,
                        TurnOutcome::NotTaken if shared.calls.is_unused() => {
                            tracing::info!(
                                "the client that started the session left without using it"
                            );
                            return SessionEnd::Unstarted;
                        }
                        TurnOutcome::NotTaken | TurnOutcome::Done => {}
                    }
                }
            }
        }
    }

    /// Reports the end to all clients that requested it.
    async fn report_closed(&mut self, end: &SessionEnd, problem: Option<&String>) {
        if let SessionEnd::Requested(closer) = end {
            closer.reply(problem.cloned()).await;
        }
        let requests = &mut self.ends.close_requests;
        requests.close();
        while let Some(closer) = requests.recv().await {
            closer.reply(problem.cloned()).await;
        }
    }
}

/// The next turn. One that comes while a person has control waits until they give it back, and after a
/// while is served all the same: then its calls are answered that somebody has control. Cancel-safe.
async fn next_call(shared: &Shared, parked: &mut Option<(Arc<Call>, Instant)>) -> Arc<Call> {
    if parked.is_none() {
        let call = shared.calls.next().await;
        if !shared.person.is_taken() {
            return call;
        }
        *parked = Some((call, Instant::now() + CONTROL_TIMEOUT));
    }
    if let Some((call, deadline)) = parked {
        tokio::select! {
            () = shared.person.given_back() => {}
            () = sleep_until(*deadline) => {}
            () = call.cancelled() => {}
        }
    }
    match parked.take() {
        Some((call, _)) => call,
        None => shared.calls.next().await,
    }
}

/// Does what a person requests between turns.
async fn serve_person(hosted: &mut impl HostedSession, shared: &Shared, request: PersonRequest) {
    if matches!(request, PersonRequest::Take { .. }) {
        // Not with the first turn, which may come while the person has control.
        if let Err(message) = hosted.prepare().await {
            tracing::warn!(
                message,
                "a person takes control of a session that is not prepared"
            );
        }
        // What they see and type is for no program.
        shared.devtools.end_all(devtools::PERSON).await;
    }
    shared.person.serve(hosted.session(), request).await;
    shared.note_use();
}

/// Does what a program that drives the browser requests between turns.
async fn serve_program(hosted: &mut impl HostedSession, shared: &Shared, request: DevtoolsRequest) {
    if let Err(message) = hosted.prepare().await {
        tracing::warn!(message, "a program drives a session that is not prepared");
    }
    shared.approver.set_interface(devtools::INTERFACE);
    devtools::serve_devtools(hosted.session(), request).await;
    shared.note_use();
}

/// Executes a turn. Dropping this cancels it.
async fn serve_turn(
    hosted: &mut impl HostedSession,
    shared: &Shared,
    call: &Call,
) -> (TurnOutcome, CallEnd) {
    let Some(request) = call.take_request() else {
        return (TurnOutcome::NotTaken, CallEnd::Cancelled);
    };
    shared.approver.set_interface(request.interface);
    let outcome = {
        let is_resumed = shared.status.is_resumed();
        let identity = TurnIdentity {
            key: call.key.to_string(),
            digest: call.digest,
        };
        let work = execute(hosted, request, identity, is_resumed);
        tokio::select! {
            biased;
            () = call.cancelled() => None,
            outcome = work => Some(outcome),
        }
    };
    match outcome {
        None => {
            hosted.session().finish_dropped_turn().await;
            (TurnOutcome::Done, CallEnd::Cancelled)
        }
        Some(Ok(answered)) => {
            let results = answered.results().iter().cloned();
            let results = results.map(ToolResult::into_content).collect();
            (TurnOutcome::Done, CallEnd::Answered(results))
        }
        Some(Err(Problem::Invalid(message))) => {
            let end = CallEnd::Failed(HostError::new(message));
            (TurnOutcome::NotTaken, end)
        }
        Some(Err(Problem::Unprepared(message))) => {
            let end = CallEnd::Failed(HostError::new(message));
            (TurnOutcome::Unstarted, end)
        }
        Some(Err(Problem::Failed(error))) => (TurnOutcome::Done, CallEnd::Failed(error)),
    }
}

/// Why a turn has no results.
enum Problem {
    /// The request makes no sense.
    Invalid(String),
    /// The session cannot be used.
    Unprepared(String),
    /// It could not be executed to its end.
    Failed(HostError),
}

async fn execute(
    hosted: &mut impl HostedSession,
    request: TurnRequest,
    identity: TurnIdentity,
    is_resumed: bool,
) -> Result<AnsweredTurn, Problem> {
    hosted
        .set_screenshots(&request.screenshots)
        .map_err(Problem::Invalid)?;
    let may_be_retry = is_resumed && !request.is_new;
    let turn = ModelTurn::new(request.contents);
    let mut turn = turn.map_err(|e| Problem::Invalid(format!("failed to {e}")))?;
    turn.note_hosted_source(request.hosted_source);
    hosted.prepare().await.map_err(Problem::Unprepared)?;
    let session = hosted.session();
    let answered = session.execute_identified(turn, identity, may_be_retry);
    let answered = answered.await;
    answered.map_err(|e| Problem::Failed(failure(&e)))
}

fn failure(error: &RuntimeError) -> HostError {
    let kind = match error {
        RuntimeError::Journal(JournalError::OtherDigest { .. }) => HostErrorKind::CallIdReused,
        RuntimeError::Journal(_) | RuntimeError::Incomplete(_) | RuntimeError::Close { .. } => {
            HostErrorKind::Other
        }
    };
    HostError::of(kind, format!("failed to {}", error_chain(error)))
}

/// What ends a session from outside.
#[derive(Debug)]
struct Ends {
    signals: Signals,
    close_requests: mpsc::Receiver<Closer>,
}

impl Ends {
    /// Waits for a signal or a close request. Cancel-safe.
    async fn next(&mut self) -> SessionEnd {
        tokio::select! {
            number = self.signals.next() => SessionEnd::Signal(number),
            Some(closer) = self.close_requests.recv() => SessionEnd::Requested(closer),
        }
    }
}

/// Signals that close a session.
#[derive(Debug)]
struct Signals([(u8, Signal); 2]);

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self([
            (2, signal(SignalKind::interrupt())?),
            (15, signal(SignalKind::terminate())?),
        ]))
    }

    async fn next(&mut self) -> u8 {
        let [first, second] = &mut self.0;
        tokio::select! {
            _ = first.1.recv() => first.0,
            _ = second.1.recv() => second.0,
        }
    }
}
