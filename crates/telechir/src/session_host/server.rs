//! The session host: starts the devices, serves callers in turn, and closes the session.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use telechir_policy::Policy;
use telechir_protocol::{AnsweredTurn, ModelTurn, ToolResult};
use tokio::net::UnixListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use super::accept::{Acceptor, Caller, Queues, SessionStatus};
use super::flags::Flags;
use super::frames::{MAX_CALL_BYTES, MessageReader};
use super::message::{HostReply, HostRequest, SessionState};
use super::paths::{Lock, SessionPaths};
use super::remote_approver::{NumberedDecision, RemoteApprover};
use crate::args::SessionHostArguments;
use crate::error::CliError;
use crate::policy;
use crate::session::{self, LiveSession};

/// Timeout for a caller's call after its turn started.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for the first caller to connect before a failed start is reported to nobody.
const FIRST_CALLER_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs a session host until the session is closed, idle for too long, or ended by a signal.
pub(crate) async fn run(arguments: SessionHostArguments) -> Result<ExitCode, CliError> {
    let paths = SessionPaths::of(&arguments.name)?;
    let (lock, listener, policy) = match prepare(&paths, &arguments) {
        Ok(Some(prepared)) => prepared,
        Ok(None) => {
            print_status("taken");
            return Ok(ExitCode::SUCCESS);
        }
        Err(failure) => {
            print_status(&format!("failed {}", failure.text()));
            return Err(failure);
        }
    };
    let signals = Signals::new()?;
    print_status("ready");
    let status = Arc::new(SessionStatus::new(
        arguments.name.to_string(),
        Flags::of_session(
            &arguments.devices,
            &arguments.safety,
            arguments.idle_timeout,
        ),
        policy.digest(),
        Duration::from_secs(arguments.idle_timeout),
    ));
    let (queues, acceptor) = Queues::new();
    let host = SessionHost {
        status,
        approver: RemoteApprover::default(),
        queues,
        signals,
        first_page: arguments.devices.first_page().map(str::to_owned),
        served: 0,
    };
    host.run(&arguments, policy, (paths, lock, listener), acceptor)
        .await
}

fn prepare(
    paths: &SessionPaths,
    arguments: &SessionHostArguments,
) -> Result<Option<(Lock, UnixListener, Policy)>, CliError> {
    let Some(lock) = paths.claim()? else {
        return Ok(None);
    };
    let ready =
        policy::load(&arguments.safety).and_then(|policy| Ok((listen(paths, &lock)?, policy)));
    match ready {
        Ok((listener, policy)) => Ok(Some((lock, listener, policy))),
        Err(failure) => {
            paths.release(lock)?;
            Err(failure)
        }
    }
}

fn listen(paths: &SessionPaths, lock: &Lock) -> Result<UnixListener, CliError> {
    paths.listen(lock).map_err(|e| {
        let socket = paths.socket();
        CliError::message(format!("failed to listen on {}: {e}", socket.display()))
    })
}

/// Prints one status line for the process that started us.
fn print_status(line: &str) {
    let mut out = std::io::stdout().lock();
    // If that process is gone, the first turn is never used and the session ends.
    let _best_effort = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Why a session ends.
#[derive(Debug)]
enum SessionEnd {
    Idle,
    Requested(Caller),
    Signal(u8),
    /// The start failed; the caller received the reason.
    Unstarted,
}

/// How a caller's turn ended.
#[derive(Debug, PartialEq, Eq)]
enum TurnOutcome {
    Done,
    /// The caller disconnected before its call started.
    NotTaken,
    /// The devices or the first page failed to start.
    Unstarted,
}

#[derive(Debug)]
struct SessionHost {
    status: Arc<SessionStatus>,
    approver: RemoteApprover,
    queues: Queues,
    signals: Signals,
    /// The page to open before the first turn; the policy judges it like any call.
    first_page: Option<String>,
    served: u64,
}

impl SessionHost {
    async fn run(
        mut self,
        arguments: &SessionHostArguments,
        policy: Policy,
        (paths, lock, listener): (SessionPaths, Lock, UnixListener),
        mut acceptor: Acceptor,
    ) -> Result<ExitCode, CliError> {
        let status = Arc::clone(&self.status);
        let (live, end) = tokio::select! {
            ended = self.serve_session(arguments, policy) => ended,
            () = acceptor.accept_all(&listener, &status) => (None, SessionEnd::Unstarted),
        };
        status.set(SessionState::Closing);
        paths.stop_listening(listener);
        acceptor.close(&status).await;
        let closed = match live {
            Some(live) => live.close().await,
            None => Ok(()),
        };
        paths.release(lock)?;
        let code = match end {
            SessionEnd::Signal(number) => ExitCode::from(128 + number),
            SessionEnd::Idle | SessionEnd::Requested(_) | SessionEnd::Unstarted => {
                ExitCode::SUCCESS
            }
        };
        let problem = closed
            .as_ref()
            .err()
            .map(|failure| failure.text().to_owned());
        self.notify_all(end, problem).await;
        closed.map(|()| code)
    }

    /// Starts the devices and serves turns until the session ends.
    async fn serve_session(
        &mut self,
        arguments: &SessionHostArguments,
        policy: Policy,
    ) -> (Option<LiveSession>, SessionEnd) {
        let started = {
            let approver = self.approver.clone();
            let who = format!("session {}", arguments.name);
            let start = session::start(
                &arguments.devices,
                &arguments.safety,
                policy,
                approver,
                &who,
            );
            tokio::select! {
                biased;
                end = wait_for_end(&mut self.signals, &mut self.queues.closes) => Err(end),
                started = start => Ok(started),
            }
        };
        match started {
            Err(end) => (None, end),
            Ok(Err(failure)) => {
                let message = failure.text().to_owned();
                tracing::warn!(message, "the session did not start");
                // Report the failure to the caller that started us, which may still be connecting.
                if let Ok(Some(caller)) =
                    timeout(FIRST_CALLER_TIMEOUT, self.queues.turns.recv()).await
                {
                    caller.send(&HostReply::Failed { message }).await;
                }
                (None, SessionEnd::Unstarted)
            }
            Ok(Ok(mut live)) => {
                let end = self.serve_turns(&mut live).await;
                (Some(live), end)
            }
        }
    }

    async fn serve_turns(&mut self, live: &mut LiveSession) -> SessionEnd {
        loop {
            self.status.set(SessionState::Idle);
            let stop = live.session.until_stopped();
            let idle_end = Instant::now() + self.status.idle_limit;
            let mut caller = tokio::select! {
                biased;
                end = wait_for_end(&mut self.signals, &mut self.queues.closes) => return end,
                Some(caller) = self.queues.turns.recv() => caller,
                _why = stop => {
                    live.session.finish_dropped_turn().await;
                    continue;
                }
                () = sleep_until(idle_end) => return SessionEnd::Idle,
            };
            self.status.waiting.fetch_sub(1, Ordering::Relaxed);
            self.status.set(SessionState::Busy);
            let served = {
                let turn = serve_turn(live, &self.approver, &mut self.first_page, &mut caller);
                tokio::select! {
                    biased;
                    end = wait_for_end(&mut self.signals, &mut self.queues.closes) => Err(end),
                    turn = turn => Ok(turn),
                }
            };
            self.approver.detach().await;
            match served {
                Err(end) => {
                    let message =
                        format!("session {} was closed during the call", self.status.name);
                    caller.send(&HostReply::Failed { message }).await;
                    return end;
                }
                Ok(TurnOutcome::Unstarted) => return SessionEnd::Unstarted,
                Ok(TurnOutcome::NotTaken) if self.served == 0 && self.queues.turns.is_empty() => {
                    tracing::info!("the caller that started the session left without using it");
                    return SessionEnd::Unstarted;
                }
                Ok(TurnOutcome::NotTaken) => {}
                Ok(TurnOutcome::Done) => self.served += 1,
            }
        }
    }

    /// Notifies all waiting callers that the session is closed.
    async fn notify_all(mut self, end: SessionEnd, problem: Option<String>) {
        tracing::info!(?end, "the session is closed");
        let message = format!(
            "session {}: it was closed; nothing was executed",
            self.status.name
        );
        self.queues.turns.close();
        while let Some(caller) = self.queues.turns.recv().await {
            let message = message.clone();
            caller.send(&HostReply::Failed { message }).await;
        }
        self.queues.closes.close();
        if let SessionEnd::Requested(caller) = end {
            let problem = problem.clone();
            caller.send(&HostReply::Closed { problem }).await;
        }
        while let Some(caller) = self.queues.closes.recv().await {
            let problem = problem.clone();
            caller.send(&HostReply::Closed { problem }).await;
        }
    }
}

/// Waits for a signal or a close request.
async fn wait_for_end(signals: &mut Signals, closes: &mut mpsc::Receiver<Caller>) -> SessionEnd {
    tokio::select! {
        number = signals.next() => SessionEnd::Signal(number),
        Some(caller) = closes.recv() => SessionEnd::Requested(caller),
    }
}

/// Serves one caller's turn. Dropping this cancels its call.
async fn serve_turn(
    live: &mut LiveSession,
    approver: &RemoteApprover,
    first_page: &mut Option<String>,
    caller: &mut Caller,
) -> TurnOutcome {
    caller.send(&HostReply::YourTurn).await;
    let request = timeout(
        CALL_TIMEOUT,
        caller.reader.next::<HostRequest>(MAX_CALL_BYTES),
    )
    .await;
    let (screenshots, interface, contents) = match request {
        Ok(Ok(Some(HostRequest::CarryOut {
            screenshots,
            interface,
            contents,
        }))) => (screenshots, interface, contents),
        Ok(Err(error)) => {
            let message = format!("failed to read the call: {error}; nothing was executed");
            caller.send(&HostReply::Failed { message }).await;
            return TurnOutcome::NotTaken;
        }
        Ok(Ok(_)) | Err(_) => return TurnOutcome::NotTaken,
    };
    let turn = live
        .set_screenshots(&screenshots)
        .and_then(|()| Ok(ModelTurn::new(contents)?));
    let turn = match turn {
        Ok(turn) => turn,
        Err(failure) => {
            let message = failure.text().to_owned();
            caller.send(&HostReply::Failed { message }).await;
            return TurnOutcome::NotTaken;
        }
    };
    let writer = Arc::clone(&caller.writer);
    let answers = approver.attach(writer, interface).await;
    let outcome = {
        let work = execute(live, first_page, turn);
        tokio::select! {
            biased;
            () = relay_decisions(&mut caller.reader, &answers) => None,
            outcome = work => Some(outcome),
        }
    };
    match outcome {
        None => {
            live.session.finish_dropped_turn().await;
            caller.send(&HostReply::Cancelled).await;
            TurnOutcome::Done
        }
        Some(Ok(answered)) => {
            let results = answered.results().iter().cloned();
            let results = results.map(ToolResult::into_content).collect();
            caller.send(&HostReply::Answered { results }).await;
            TurnOutcome::Done
        }
        Some(Err(failure)) => {
            let message = failure.text().to_owned();
            caller.send(&HostReply::Failed { message }).await;
            if first_page.is_some() {
                TurnOutcome::Unstarted
            } else {
                TurnOutcome::Done
            }
        }
    }
}

async fn execute(
    live: &mut LiveSession,
    first_page: &mut Option<String>,
    turn: ModelTurn,
) -> Result<AnsweredTurn, CliError> {
    if let Some(url) = first_page.as_deref() {
        live.navigate(url).await?;
    }
    *first_page = None;
    live.execute(turn).await
}

/// Forwards the user's decisions until the caller disconnects or sends anything else.
async fn relay_decisions(reader: &mut MessageReader, answers: &mpsc::Sender<NumberedDecision>) {
    while let Ok(Some(HostRequest::Decide { number, decision })) = reader.next(MAX_CALL_BYTES).await
    {
        // A decision without an open question is dropped.
        let _no_question = answers.try_send((number, decision));
    }
}

/// Signals that close a session.
#[derive(Debug)]
struct Signals([(u8, Signal); 3]);

impl Signals {
    fn new() -> Result<Self, CliError> {
        Ok(Self([
            (2, signal(SignalKind::interrupt())?),
            (15, signal(SignalKind::terminate())?),
            (1, signal(SignalKind::hangup())?),
        ]))
    }

    async fn next(&mut self) -> u8 {
        let [first, second, third] = &mut self.0;
        tokio::select! {
            _ = first.1.recv() => first.0,
            _ = second.1.recv() => second.0,
            _ = third.1.recv() => third.0,
        }
    }
}
