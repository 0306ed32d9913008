//! Starts a session host, which outlives the process that needs it.

use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};
use serde_json::Value;
use telechir_process::{Readiness, Spawn, Stdio};
use tokio::time::timeout;

use crate::{HostError, SessionPaths};

/// Timeout for a new session host to listen; its devices start later.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// Time for a session host that did not start to exit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum length of the line with which a session host reports that it listens.
const MAX_LINE_BYTES: usize = 64 << 10;

const READY: &str = "ready";
const TAKEN: &str = "taken";
const FAILED: &str = "failed ";

/// The program that serves a session.
#[derive(Clone, Debug)]
pub struct HostProgram {
    /// Path of the program.
    pub program: PathBuf,
    /// Command-line arguments after the program's name.
    pub args: Vec<String>,
    /// Environment variables; it gets no others.
    pub env: Vec<(String, String)>,
}

/// How the start of a session host went, as it reports to the process that started it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StartReport {
    /// It listens.
    Ready,
    /// Another one has the session already.
    Taken,
    /// It exits, for this reason.
    Failed(String),
}

impl StartReport {
    /// Prints the report on stdout.
    ///
    /// # Errors
    /// When the process that started this one is gone.
    pub(crate) fn print(&self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let written = match self {
            Self::Ready => writeln!(out, "{READY}"),
            Self::Taken => writeln!(out, "{TAKEN}"),
            Self::Failed(reason) => writeln!(out, "{FAILED}{}", reason.replace('\n', " ")),
        };
        written.and_then(|()| out.flush())
    }

    fn parse(line: &str) -> Option<Self> {
        match line {
            READY => Some(Self::Ready),
            TAKEN => Some(Self::Taken),
            _ => line
                .strip_prefix(FAILED)
                .map(|reason| Self::Failed(reason.to_owned())),
        }
    }
}

/// Starts a session host with this configuration, which it reads as one JSON document from stdin. It
/// listens when this returns. If this is cancelled, the session host starts nevertheless, and ends
/// unless another client uses it.
///
/// # Errors
/// When it does not start; the message has the reason, or names its log.
pub async fn launch(
    paths: &SessionPaths,
    program: HostProgram,
    config: &Value,
) -> Result<(), HostError> {
    let failed = |e: &dyn std::fmt::Display| {
        HostError::new(format!(
            "failed to start the session host of {}: {e}",
            paths.name
        ))
    };
    let config = readable(config).map_err(|e| failed(&e))?;
    let mut host = Spawn::new(program.program)
        .args(program.args)
        .envs(program.env)
        .cwd("/")
        .no_new_privs(false)
        .detached()
        .stdin(Stdio::Fd(config))
        .stdout(Stdio::Piped)
        .stderr(Stdio::Fd(paths.open_log()?.into()))
        .spawn()
        .await
        .map_err(|e| failed(&e))?;
    let line = match host.take_stdout() {
        Some(out) => timeout(START_TIMEOUT, read_line(out)).await,
        None => Ok(Ok(String::new())),
    };
    let report = line.ok().and_then(Result::ok);
    match report.as_deref().and_then(StartReport::parse) {
        Some(StartReport::Ready | StartReport::Taken) => {
            // Ended session hosts of a process that starts many are reaped.
            tokio::spawn(async move { host.wait().await });
            Ok(())
        }
        Some(StartReport::Failed(reason)) => {
            host.end(EXIT_TIMEOUT).await.map_err(|e| failed(&e))?;
            Err(HostError::new(reason))
        }
        None => {
            host.end(EXIT_TIMEOUT).await.map_err(|e| failed(&e))?;
            let log = paths.log();
            Err(failed(&format_args!("see its log {}", log.display())))
        }
    }
}

/// A file in memory that contains this document. A pipe would block if nobody read it.
fn readable(document: &Value) -> io::Result<OwnedFd> {
    let bytes = serde_json::to_vec(document)?;
    let file = memfd_create("telechir-session", MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(file);
    file.write_all(&bytes)?;
    let file = OwnedFd::from(file);
    seek(&file, SeekFrom::Start(0))?;
    Ok(file)
}

/// Reads the first line of a pipe.
async fn read_line(pipe: OwnedFd) -> io::Result<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_one_line() {
        assert_eq!(StartReport::parse("ready"), Some(StartReport::Ready));
        assert_eq!(StartReport::parse("taken"), Some(StartReport::Taken));
        assert_eq!(
            StartReport::parse("failed to open x"),
            Some(StartReport::Failed("to open x".to_owned()))
        );
        assert_eq!(StartReport::parse(""), None);
    }
}
