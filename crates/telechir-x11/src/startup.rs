//! Starts programs and waits until they report that they are ready; errors say which did not.

use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};
use telechir_device::DeviceError;
use telechir_process::{Child, Readiness, Spawn};
use tokio::time::timeout;

use crate::error::XError;

/// Maximum startup time of a program; each takes about 50 ms on an idle machine.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(20);

/// Spawns a program and maps errors.
pub(crate) async fn spawn(spawn: Spawn) -> Result<Child, DeviceError> {
    spawn
        .spawn()
        .await
        .map_err(|error| unavailable(&format!("failed to {}", causes(&error))))
}

/// A pipe with an asynchronous read end: (write end, read end).
pub(crate) fn pipe() -> Result<(OwnedFd, Readiness), DeviceError> {
    let make = || {
        let (read_end, write_end) = pipe_with(PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&read_end, true)?;
        io::Result::Ok((write_end, Readiness::reading(read_end)?))
    };
    make().map_err(|error| failed("create a pipe", &error))
}

/// The text up to the first line break or the end of the pipe.
pub(crate) async fn first_line(read_end: Readiness) -> io::Result<String> {
    let mut line = Vec::new();
    loop {
        let mut chunk = [0; 256];
        let count = read_end
            .read(|fd| Ok(rustix::io::read(fd, &mut chunk)?))
            .await?;
        line.extend_from_slice(&chunk[..count]);
        if count == 0 || chunk[..count].contains(&b'\n') {
            return Ok(String::from_utf8_lossy(&line).into_owned());
        }
    }
}

/// The result of `work`, limited to [`START_TIMEOUT`].
pub(crate) async fn with_start_timeout<T>(
    what: &'static str,
    work: impl Future<Output = io::Result<T>>,
) -> Result<T, DeviceError> {
    match timeout(START_TIMEOUT, work).await {
        Ok(outcome) => outcome.map_err(|error| failed(&format!("read from {what}"), &error)),
        Err(_) => Err(not_ready(what)),
    }
}

pub(crate) fn not_ready(what: &str) -> DeviceError {
    unavailable(&format!(
        "{what} was not ready within {} s",
        START_TIMEOUT.as_secs()
    ))
}

/// An error with its causes in one line.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// An error that the desktop cannot be started.
pub(crate) fn unavailable(message: &str) -> DeviceError {
    DeviceError::Unavailable {
        what: "the desktop",
        message: message.to_owned(),
    }
}

/// An error that a startup step failed.
pub(crate) fn failed(step: &str, error: &dyn std::error::Error) -> DeviceError {
    unavailable(&format!("failed to {step}: {error}"))
}

/// A server that refuses the first connection is reported as unavailable, not as disconnected.
pub(crate) fn refused(name: &str, error: &XError) -> DeviceError {
    let message = causes(error);
    display_unavailable(
        name,
        &format!(
            "{message}; check that the display exists and you may use it, or start a private one with --desktop"
        ),
    )
}

/// An error that this display cannot be used.
pub(crate) fn display_unavailable(name: &str, message: &str) -> DeviceError {
    unavailable(&format!("display {name}: {message}"))
}
