//! The holder: starts the devices, gives callers their turns, and closes in order.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use telechir_policy::Policy;
use telechir_protocol::{AnsweredTurn, ModelTurn, ToolResult};
use telechir_providers::Dialect;
use tokio::net::UnixListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use super::accept::{Board, Door, Queues, Visitor};
use super::flags::Flags;
use super::frames::{LARGE, Reader};
use super::message::{Reply, Request, State};
use super::paths::{Lock, Place};
use super::remote_approver::{Answer, Desk};
use crate::args::SessionHostArguments;
use crate::error::Failure;
use crate::policy;
use crate::session::{self, Open};

/// For a caller whose turn it is to say what it wants.
const SAY: Duration = Duration::from_secs(30);
/// For the caller that started us to come, when there is only bad news.
const COME: Duration = Duration::from_secs(10);

/// Holds a session until it is closed, idle for too long, or told to end by a signal.
pub(crate) async fn hold(arguments: SessionHostArguments) -> Result<ExitCode, Failure> {
    let place = Place::of(&arguments.name)?;
    let (lock, listener, policy) = match prepare(&place, &arguments) {
        Ok(Some(prepared)) => prepared,
        Ok(None) => {
            say("taken");
            return Ok(ExitCode::SUCCESS);
        }
        Err(failure) => {
            say(&format!("failed {}", failure.text()));
            return Err(failure);
        }
    };
    let signals = Signals::new()?;
    say("ready");
    let board = Arc::new(Board::new(
        arguments.name.to_string(),
        Flags::of_session(
            &arguments.devices,
            &arguments.safety,
            arguments.idle_timeout,
        ),
        policy.digest(),
        Duration::from_secs(arguments.idle_timeout),
    ));
    let (queues, door) = Queues::new();
    let session_host = Holder {
        board,
        desk: Desk::default(),
        queues,
        signals,
        opening: arguments.devices.opening_page().map(str::to_owned),
        served: 0,
    };
    session_host
        .run(&arguments, policy, (place, lock, listener), door)
        .await
}

fn prepare(
    place: &Place,
    arguments: &SessionHostArguments,
) -> Result<Option<(Lock, UnixListener, Policy)>, Failure> {
    let Some(lock) = place.claim()? else {
        return Ok(None);
    };
    let ready = policy::load(arguments.safety.policy.as_deref())
        .and_then(|policy| Ok((listen(place, &lock)?, policy)));
    match ready {
        Ok((listener, policy)) => Ok(Some((lock, listener, policy))),
        Err(failure) => {
            place.release(lock)?;
            Err(failure)
        }
    }
}

fn listen(place: &Place, lock: &Lock) -> Result<UnixListener, Failure> {
    place.listen(lock).map_err(|e| {
        let socket = place.socket();
        Failure::message(format!("failed to listen on {}: {e}", socket.display()))
    })
}

/// Says one line to whoever started us.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody may be there any more: then the first turn is never taken, and we end.
    let _best_effort = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Why a session ends.
#[derive(Debug)]
enum End {
    Idle,
    Asked(Visitor),
    Signal(u8),
    /// Its start was not finished: the reason was told to the caller.
    Unstarted,
}

/// How a visitor's turn ended.
#[derive(Debug, PartialEq, Eq)]
enum Turn {
    Done,
    /// The caller left, with nothing begun.
    NotTaken,
    /// The session could not be brought to its beginning.
    Unstarted,
}

#[derive(Debug)]
struct Holder {
    board: Arc<Board>,
    desk: Desk,
    queues: Queues,
    signals: Signals,
    /// The page to open before the first turn; judged like any call.
    opening: Option<String>,
    served: u64,
}

impl Holder {
    async fn run(
        mut self,
        arguments: &SessionHostArguments,
        policy: Policy,
        (place, lock, listener): (Place, Lock, UnixListener),
        mut door: Door,
    ) -> Result<ExitCode, Failure> {
        let board = Arc::clone(&self.board);
        let (open, end) = tokio::select! {
            ended = self.live(arguments, policy) => ended,
            () = door.open(&listener, &board) => (None, End::Unstarted),
        };
        board.set(State::Closing);
        place.stop_listening(listener);
        door.close(&board).await;
        let closed = match open {
            Some(open) => open.close().await,
            None => Ok(()),
        };
        place.release(lock)?;
        let code = match end {
            End::Signal(number) => ExitCode::from(128 + number),
            End::Idle | End::Asked(_) | End::Unstarted => ExitCode::SUCCESS,
        };
        let problem = closed
            .as_ref()
            .err()
            .map(|failure| failure.text().to_owned());
        self.tell_all(end, problem).await;
        closed.map(|()| code)
    }

    /// Starts the devices and gives turns until the session is to end.
    async fn live(
        &mut self,
        arguments: &SessionHostArguments,
        policy: Policy,
    ) -> (Option<Open>, End) {
        let started = {
            let desk = self.desk.clone();
            let who = format!("session {}", arguments.name);
            let start = session::start(&arguments.devices, &arguments.safety, policy, desk, &who);
            tokio::select! {
                biased;
                end = ask_for_end(&mut self.signals, &mut self.queues.closes) => Err(end),
                started = start => Ok(started),
            }
        };
        match started {
            Err(end) => (None, end),
            Ok(Err(failure)) => {
                let message = failure.text().to_owned();
                tracing::warn!(message, "the session did not start");
                // The caller that started us comes, if it is not here already.
                if let Ok(Some(visitor)) = timeout(COME, self.queues.turns.recv()).await {
                    visitor.tell(&Reply::Failed { message }).await;
                }
                (None, End::Unstarted)
            }
            Ok(Ok(mut open)) => {
                let end = self.give_turns(&mut open).await;
                (Some(open), end)
            }
        }
    }

    async fn give_turns(&mut self, open: &mut Open) -> End {
        loop {
            self.board.set(State::Idle);
            let stop = open.session.until_stopped();
            let idle_end = Instant::now() + self.board.idle_limit;
            let mut visitor = tokio::select! {
                biased;
                end = ask_for_end(&mut self.signals, &mut self.queues.closes) => return end,
                Some(visitor) = self.queues.turns.recv() => visitor,
                _why = stop => {
                    open.session.settle().await;
                    continue;
                }
                () = sleep_until(idle_end) => return End::Idle,
            };
            self.board.waiting.fetch_sub(1, Ordering::Relaxed);
            self.board.set(State::Busy);
            let served = {
                let turn = serve(open, &self.desk, &mut self.opening, &mut visitor);
                tokio::select! {
                    biased;
                    end = ask_for_end(&mut self.signals, &mut self.queues.closes) => Err(end),
                    turn = turn => Ok(turn),
                }
            };
            self.desk.leave().await;
            match served {
                Err(end) => {
                    let message = format!("session {} was closed during the call", self.board.name);
                    visitor.tell(&Reply::Failed { message }).await;
                    return end;
                }
                Ok(Turn::Unstarted) => return End::Unstarted,
                Ok(Turn::NotTaken) if self.served == 0 && self.queues.turns.is_empty() => {
                    tracing::info!("whoever started the session left before it was used");
                    return End::Unstarted;
                }
                Ok(Turn::NotTaken) => {}
                Ok(Turn::Done) => self.served += 1,
            }
        }
    }

    /// Tells those who wait that the session is over.
    async fn tell_all(mut self, end: End, problem: Option<String>) {
        tracing::info!(?end, "the session is closed");
        let message = format!(
            "session {}: it was closed; nothing was carried out",
            self.board.name
        );
        self.queues.turns.close();
        while let Some(visitor) = self.queues.turns.recv().await {
            let message = message.clone();
            visitor.tell(&Reply::Failed { message }).await;
        }
        self.queues.closes.close();
        if let End::Asked(visitor) = end {
            let problem = problem.clone();
            visitor.tell(&Reply::Closed { problem }).await;
        }
        while let Some(visitor) = self.queues.closes.recv().await {
            let problem = problem.clone();
            visitor.tell(&Reply::Closed { problem }).await;
        }
    }
}

/// Waits for a signal or for someone who asks for the end.
async fn ask_for_end(signals: &mut Signals, closes: &mut mpsc::Receiver<Visitor>) -> End {
    tokio::select! {
        number = signals.next() => End::Signal(number),
        Some(visitor) = closes.recv() => End::Asked(visitor),
    }
}

/// Gives a caller its turn. When this is dropped, its call is cancelled.
async fn serve(
    open: &mut Open,
    desk: &Desk,
    opening: &mut Option<String>,
    visitor: &mut Visitor,
) -> Turn {
    visitor.tell(&Reply::YourTurn).await;
    let said = timeout(SAY, visitor.reader.next::<Request>(LARGE)).await;
    let (dialect, contents) = match said {
        Ok(Ok(Some(Request::CarryOut { dialect, contents }))) => (dialect, contents),
        Ok(Err(error)) => {
            let message = format!("the call could not be read: {error}; nothing was carried out");
            visitor.tell(&Reply::Failed { message }).await;
            return Turn::NotTaken;
        }
        Ok(Ok(_)) | Err(_) => return Turn::NotTaken,
    };
    let turn = dialect
        .parse::<Dialect>()
        .map_err(Failure::from)
        .and_then(|dialect| Ok((dialect, ModelTurn::new(contents)?)));
    let (dialect, turn) = match turn {
        Ok(turn) => turn,
        Err(failure) => {
            let message = failure.text().to_owned();
            visitor.tell(&Reply::Failed { message }).await;
            return Turn::NotTaken;
        }
    };
    open.view(dialect, None);
    let answers = desk.seat(Arc::clone(&visitor.writer)).await;
    let outcome = {
        let work = carry_out(open, opening, turn);
        tokio::select! {
            biased;
            () = attend(&mut visitor.reader, &answers) => None,
            outcome = work => Some(outcome),
        }
    };
    match outcome {
        None => {
            open.session.settle().await;
            visitor.tell(&Reply::Cancelled).await;
            Turn::Done
        }
        Some(Ok(answered)) => {
            let results = answered.results().iter().cloned();
            let results = results.map(ToolResult::into_content).collect();
            visitor.tell(&Reply::Answered { results }).await;
            Turn::Done
        }
        Some(Err(failure)) => {
            let message = failure.text().to_owned();
            visitor.tell(&Reply::Failed { message }).await;
            if opening.is_some() {
                Turn::Unstarted
            } else {
                Turn::Done
            }
        }
    }
}

async fn carry_out(
    open: &mut Open,
    opening: &mut Option<String>,
    turn: ModelTurn,
) -> Result<AnsweredTurn, Failure> {
    if let Some(url) = opening.as_deref() {
        open.navigate(url).await?;
    }
    *opening = None;
    open.carry_out(turn).await
}

/// Hands a person's answers over until the caller leaves or says what it should not.
async fn attend(reader: &mut Reader, answers: &mpsc::Sender<Answer>) {
    while let Ok(Some(Request::Decide { number, decision })) = reader.next(LARGE).await {
        // Nobody waits for an answer that was not asked for.
        let _not_asked = answers.try_send((number, decision));
    }
}

/// The signals that end a session in order.
#[derive(Debug)]
struct Signals([(u8, Signal); 3]);

impl Signals {
    fn new() -> Result<Self, Failure> {
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
