//! Starts the programs of a private display and waits until each is ready.

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

use super::sandbox::{EXTRA_FD, InheritedFds, LaunchContext, SandboxedProgram};
use super::wm_startup::wait_for_wm;
use super::{DisplayOptions, failed, files, unavailable};
use crate::connection::Connection;

/// Maximum startup time of a program; each takes about 50 ms on an idle machine.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// The descriptor on which the server reports its display number.
const READY_FD: i32 = 3;

/// Spawns a program and maps errors.
pub(super) async fn spawn(spawn: Spawn) -> Result<Child, DeviceError> {
    spawn
        .spawn()
        .await
        .map_err(|error| unavailable(&format!("failed to {}", causes(&error))))
}

/// Starts an X server that requires the cookie and waits until it is ready.
pub(super) async fn start_server(
    options: &DisplayOptions,
    folder: &Path,
    number: u16,
) -> Result<Child, DeviceError> {
    files::make_socket_folder().map_err(|error| failed("create /tmp/.X11-unix", &error))?;
    let log_path = folder.join("server.log");
    let log = File::create(&log_path).map_err(|error| failed("create the server log", &error))?;
    let (ready, number_read) = pipe()?;
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
        // No TCP and no abstract socket, which has no file permissions.
        .args(["-nolisten", "tcp", "-nolisten", "local", "-auth"])
        .arg(files::authority(folder))
        .identity(options.identity)
        .after_graceful(options.ends_last)
        .stderr(Stdio::Fd(log.into()))
        .fd(READY_FD, ready);
    let server = spawn(server).await?;
    let line = with_start_timeout("the X server", first_line(number_read)).await?;
    if line.trim() == number.to_string() {
        return Ok(server);
    }
    let log = fs::read_to_string(&log_path).unwrap_or_default();
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    Err(unavailable(&format!(
        "Xvfb exited immediately: {}",
        lines.join("; ")
    )))
}

/// Starts a session bus that listens on `socket`. Services it starts share its sandbox.
pub(super) async fn start_bus(
    launch_context: &LaunchContext<'_>,
    socket: &Path,
) -> Result<SandboxedProgram, DeviceError> {
    let (ready, address) = pipe()?;
    let listen = format!("--address=unix:path={}", socket.display());
    let print = format!("--print-address={EXTRA_FD}");
    let args = [
        "--session",
        "--nofork",
        "--nopidfile",
        "--nosyslog",
        &print,
        &listen,
    ];
    let bus = launch_context
        .start("dbus-daemon", &args, InheritedFds::Descriptor(ready))
        .await?;
    if with_start_timeout("the session bus", first_line(address))
        .await?
        .is_empty()
    {
        return Err(unavailable("dbus-daemon exited immediately"));
    }
    Ok(bus)
}

/// Starts the accessibility bus and enables accessibility.
///
/// It must run before the first application: Qt looks for it once and may never expose its elements
/// if the bus is still starting.
pub(super) async fn enable_accessibility(
    launch_context: &LaunchContext<'_>,
) -> Result<(), DeviceError> {
    let enable = [
        "org.freedesktop.DBus.Properties.Set",
        "string:org.a11y.Status",
        "string:IsEnabled",
        "variant:boolean:true",
    ];
    tokio::try_join!(
        call_launcher(launch_context, &["org.a11y.Bus.GetAddress"]),
        call_launcher(launch_context, &enable),
    )?;
    Ok(())
}

async fn call_launcher(
    launch_context: &LaunchContext<'_>,
    args: &[&str],
) -> Result<(), DeviceError> {
    let to = [
        "--session",
        "--print-reply",
        "--dest=org.a11y.Bus",
        "/org/a11y/bus",
    ];
    let args = [&to, args].concat();
    let sender = launch_context
        .start("dbus-send", &args, InheritedFds::Nothing)
        .await?;
    if with_start_timeout("accessibility", sender.child().wait())
        .await?
        .success()
    {
        return Ok(());
    }
    Err(unavailable(
        "the accessibility bus does not reply; install the package `at-spi2-core`",
    ))
}

/// Starts a window manager and waits until it manages windows.
pub(super) async fn start_window_manager(
    launch_context: &LaunchContext<'_>,
    config: &Path,
    connection: &Connection,
) -> Result<SandboxedProgram, DeviceError> {
    let config = config.to_string_lossy();
    let args = ["--sm-disable", "--config-file", &config];
    let manager = launch_context
        .start("openbox", &args, InheritedFds::Nothing)
        .await?;
    tokio::select! {
        managed = timeout(START_TIMEOUT, wait_for_wm(connection)) => match managed {
            Ok(outcome) => outcome.map(|()| manager).map_err(DeviceError::from),
            Err(_) => Err(not_ready("the window manager")),
        },
        _ended = manager.child().wait() => Err(unavailable("openbox exited immediately")),
    }
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
pub(super) async fn first_line(read_end: Readiness) -> io::Result<String> {
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
pub(super) async fn with_start_timeout<T>(
    what: &'static str,
    work: impl Future<Output = io::Result<T>>,
) -> Result<T, DeviceError> {
    match timeout(START_TIMEOUT, work).await {
        Ok(outcome) => outcome.map_err(|error| failed(&format!("read from {what}"), &error)),
        Err(_) => Err(not_ready(what)),
    }
}

fn not_ready(what: &str) -> DeviceError {
    unavailable(&format!(
        "{what} was not ready within {} s",
        START_TIMEOUT.as_secs()
    ))
}

/// An error with its causes in one line.
pub(super) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
