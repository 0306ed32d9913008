//! The caller's side: finds a session's holder or starts one, waits for its turn, hands over the
//! calls, and asks the person at this terminal what the holder wants to know.

use std::future::Future;
use std::io::{self, ErrorKind, Write as _};
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use telechir_policy::{Decision, Digest};
use telechir_process::{Readiness, Spawn, Stdio};
use telechir_protocol::{AnsweredTurn, ModelTurn, ToolResult};
use telechir_providers::Dialect;
use telechir_runtime::Approver as _;
use tokio::net::UnixStream;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, timeout};

use super::flags::{Flags, whole};
use super::frames::{LARGE, Reader, SMALL, Writer};
use super::message::{Description, Hello, Reply, Request, to_result};
use super::paths::{Name, Place};
use crate::approver::Terminal;
use crate::args::ExecArguments;
use crate::env;
use crate::error::Failure;
use crate::session::{Stopped, until_stopped};

/// For a holder to greet us; it does that whatever else it does.
const GREETING: Duration = Duration::from_secs(10);
/// For a holder to listen once it was started: its devices come later.
const START: Duration = Duration::from_secs(20);
/// For a holder to come to its end, or to begin to listen.
const CHANGE: Duration = Duration::from_secs(30);
/// Between two looks whether it listens by now; its end is an event.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// For keys to be released and a command to be ended after a call was stopped.
const CANCEL: Duration = Duration::from_secs(15);
/// For every device to be ended, one after the other.
const CLOSE: Duration = Duration::from_secs(200);
/// What a session is closed after when no call comes, in seconds.
const IDLE: u64 = 15 * 60;

/// A session's holder that greeted us.
#[derive(Debug)]
pub(crate) struct Visit {
    pub(crate) description: Description,
    reader: Reader,
    writer: Writer,
    process: OwnedFd,
}

/// What is at a session's place.
#[derive(Debug)]
pub(crate) enum Found {
    /// Its holder.
    Alive(Visit),
    /// What a holder left that ended without closing.
    Dead,
    /// Its holder, about to listen or to end.
    Changing,
    /// Nothing.
    Nothing,
}

/// Carries a turn out in the session with this name, which is started when it has to be.
pub(crate) async fn carry_out(
    arguments: &ExecArguments,
    name: &Name,
    turn: ModelTurn,
    policy: Option<Digest>,
) -> Result<AnsweredTurn, Failure> {
    let place = Place::of(name)?;
    let entered = until_stopped(enter(&place, arguments, policy)).await;
    let before = |Stopped(number)| {
        Failure::stopped(
            number,
            "stopped before the call began; nothing was carried out",
        )
    };
    let mut visit = entered.map_err(before)??;
    let results = until_stopped(visit.converse(arguments.dialect, &turn)).await;
    let stopped = |Stopped(number)| {
        Failure::stopped(
            number,
            format!("the call was stopped; session {name} stays"),
        )
    };
    match results {
        Ok(results) => Ok(turn.answer(results?)?),
        Err(signal) => {
            visit.withdraw().await;
            Err(stopped(signal))
        }
    }
}

/// What is at this place now.
pub(crate) async fn look(place: &Place) -> Result<Found, Failure> {
    let problem = |e: &dyn std::fmt::Display| {
        Failure::message(format!("failed to reach session {}: {e}", place.name))
    };
    match UnixStream::connect(place.socket()).await {
        Ok(stream) => greet(stream, place)
            .await
            .map(|visit| visit.map_or(Found::Changing, Found::Alive)),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
            Ok(if place.is_held().map_err(|e| problem(&e))? {
                Found::Changing
            } else if place.socket().exists() {
                Found::Dead
            } else {
                Found::Nothing
            })
        }
        Err(e) => Err(problem(&e)),
    }
}

/// The holder of a session, once it listens; what a dead one left is removed.
pub(crate) async fn find(place: &Place) -> Result<Found, Failure> {
    let deadline = Instant::now() + CHANGE;
    let mut free: Option<JoinHandle<()>> = None;
    loop {
        match look(place).await? {
            Found::Changing => {}
            Found::Dead => {
                place.remove_remains()?;
                return Ok(Found::Dead);
            }
            found @ (Found::Alive(_) | Found::Nothing) => return Ok(found),
        }
        if Instant::now() >= deadline {
            return Err(Failure::message(format!(
                "session {} is being closed and does not come to its end; try again later",
                place.name
            )));
        }
        let waits = free.get_or_insert_with(|| {
            let place = place.clone();
            spawn_blocking(move || place.wait_until_free())
        });
        if timeout(LOOK_AGAIN, waits).await.is_ok() {
            free = None;
        }
    }
}

/// None when the holder ended meanwhile.
async fn greet(stream: UnixStream, place: &Place) -> Result<Option<Visit>, Failure> {
    let name = &place.name;
    let peer = stream.peer_cred()?;
    let pid = peer.pid().and_then(Pid::from_raw);
    let Some(pid) = pid.filter(|_| peer.uid() == rustix::process::geteuid().as_raw()) else {
        return Err(Failure::message(format!(
            "{} is not held by a process of yours; nothing was sent to it",
            place.socket().display()
        )));
    };
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else {
        return Ok(None);
    };
    let (reader, writer) = stream.into_split();
    let (mut reader, mut writer) = (Reader::new(reader), Writer::new(writer));
    if writer.send(&Hello::ours()).await.is_err() {
        return Ok(None);
    }
    let number = pid.as_raw_nonzero();
    match timeout(GREETING, reader.next::<Reply>(SMALL)).await {
        Ok(Ok(Some(Reply::Welcome(description)))) => Ok(Some(Visit {
            description,
            reader,
            writer,
            process,
        })),
        Ok(Ok(Some(Reply::Refused { message }))) => Err(Failure::message(message)),
        Ok(Ok(None)) => Ok(None),
        Ok(Err(e)) if e.kind() == ErrorKind::ConnectionReset => Ok(None),
        Ok(Ok(Some(_)) | Err(_)) => Err(Failure::message(format!(
            "process {number} holds session {name} and does not speak as telechir does"
        ))),
        Err(_) => Err(Failure::message(format!(
            "process {number} holds session {name} and does not answer"
        ))),
    }
}

/// Finds or starts the session and waits until it is our turn.
async fn enter(
    place: &Place,
    arguments: &ExecArguments,
    policy: Option<Digest>,
) -> Result<Visit, Failure> {
    const START_WITH: &str = "give --desktop, --browser, --shell or --editor to start";
    let name = &place.name;
    let given = Flags::given(
        &arguments.devices,
        &arguments.safety,
        arguments.idle_timeout,
    );
    let has_devices = !given.devices().is_empty();
    // Another caller may start the same session, and it may end again, while we look.
    for _ in 0..3 {
        match find(place).await? {
            Found::Alive(mut visit) => {
                visit.agrees(&given, policy)?;
                visit
                    .wait_for_turn(Duration::from_secs(arguments.queue_timeout))
                    .await?;
                return Ok(visit);
            }
            Found::Dead if has_devices => note(&format!(
                "the earlier session {name} is gone: its holder ended without closing it; \
                 this is a new one"
            )),
            Found::Dead => {
                return Err(Failure::message(format!(
                    "session {name} is gone: its holder ended without closing it; {START_WITH} \
                     a new one"
                )));
            }
            Found::Changing | Found::Nothing if has_devices => {}
            Found::Changing | Found::Nothing => {
                return Err(Failure::message(format!(
                    "there is no session {name} in {} (one that is idle for too long is closed); \
                     {START_WITH} it",
                    place.folder().display()
                )));
            }
        }
        start(place, arguments).await?;
    }
    Err(Failure::message(format!(
        "session {name} ended each time it was started; its log is {}",
        place.log().display()
    )))
}

/// Starts a holder. It listens when this returns, and lives on without us.
async fn start(place: &Place, arguments: &ExecArguments) -> Result<(), Failure> {
    let mut words = vec!["session-host".to_owned(), place.name.to_string()];
    let idle = Some(arguments.idle_timeout.unwrap_or(IDLE));
    words.extend(Flags::given(&arguments.devices, &arguments.safety, idle).to_arguments());
    if let Some(file) = &arguments.safety.policy {
        words.push(format!("--policy={}", whole(file)));
    }
    let ours = std::env::current_exe().ok().filter(|path| path.exists());
    // When its file was replaced meanwhile, this still is the program that runs.
    let mut session_host = Spawn::new(ours.unwrap_or_else(|| "/proc/self/exe".into()))
        .args(words)
        .envs(env::environment())
        .cwd("/")
        .no_new_privs(false)
        .detached()
        .stdout(Stdio::Piped)
        .stderr(Stdio::Fd(place.open_log()?.into()))
        .spawn()
        .await?;
    let said = match session_host.take_stdout() {
        Some(out) => timeout(START, read_line(out)).await,
        None => Ok(Ok(String::new())),
    };
    match said {
        Ok(Ok(line)) if line == "ready" || line == "taken" => {
            session_host.leave();
            Ok(())
        }
        Ok(Ok(line)) if line.starts_with("failed ") => {
            session_host.end(Duration::from_secs(5)).await?;
            Err(Failure::message(
                line.trim_start_matches("failed ").to_owned(),
            ))
        }
        Ok(_) | Err(_) => {
            session_host.end(Duration::from_secs(5)).await?;
            Err(Failure::message(format!(
                "failed to start the holder of session {}; its log is {}",
                place.name,
                place.log().display()
            )))
        }
    }
}

/// The first line of a pipe, without its end.
async fn read_line(pipe: OwnedFd) -> io::Result<String> {
    const LONGEST: usize = 64 << 10;
    let pipe = Readiness::reading(pipe)?;
    let mut line = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let read = pipe
            .read(|fd| Ok(rustix::io::read(fd, &mut buffer)?))
            .await?;
        line.extend_from_slice(buffer.get(..read).unwrap_or_default());
        if read == 0 || line.contains(&b'\n') || line.len() > LONGEST {
            let text = String::from_utf8_lossy(&line);
            return Ok(text.lines().next().unwrap_or_default().to_owned());
        }
    }
}

impl Visit {
    fn agrees(&self, given: &Flags, policy: Option<Digest>) -> Result<(), Failure> {
        let name = &self.description.name;
        given.agree(&self.description.flags, name)?;
        if policy.is_some_and(|digest| digest != self.description.policy) {
            return Err(Failure::usage(format!(
                "--policy: session {name} keeps the policy it was started with, and this is \
                 another; leave the flag out, or end the session first with: \
                 telechir sessions close {name}"
            )));
        }
        Ok(())
    }

    async fn wait_for_turn(&mut self, limit: Duration) -> Result<(), Failure> {
        let name = self.description.name.clone();
        let seconds = limit.as_secs();
        let deadline = Instant::now() + limit;
        self.say(&Request::Enter).await?;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match timeout(left, self.hear("nothing was carried out")).await {
                Ok(Reply::Busy) => note(&format!(
                    "session {name} carries out another call; waiting for up to {seconds} seconds"
                )),
                Ok(Reply::YourTurn) => return Ok(()),
                Ok(reply) => return Err(self.unexpected(reply)),
                Err(_) => {
                    return Err(Failure::message(format!(
                        "session {name} was not free within {seconds} seconds, so nothing was \
                         carried out; --queue-timeout SECONDS waits longer"
                    )));
                }
            }
        }
    }

    /// Hands the turn over, answers questions, and brings back the results.
    async fn converse(
        &mut self,
        dialect: Dialect,
        turn: &ModelTurn,
    ) -> Result<Vec<ToolResult>, Failure> {
        type Asking = Pin<Box<dyn Future<Output = (u64, Decision)> + Send>>;
        let dialect = dialect.name().to_owned();
        let contents = turn.contents().to_vec();
        self.say(&Request::CarryOut { dialect, contents }).await?;
        let mut asking: Option<Asking> = None;
        loop {
            let answer = async {
                match asking.as_mut() {
                    Some(asking) => asking.await,
                    None => std::future::pending().await,
                }
            };
            // Both can be dropped: the question stays, and so does half a message.
            let reply = tokio::select! {
                (number, decision) = answer => {
                    asking = None;
                    self.say(&Request::Decide { number, decision }).await?;
                    continue;
                }
                reply = self.hear("what was begun may have happened") => reply,
            };
            match reply {
                // A new question or the end withdraws the one before.
                Reply::Ask { number, question } => {
                    asking = Some(Box::pin(async move {
                        (number, Terminal::open().decide(&question).await)
                    }));
                }
                Reply::Answered { results } => {
                    return Ok(results.into_iter().filter_map(to_result).collect());
                }
                other @ (Reply::Welcome(_)
                | Reply::Refused { .. }
                | Reply::Busy
                | Reply::YourTurn
                | Reply::Cancelled
                | Reply::Failed { .. }
                | Reply::Closed { .. }) => return Err(self.unexpected(other)),
            }
        }
    }

    /// Stops the call and waits until nothing of it goes on.
    async fn withdraw(&mut self) {
        self.writer.finish().await;
        let stopped = timeout(CANCEL, async {
            while let Ok(Some(reply)) = self.reader.next::<Reply>(LARGE).await {
                if matches!(reply, Reply::Cancelled) {
                    return true;
                }
            }
            false
        });
        if stopped.await != Ok(true) {
            tracing::warn!("the session did not say that the call is cancelled");
        }
    }

    /// Closes the session; every process of it is gone when this returns.
    pub(crate) async fn close(mut self) -> Result<(), Failure> {
        let name = self.description.name.clone();
        self.say(&Request::Close).await?;
        let closed = timeout(CLOSE, self.reader.next::<Reply>(SMALL)).await;
        let ended = timeout(CHANGE, ended(self.process)).await;
        match closed {
            Ok(Ok(Some(Reply::Closed {
                problem: Some(text),
            }))) => Err(Failure::message(format!(
                "session {name} is closed, but not all of it ended in order: {text}"
            ))),
            // It may have been closed by someone else at the same time.
            Ok(_) if ended.is_ok() => Ok(()),
            Ok(_) | Err(_) => Err(Failure::message(format!(
                "session {name} does not come to its end; its holder is process {}",
                self.description.pid
            ))),
        }
    }

    async fn say(&mut self, request: &Request) -> Result<(), Failure> {
        self.writer.send(request).await.map_err(|e| {
            let name = &self.description.name;
            Failure::message(format!(
                "failed to speak to the holder of session {name}: {e}"
            ))
        })
    }

    /// The next message; the holder's end is told as one.
    async fn hear(&mut self, so_far: &str) -> Reply {
        let name = &self.description.name;
        let message = match self.reader.next(LARGE).await {
            Ok(Some(reply)) => return reply,
            Ok(None) => "it ended".to_owned(),
            Err(e) => e.to_string(),
        };
        Reply::Failed {
            message: format!("the holder of session {name} went away ({message}); {so_far}"),
        }
    }

    fn unexpected(&self, reply: Reply) -> Failure {
        let name = &self.description.name;
        match reply {
            Reply::Failed { message } | Reply::Refused { message } => Failure::message(message),
            Reply::Cancelled => Failure::message(format!("session {name} cancelled the call")),
            Reply::Welcome(_)
            | Reply::Busy
            | Reply::YourTurn
            | Reply::Ask { .. }
            | Reply::Answered { .. }
            | Reply::Closed { .. } => Failure::message(format!(
                "the holder of session {name} said something out of turn"
            )),
        }
    }
}

/// Waits until a process ended.
async fn ended(process: OwnedFd) -> io::Result<()> {
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let has_ended = |fd: std::os::fd::BorrowedFd<'_>| {
        let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
        match poll(&mut fds, Some(&at_once))? {
            0 => Err(ErrorKind::WouldBlock.into()),
            _ => Ok(()),
        }
    };
    Readiness::reading(process)?.read(has_ended).await
}

/// Says something beside the answers.
fn note(text: &str) {
    let _best_effort = writeln!(io::stderr(), "telechir: {text}");
}
