//! Starts the programs of a private display and waits until each is ready.

use std::fs;
use std::path::Path;

use telechir_device::DeviceError;
use telechir_process::confinement::ResourceLimits;
use telechir_process::{Cgroup, Child, Resource, Spawn, Stdio, make_private_file};
use tokio::time::timeout;

use super::files;
use super::options::DisplayOptions;
use super::sandbox::{EXTRA_FD, InheritedFds, LaunchContext, SandboxedProgram};
use super::server_watch::MAX_CLIENT_BYTES;
use super::wm_startup::wait_for_wm;
use crate::connection::Connection;
use crate::startup::{
    START_TIMEOUT, failed, first_line, not_ready, pipe, spawn, unavailable, with_start_timeout,
};

/// The descriptor on which the server reports its display number.
const READY_FD: i32 = 3;
/// Memory of a server without screen and clients, in bytes.
const SERVER_BYTES: u64 = 128 << 20;

/// Limits of the server's cgroup, the backstop of its own limit.
pub(super) fn server_limits(options: &DisplayOptions) -> ResourceLimits {
    ResourceLimits {
        total_memory_bytes: server_bytes(options) + SERVER_BYTES,
        ..ResourceLimits::default()
    }
}

/// Writable memory that the server can reserve, in bytes.
fn server_bytes(options: &DisplayOptions) -> u64 {
    let size = options.size();
    let pixels = u64::from(size.width) * u64::from(size.height);
    // Four bytes each, and as much for a second buffer.
    SERVER_BYTES + pixels * 8 + MAX_CLIENT_BYTES
}

/// Starts an X server that requires the cookie and waits until it is ready.
pub(super) async fn start_server(
    options: &DisplayOptions,
    folder: &Path,
    number: u16,
    group: &Cgroup,
) -> Result<Child, DeviceError> {
    files::make_socket_folder().map_err(|error| failed("create /tmp/.X11-unix", &error))?;
    let log_path = folder.join("server.log");
    let log =
        make_private_file(&log_path).map_err(|error| failed("create the server log", &error))?;
    let (ready, number_read) = pipe()?;
    let screen = options.size();
    let size = format!("{}x{}x24", screen.width, screen.height);
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
        .cgroup(group)
        // Beyond it, the server refuses requests instead of being killed.
        .limit(Resource::Data, server_bytes(options))
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
