//! Starting the programs of a private display, each awaited by an event of its own.

use std::fs::{self, File};
use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};
use telechir_device::DeviceError;
use telechir_process::{Child, Readiness, Spawn, Stdio};
use tokio::time::timeout;

use super::sandbox::{Confined, GIVEN, Given, Surroundings};
use super::wm_startup::wait_for_manager;
use super::{DisplayOptions, failed, files, unavailable};
use crate::connection::Connection;

/// Starting takes some 50 ms each on a quiet machine.
const START_CEILING: Duration = Duration::from_secs(20);
/// The descriptor on which the server says that it is ready.
const READY_FD: i32 = 3;

/// Starts a program.
pub(super) async fn spawn(spawn: Spawn) -> Result<Child, DeviceError> {
    spawn
        .spawn()
        .await
        .map_err(|error| unavailable(&format!("failed to {}", causes(&error))))
}

/// Starts an X server that only the cookie opens, and waits until it is ready.
pub(super) async fn start_server(
    options: &DisplayOptions,
    folder: &Path,
    number: u16,
) -> Result<Child, DeviceError> {
    files::make_socket_folder().map_err(|error| failed("make /tmp/.X11-unix", &error))?;
    let log_path = folder.join("server.log");
    let log = File::create(&log_path).map_err(|error| failed("make the server's log", &error))?;
    let (ready, told) = pipe()?;
    let size = format!("{}x{}x24", options.size.width, options.size.height);
    let server = Spawn::new("Xvfb")
        .arg(format!(":{number}"))
        .args([
            "-displayfd",
            "3",
            "-screen",
            "0",
            size.as_str(),
            "-dpi",
            "96",
            "-noreset",
        ])
        // No TCP and no abstract socket: that one has no file whose rights could be set.
        .args(["-nolisten", "tcp", "-nolisten", "local", "-auth"])
        .arg(files::authority(folder))
        .identity(options.identity)
        .after_graceful(options.ends_last)
        .stderr(Stdio::Fd(log.into()))
        .fd(READY_FD, ready);
    let server = spawn(server).await?;
    let line = within("the X server", first_line(told)).await?;
    if line.trim() == number.to_string() {
        return Ok(server);
    }
    let log = fs::read_to_string(&log_path).unwrap_or_default();
    let said: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    Err(unavailable(&format!(
        "Xvfb ended at once: {}",
        said.join("; ")
    )))
}

/// Starts a session bus that listens on `socket`. What it starts by itself is confined with it.
pub(super) async fn start_bus(
    surroundings: &Surroundings<'_>,
    socket: &Path,
) -> Result<Confined, DeviceError> {
    let (ready, address) = pipe()?;
    let listen = format!("--address=unix:path={}", socket.display());
    let print = format!("--print-address={GIVEN}");
    let args = [
        "--session",
        "--nofork",
        "--nopidfile",
        "--nosyslog",
        &print,
        &listen,
    ];
    let bus = surroundings
        .start("dbus-daemon", &args, Given::Descriptor(ready))
        .await?;
    if within("the session bus", first_line(address))
        .await?
        .is_empty()
    {
        return Err(unavailable("dbus-daemon ended at once"));
    }
    Ok(bus)
}

/// Starts the accessibility bus and tells it that somebody listens.
///
/// It has to be there before the first application: Qt looks for it once, and where it is only just
/// being started, it sometimes never says what it shows.
pub(super) async fn enable_accessibility(
    surroundings: &Surroundings<'_>,
) -> Result<(), DeviceError> {
    let listens = [
        "org.freedesktop.DBus.Properties.Set",
        "string:org.a11y.Status",
        "string:IsEnabled",
        "variant:boolean:true",
    ];
    tokio::try_join!(
        ask_launcher(surroundings, &["org.a11y.Bus.GetAddress"]),
        ask_launcher(surroundings, &listens),
    )?;
    Ok(())
}

async fn ask_launcher(surroundings: &Surroundings<'_>, words: &[&str]) -> Result<(), DeviceError> {
    let to = [
        "--session",
        "--print-reply",
        "--dest=org.a11y.Bus",
        "/org/a11y/bus",
    ];
    let args = [&to, words].concat();
    let sender = surroundings
        .start("dbus-send", &args, Given::Nothing)
        .await?;
    if within("accessibility", sender.child().wait())
        .await?
        .success()
    {
        return Ok(());
    }
    Err(unavailable(
        "the accessibility bus does not answer; install the package `at-spi2-core`",
    ))
}

/// Starts a window manager and waits until it took charge.
pub(super) async fn start_manager(
    surroundings: &Surroundings<'_>,
    config: &Path,
    connection: &Connection,
) -> Result<Confined, DeviceError> {
    let config = config.to_string_lossy();
    let args = ["--sm-disable", "--config-file", &config];
    let manager = surroundings.start("openbox", &args, Given::Nothing).await?;
    tokio::select! {
        managed = timeout(START_CEILING, wait_for_manager(connection)) => match managed {
            Ok(outcome) => outcome.map(|()| manager).map_err(DeviceError::from),
            Err(_) => Err(late("the window manager")),
        },
        _ended = manager.child().wait() => Err(unavailable("openbox ended at once")),
    }
}

/// A pipe whose reading end can be waited for: writing end, reading end.
pub(crate) fn pipe() -> Result<(OwnedFd, Readiness), DeviceError> {
    let make = || {
        let (reading, writing) = pipe_with(PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&reading, true)?;
        io::Result::Ok((writing, Readiness::reading(reading)?))
    };
    make().map_err(|error| failed("make a pipe", &error))
}

/// What comes before the first line's end, or before the writer ends.
pub(super) async fn first_line(reading: Readiness) -> io::Result<String> {
    let mut line = Vec::new();
    loop {
        let mut piece = [0; 256];
        let count = reading
            .read(|fd| Ok(rustix::io::read(fd, &mut piece)?))
            .await?;
        line.extend_from_slice(&piece[..count]);
        if count == 0 || piece[..count].contains(&b'\n') {
            return Ok(String::from_utf8_lossy(&line).into_owned());
        }
    }
}

/// What `work` gives, unless it takes longer than any start.
pub(super) async fn within<T>(
    what: &'static str,
    work: impl Future<Output = io::Result<T>>,
) -> Result<T, DeviceError> {
    match timeout(START_CEILING, work).await {
        Ok(outcome) => outcome.map_err(|error| failed(&format!("hear from {what}"), &error)),
        Err(_) => Err(late(what)),
    }
}

fn late(what: &str) -> DeviceError {
    unavailable(&format!(
        "{what} was not ready within {} s",
        START_CEILING.as_secs()
    ))
}

/// An error with what caused it, in one line.
pub(super) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
