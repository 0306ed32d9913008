//! The caller's side: finds or starts the session host, waits for its turn, sends the calls, and
//! shows approval prompts on this terminal.

use std::future::Future;
use std::io::{self, ErrorKind, Write as _};
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use telechir_policy::{Decision, Digest, Interface, Question};
use telechir_process::{Readiness, Spawn, Stdio};
use telechir_protocol::{AnsweredTurn, Content, ModelTurn, ToolResult};
use telechir_runtime::Approver as _;
use tokio::net::UnixStream;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, timeout};

use super::flags::{Flags, absolute_path};
use super::frames::{MAX_CALL_BYTES, MAX_CONTROL_BYTES, MessageReader, MessageWriter};
use super::message::{
    Hello, HostReply, HostRequest, ScreenshotsFor, SessionDescription, to_result,
};
use super::paths::{SessionName, SessionPaths};
use crate::approver::TerminalApprover;
use crate::args::{DeviceArguments, ExecArguments, SafetyArguments};
use crate::env;
use crate::error::CliError;
use crate::session::{Stopped, until_stopped};

/// Timeout for the session host's version check; it replies even while it is busy.
const REPLY_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for a new session host to listen; its devices start later.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// Timeout for a session host that is starting or closing.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval of probes while it starts; its exit is noticed at once.
const PROBE_INTERVAL: Duration = Duration::from_millis(50);
/// Timeout for the cancellation of a call: keys released, command killed.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(15);
/// Timeout for stopping all devices, one after the other.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(200);
/// Default idle timeout in seconds.
const DEFAULT_IDLE_SECONDS: u64 = 15 * 60;

/// A connection to a session host that passed the version check.
#[derive(Debug)]
pub(crate) struct HostClient {
    pub(crate) description: SessionDescription,
    reader: MessageReader,
    writer: MessageWriter,
    process: OwnedFd,
}

/// The state of a session's files and process.
#[derive(Debug)]
pub(crate) enum Probe {
    /// A session host that replies.
    Alive(HostClient),
    /// The files of a session host that exited without closing the session.
    Dead,
    /// A session host that is starting or closing.
    Changing,
    /// No session with this name.
    Nothing,
}

/// What a caller gives to find or start a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller<'a> {
    pub(crate) devices: &'a DeviceArguments,
    pub(crate) safety: &'a SafetyArguments,
    pub(crate) idle_timeout: Option<u64>,
    /// How long to wait while the session executes other calls.
    pub(crate) queue_timeout: Duration,
    /// The policy that the session must have; absent if any will do.
    pub(crate) policy: Option<Digest>,
}

/// Executes a turn in the session with this name; starts the session if necessary.
pub(crate) async fn execute(
    arguments: &ExecArguments,
    name: &SessionName,
    turn: ModelTurn,
    policy: Option<Digest>,
) -> Result<AnsweredTurn, CliError> {
    let paths = SessionPaths::of(name)?;
    let caller = Caller {
        devices: &arguments.devices,
        safety: &arguments.safety,
        idle_timeout: arguments.idle_timeout,
        queue_timeout: Duration::from_secs(arguments.queue_timeout),
        policy,
    };
    let ready = until_stopped(HostClient::enter(&paths, caller)).await;
    let before = |Stopped(number)| {
        CliError::stopped(
            number,
            "stopped before the call started; nothing was executed",
        )
    };
    let mut client = ready.map_err(before)??;
    let screenshots = ScreenshotsFor::Dialect(arguments.dialect.name().to_owned());
    let ask = |question: Question| async move { TerminalApprover::open().decide(&question).await };
    let results = client.converse(screenshots, Interface::Terminal, &turn, ask);
    let results = until_stopped(results).await;
    let stopped = |Stopped(number)| {
        CliError::stopped(
            number,
            format!("the call was stopped; session {name} continues"),
        )
    };
    match results {
        Ok(results) => Ok(turn.answer(results?)?),
        Err(signal) => {
            client.withdraw().await;
            Err(stopped(signal))
        }
    }
}

/// Probes a session once.
pub(crate) async fn probe(paths: &SessionPaths) -> Result<Probe, CliError> {
    let problem = |e: &dyn std::fmt::Display| {
        CliError::message(format!("failed to reach session {}: {e}", paths.name))
    };
    match UnixStream::connect(paths.socket()).await {
        Ok(stream) => greet(stream, paths)
            .await
            .map(|client| client.map_or(Probe::Changing, Probe::Alive)),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
            Ok(if paths.is_locked().map_err(|e| problem(&e))? {
                Probe::Changing
            } else if paths.socket().exists() {
                Probe::Dead
            } else {
                Probe::Nothing
            })
        }
        Err(e) => Err(problem(&e)),
    }
}

/// Probes a session until it neither starts nor closes; removes the files of a dead one.
pub(crate) async fn find(paths: &SessionPaths) -> Result<Probe, CliError> {
    let deadline = Instant::now() + CHANGE_TIMEOUT;
    let mut free: Option<JoinHandle<()>> = None;
    loop {
        match probe(paths).await? {
            Probe::Changing => {}
            Probe::Dead => {
                paths.remove_remains()?;
                return Ok(Probe::Dead);
            }
            found @ (Probe::Alive(_) | Probe::Nothing) => return Ok(found),
        }
        if Instant::now() >= deadline {
            return Err(CliError::message(format!(
                "session {} is still starting or closing after {} s; try again later",
                paths.name,
                CHANGE_TIMEOUT.as_secs()
            )));
        }
        let waits = free.get_or_insert_with(|| {
            let paths = paths.clone();
            spawn_blocking(move || paths.wait_until_free())
        });
        if timeout(PROBE_INTERVAL, waits).await.is_ok() {
            free = None;
        }
    }
}

/// Returns none if the session host exits meanwhile.
async fn greet(stream: UnixStream, paths: &SessionPaths) -> Result<Option<HostClient>, CliError> {
    let name = &paths.name;
    let peer = stream.peer_cred()?;
    let pid = peer.pid().and_then(Pid::from_raw);
    let Some(pid) = pid.filter(|_| peer.uid() == rustix::process::geteuid().as_raw()) else {
        return Err(CliError::message(format!(
            "{} belongs to a process of another user; nothing was sent to it",
            paths.socket().display()
        )));
    };
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else {
        return Ok(None);
    };
    let (reader, writer) = stream.into_split();
    let (mut reader, mut writer) = (MessageReader::new(reader), MessageWriter::new(writer));
    if writer.send(&Hello::current()).await.is_err() {
        return Ok(None);
    }
    let number = pid.as_raw_nonzero();
    match timeout(REPLY_TIMEOUT, reader.next::<HostReply>(MAX_CONTROL_BYTES)).await {
        Ok(Ok(Some(HostReply::Welcome(description)))) => Ok(Some(HostClient {
            description,
            reader,
            writer,
            process,
        })),
        Ok(Ok(Some(HostReply::Refused { message }))) => Err(CliError::message(message)),
        Ok(Ok(None)) => Ok(None),
        Ok(Err(e)) if e.kind() == ErrorKind::ConnectionReset => Ok(None),
        Ok(Ok(Some(_)) | Err(_)) => Err(CliError::message(format!(
            "process {number} owns session {name} but does not speak telechir's protocol"
        ))),
        Err(_) => Err(CliError::message(format!(
            "process {number} owns session {name} but does not respond"
        ))),
    }
}

/// Starts a session host, which outlives this process. It listens when this returns.
async fn start(paths: &SessionPaths, caller: Caller<'_>) -> Result<(), CliError> {
    let mut args = vec!["session-host".to_owned(), paths.name.to_string()];
    let idle = Some(caller.idle_timeout.unwrap_or(DEFAULT_IDLE_SECONDS));
    args.extend(Flags::given(caller.devices, caller.safety, idle).to_arguments());
    if let Some(file) = &caller.safety.policy {
        args.push(format!("--policy={}", absolute_path(file)));
    }
    let current = std::env::current_exe().ok().filter(|path| path.exists());
    // If the file was replaced meanwhile, this is still the running program.
    let mut host = Spawn::new(current.unwrap_or_else(|| "/proc/self/exe".into()))
        .args(args)
        .envs(env::session_host(&caller.devices.shell_env))
        .cwd("/")
        .no_new_privs(false)
        .detached()
        .stdout(Stdio::Piped)
        .stderr(Stdio::Fd(paths.open_log()?.into()))
        .spawn()
        .await?;
    let status = match host.take_stdout() {
        Some(out) => timeout(START_TIMEOUT, read_line(out)).await,
        None => Ok(Ok(String::new())),
    };
    match status {
        Ok(Ok(line)) if line == "ready" || line == "taken" => {
            host.detach();
            Ok(())
        }
        Ok(Ok(line)) if line.starts_with("failed ") => {
            host.end(Duration::from_secs(5)).await?;
            Err(CliError::message(
                line.trim_start_matches("failed ").to_owned(),
            ))
        }
        Ok(_) | Err(_) => {
            host.end(Duration::from_secs(5)).await?;
            Err(CliError::message(format!(
                "failed to start the session host of {}; see its log {}",
                paths.name,
                paths.log().display()
            )))
        }
    }
}

/// Reads the first line of a pipe.
async fn read_line(pipe: OwnedFd) -> io::Result<String> {
    const MAX_LINE_BYTES: usize = 64 << 10;
    let pipe = Readiness::reading(pipe)?;
    let mut line = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let read = pipe
            .read(|fd| Ok(rustix::io::read(fd, &mut buffer)?))
            .await?;
        line.extend_from_slice(buffer.get(..read).unwrap_or_default());
        if read == 0 || line.contains(&b'\n') || line.len() > MAX_LINE_BYTES {
            let text = String::from_utf8_lossy(&line);
            return Ok(text.lines().next().unwrap_or_default().to_owned());
        }
    }
}

impl HostClient {
    /// Finds or starts the session and waits for this caller's turn.
    pub(crate) async fn enter(paths: &SessionPaths, caller: Caller<'_>) -> Result<Self, CliError> {
        const START_FLAGS: &str = "give --desktop, --browser, --shell or --editor to start";
        let name = &paths.name;
        let given = Flags::given(caller.devices, caller.safety, caller.idle_timeout);
        let has_devices = !given.devices().is_empty();
        // Another process may start and close the same session concurrently.
        for _ in 0..3 {
            match find(paths).await? {
                Probe::Alive(mut client) => {
                    client.agrees(&given, caller.policy)?;
                    client.wait_for_turn(caller.queue_timeout).await?;
                    return Ok(client);
                }
                Probe::Dead if has_devices => note(&format!(
                    "the earlier session {name} is gone: its session host exited without closing it; \
                 starting a new one"
                )),
                Probe::Dead => {
                    return Err(CliError::message(format!(
                        "session {name} is gone: its session host exited without closing it; {START_FLAGS} \
                     a new one"
                    )));
                }
                Probe::Changing | Probe::Nothing if has_devices => {}
                Probe::Changing | Probe::Nothing => {
                    return Err(CliError::message(format!(
                        "no session named {name} in {} (idle sessions are closed); \
                     {START_FLAGS} it",
                        paths.folder().display()
                    )));
                }
            }
            start(paths, caller).await?;
        }
        Err(CliError::message(format!(
            "session {name} exited each time it was started; see its log {}",
            paths.log().display()
        )))
    }

    fn agrees(&self, given: &Flags, policy: Option<Digest>) -> Result<(), CliError> {
        let name = &self.description.name;
        given.agree(&self.description.flags, name)?;
        if policy.is_some_and(|digest| digest != self.description.policy) {
            return Err(CliError::usage(format!(
                "--policy: session {name} has another policy, the one it was started with; omit the flag, or \
                 close the session first: telechir sessions close {name}"
            )));
        }
        Ok(())
    }

    async fn wait_for_turn(&mut self, limit: Duration) -> Result<(), CliError> {
        let name = self.description.name.clone();
        let seconds = limit.as_secs();
        let deadline = Instant::now() + limit;
        self.send(&HostRequest::Enter).await?;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match timeout(left, self.receive("nothing was executed")).await {
                Ok(HostReply::Busy) => note(&format!(
                    "session {name} is executing another call; waiting for up to {seconds} seconds"
                )),
                Ok(HostReply::YourTurn) => return Ok(()),
                Ok(reply) => return Err(self.unexpected(reply)),
                Err(_) => {
                    return Err(CliError::message(format!(
                        "session {name} was busy for {seconds} seconds, so nothing was executed; \
                         --queue-timeout SECONDS waits longer"
                    )));
                }
            }
        }
    }

    /// Sends the call, asks the user by `ask` where it needs an approval, and returns the results.
    pub(crate) async fn converse<A, F>(
        &mut self,
        screenshots: ScreenshotsFor,
        interface: Interface,
        turn: &ModelTurn,
        ask: A,
    ) -> Result<Vec<ToolResult>, CliError>
    where
        A: Fn(Question) -> F,
        F: Future<Output = Decision> + Send,
    {
        type Prompt<'a> = Pin<Box<dyn Future<Output = (u64, Decision)> + Send + 'a>>;
        // The session host would answer the calls that are left to the caller.
        let left = turn.left_to_caller();
        let is_left = |content: &Content| matches!(content, Content::FunctionCall(call) if left.contains(call));
        let contents = turn.contents().iter();
        let contents = contents
            .filter(|content| !is_left(content))
            .cloned()
            .collect();
        let call = HostRequest::CarryOut {
            screenshots,
            interface,
            contents,
        };
        self.send(&call).await?;
        let mut prompt: Option<Prompt<'_>> = None;
        loop {
            let answer = async {
                match prompt.as_mut() {
                    Some(prompt) => prompt.await,
                    None => std::future::pending().await,
                }
            };
            // Both futures are cancel-safe: the prompt and a partial message are kept.
            let reply = tokio::select! {
                (number, decision) = answer => {
                    prompt = None;
                    self.send(&HostRequest::Decide { number, decision }).await?;
                    continue;
                }
                reply = self.receive("actions already started may have taken effect") => reply,
            };
            match reply {
                // A new question or a result withdraws the earlier question.
                HostReply::Ask { number, question } => {
                    let decision = ask(question);
                    prompt = Some(Box::pin(async move { (number, decision.await) }));
                }
                HostReply::Answered { results } => {
                    return Ok(results.into_iter().filter_map(to_result).collect());
                }
                other @ (HostReply::Welcome(_)
                | HostReply::Refused { .. }
                | HostReply::Busy
                | HostReply::YourTurn
                | HostReply::Cancelled
                | HostReply::Failed { .. }
                | HostReply::Closed { .. }) => return Err(self.unexpected(other)),
            }
        }
    }

    /// Makes the session end when this connection does.
    pub(crate) async fn own(&mut self) -> Result<(), CliError> {
        self.send(&HostRequest::Own).await
    }

    /// Cancels the call and waits until it has stopped.
    async fn withdraw(&mut self) {
        self.writer.finish().await;
        let stopped = timeout(CANCEL_TIMEOUT, async {
            while let Ok(Some(reply)) = self.reader.next::<HostReply>(MAX_CALL_BYTES).await {
                if matches!(reply, HostReply::Cancelled) {
                    return true;
                }
            }
            false
        });
        if stopped.await != Ok(true) {
            tracing::warn!("the session host did not confirm the cancellation");
        }
    }

    /// Closes the session and waits until all its processes are gone.
    pub(crate) async fn close(mut self) -> Result<(), CliError> {
        let name = self.description.name.clone();
        self.send(&HostRequest::Close).await?;
        let closed = timeout(
            CLOSE_TIMEOUT,
            self.reader.next::<HostReply>(MAX_CONTROL_BYTES),
        )
        .await;
        let ended = timeout(CHANGE_TIMEOUT, ended(self.process)).await;
        match closed {
            Ok(Ok(Some(HostReply::Closed {
                problem: Some(text),
            }))) => Err(CliError::message(format!(
                "session {name} is closed, but a device did not stop cleanly: {text}"
            ))),
            // Another caller may have closed it at the same time.
            Ok(_) if ended.is_ok() => Ok(()),
            Ok(_) | Err(_) => Err(CliError::message(format!(
                "session {name} did not close in time; its session host is process {}",
                self.description.pid
            ))),
        }
    }

    async fn send(&mut self, request: &HostRequest) -> Result<(), CliError> {
        self.writer.send(request).await.map_err(|e| {
            let name = &self.description.name;
            CliError::message(format!("failed to send to the session host of {name}: {e}"))
        })
    }

    /// The next message. A closed connection becomes a failure that ends with `context`.
    async fn receive(&mut self, context: &str) -> HostReply {
        let name = &self.description.name;
        let message = match self.reader.next(MAX_CALL_BYTES).await {
            Ok(Some(reply)) => return reply,
            Ok(None) => "it exited".to_owned(),
            Err(e) => e.to_string(),
        };
        HostReply::Failed {
            message: format!("lost the session host of {name} ({message}); {context}"),
        }
    }

    fn unexpected(&self, reply: HostReply) -> CliError {
        let name = &self.description.name;
        match reply {
            HostReply::Failed { message } | HostReply::Refused { message } => {
                CliError::message(message)
            }
            HostReply::Cancelled => CliError::message(format!("session {name} cancelled the call")),
            HostReply::Welcome(_)
            | HostReply::Busy
            | HostReply::YourTurn
            | HostReply::Ask { .. }
            | HostReply::Answered { .. }
            | HostReply::Closed { .. } => CliError::message(format!(
                "the session host of {name} sent an unexpected message"
            )),
        }
    }
}

/// Waits for the exit of a process.
async fn ended(process: OwnedFd) -> io::Result<()> {
    let no_wait = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let has_ended = |fd: std::os::fd::BorrowedFd<'_>| {
        let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
        match poll(&mut fds, Some(&no_wait))? {
            0 => Err(ErrorKind::WouldBlock.into()),
            _ => Ok(()),
        }
    };
    Readiness::reading(process)?.read(has_ended).await
}

/// Prints a note on stderr.
fn note(text: &str) {
    let _best_effort = writeln!(io::stderr(), "telechir: {text}");
}
