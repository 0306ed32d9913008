//! Finds the session host behind a session's files.

use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use telechir_process::Readiness;
use tokio::net::UnixStream;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, timeout};

use crate::error::HostErrorKind;
use crate::frames::{MAX_CONTROL_BYTES, MessageReader, MessageWriter};
use crate::message::{Greeting, Hello, PROTOCOL};
use crate::{HostClient, HostError, SessionPaths};

/// Timeout for the session host's version check; it replies even while it is busy.
const REPLY_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for a session host that is starting or closing.
pub(crate) const CHANGE_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval of probes while it starts; its exit is noticed at once.
const PROBE_INTERVAL: Duration = Duration::from_millis(50);

/// The state of a session's files and process.
#[derive(Debug)]
pub enum Probe {
    /// A session host that replies.
    Alive(HostClient),
    /// The files of a session host that exited without closing the session.
    Dead,
    /// A session host that is starting or closing.
    Changing,
    /// No session with this name.
    Nothing,
}

/// Probes a session once.
///
/// # Errors
/// When the session host does not respond, or speaks another version of the protocol.
pub async fn probe(paths: &SessionPaths) -> Result<Probe, HostError> {
    let problem = |e: &io::Error| HostError::unreachable(&paths.name, e);
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
///
/// # Errors
/// Like [`probe`], and when the session starts or closes for too long.
pub async fn find(paths: &SessionPaths) -> Result<Probe, HostError> {
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
            return Err(HostError::new(format!(
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

/// Ends the session host of any version by a signal, on which it closes the session, and waits
/// until it has exited.
pub(crate) async fn terminate(paths: &SessionPaths, limit: Duration) -> Result<(), HostError> {
    let problem = |e: &io::Error| HostError::unreachable(&paths.name, e);
    let stream = UnixStream::connect(paths.socket())
        .await
        .map_err(|e| problem(&e))?;
    let Some(process) = process_of(&stream, paths)? else {
        return Ok(());
    };
    drop(stream);
    pidfd_send_signal(&process, Signal::TERM).map_err(|e| problem(&e.into()))?;
    match timeout(limit, exited(process)).await {
        Ok(waited) => waited.map_err(|e| problem(&e)),
        Err(_) => Err(HostError::new(format!(
            "session {} did not close within {} s",
            paths.name,
            limit.as_secs()
        ))),
    }
}

/// Returns none if the session host exits meanwhile.
async fn greet(stream: UnixStream, paths: &SessionPaths) -> Result<Option<HostClient>, HostError> {
    let name = &paths.name;
    let Some(process) = process_of(&stream, paths)? else {
        return Ok(None);
    };
    let number = stream.peer_cred()?.pid().unwrap_or_default();
    let (reader, writer) = stream.into_split();
    let (mut reader, writer) = (MessageReader::new(reader), MessageWriter::new(writer));
    if writer.send(&Hello::current()).await.is_err() {
        return Ok(None);
    }
    match timeout(REPLY_TIMEOUT, reader.next::<Greeting>(MAX_CONTROL_BYTES)).await {
        Ok(Ok(Some(Greeting::Welcome(description)))) => {
            Ok(Some(HostClient::new(description, reader, writer, process)))
        }
        Ok(Ok(Some(Greeting::Refused {
            protocol, version, ..
        }))) => Err(other_version(paths, protocol, version.as_deref())),
        Ok(Ok(None)) => Ok(None),
        Ok(Err(e)) if e.kind() == ErrorKind::ConnectionReset => Ok(None),
        Ok(Err(_)) => Err(HostError::new(format!(
            "process {number} owns session {name} but does not speak telechir's protocol; close it: \
             telechir sessions close {name}"
        ))),
        Err(_) => Err(HostError::new(format!(
            "process {number} owns session {name} but does not respond"
        ))),
    }
}

fn other_version(paths: &SessionPaths, protocol: Option<u32>, version: Option<&str>) -> HostError {
    let name = &paths.name;
    let age = match protocol {
        Some(protocol) if protocol > PROTOCOL => "a newer",
        Some(_) => "another",
        None => "an older",
    };
    let owner = match (protocol, version) {
        (Some(protocol), Some(version)) => format!("telechir {version} (protocol {protocol})"),
        (Some(protocol), None) => format!("a telechir with protocol {protocol}"),
        (None, _) => "a telechir with an earlier protocol".to_owned(),
    };
    let current = Hello::current();
    let message = format!(
        "session {name} was started by {age} version: {owner}; this is telechir {} (protocol \
         {PROTOCOL}). Close it and start it again: telechir sessions close {name}",
        current.version
    );
    HostError::of(HostErrorKind::Version, message)
}

/// The process at the other end, which must be ours; none if it has exited.
fn process_of(stream: &UnixStream, paths: &SessionPaths) -> Result<Option<OwnedFd>, HostError> {
    let peer = stream.peer_cred()?;
    let pid = peer.pid().and_then(Pid::from_raw);
    let Some(pid) = pid.filter(|_| peer.uid() == rustix::process::geteuid().as_raw()) else {
        return Err(HostError::new(format!(
            "{} belongs to a process of another user; nothing was sent to it",
            paths.socket().display()
        )));
    };
    Ok(pidfd_open(pid, PidfdFlags::empty()).ok())
}

/// Waits for the exit of a process.
pub(crate) async fn exited(process: OwnedFd) -> io::Result<()> {
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
