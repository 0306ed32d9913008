//! Waits until a client that confirms nothing has read its input.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use x11rb::protocol::res::{self, ClientIdMask, ClientIdSpec, ConnectionExt as _};
use x11rb::protocol::xproto::Window;

use super::threads::{SchedStat, Thread, ThreadScanner, WatchedProcesses};
use crate::connection::Connection;
use crate::error::XError;

/// When a client counts as idle.
#[derive(Clone, Copy, Debug)]
struct IdleRule {
    /// Time between two samples.
    interval: Duration,
    /// Samples in a row without activity. Between them the server replies to us, and so to the
    /// client.
    samples: u32,
    /// Maximum wait.
    limit: Duration,
}

/// A client that does not confirm reading. The limit is for those that are never idle, such as a
/// terminal with endless output.
const SILENT: IdleRule = IdleRule {
    interval: Duration::from_millis(5),
    samples: 2,
    limit: Duration::from_millis(500),
};
/// A client that has just confirmed reading: what it read wakes it at once.
const CONFIRMED: IdleRule = IdleRule {
    interval: Duration::from_millis(2),
    samples: 2,
    limit: Duration::from_secs(2),
};
/// One that shows a field for the text that the first character begins. Some are never idle.
const OPENING: IdleRule = IdleRule {
    interval: Duration::from_millis(5),
    samples: 2,
    limit: Duration::from_millis(250),
};
/// The same as [`CONFIRMED`] if it may react with a delay. GTK's entries complete the text 100 ms
/// after the last character, and lose an Enter that arrives while they do.
const QUIET: IdleRule = IdleRule {
    interval: Duration::from_millis(5),
    samples: 24,
    limit: Duration::from_millis(600),
};
/// Clients that get motions: GTK hands them out with the next frame, up to 17 ms later.
const MOTION: IdleRule = IdleRule {
    interval: Duration::from_millis(5),
    samples: 5,
    limit: Duration::from_millis(300),
};

/// Whether a client became idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Idle {
    /// It sleeps, or is not a process of this machine.
    Reached,
    /// It was still busy at the limit, or did not even read its input.
    Busy,
}

/// Waits until the client of a window neither runs nor waits for a core. Returns at once if it is
/// not a process of this machine.
pub(crate) async fn wait_until_idle(
    connection: &Connection,
    window: Window,
) -> Result<Idle, XError> {
    wait(connection, &[window], SILENT).await
}

/// How thoroughly a client is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handling {
    /// It sleeps.
    Asleep,
    /// It has slept for a while: it does not react with a delay either.
    Quiet,
    /// It sleeps, or is given up soon, whether it confirms or not.
    Opening,
}

/// The same for a client that has just confirmed that it read its input.
pub(crate) async fn wait_until_handled(
    connection: &Connection,
    window: Window,
    handling: Handling,
) -> Result<Idle, XError> {
    let rule = match handling {
        Handling::Asleep => CONFIRMED,
        Handling::Quiet => QUIET,
        Handling::Opening => OPENING,
    };
    wait(connection, &[window], rule).await
}

/// The same for clients that were sent pointer motions.
pub(crate) async fn wait_until_moved(
    connection: &Connection,
    windows: &[Window],
) -> Result<Idle, XError> {
    wait(connection, windows, MOTION).await
}

async fn wait(connection: &Connection, windows: &[Window], rule: IdleRule) -> Result<Idle, XError> {
    let mut programs = Vec::new();
    for window in windows {
        programs.extend(process_of(connection, *window).await?);
    }
    if programs.is_empty() {
        return Ok(Idle::Reached);
    }
    let watched = WatchedProcesses {
        programs,
        ..WatchedProcesses::default()
    };
    let mut scanner = ThreadScanner::default();
    let mut before = threads_of(&mut scanner, &watched);
    let mut idle_samples = 0;
    let started = Instant::now();
    while idle_samples < rule.samples {
        if started.elapsed() >= rule.limit {
            return Ok(Idle::Busy);
        }
        connection.sync().await?;
        sleep(rule.interval).await;
        let now = threads_of(&mut scanner, &watched);
        let is_idle = now == before && !now.keys().any(|thread| scanner.is_ready(*thread));
        idle_samples = if is_idle { idle_samples + 1 } else { 0 };
        before = now;
    }
    Ok(Idle::Reached)
}

/// The statistics of the processes' own threads, without those of programs that they started.
fn threads_of(
    scanner: &mut ThreadScanner,
    watched: &WatchedProcesses,
) -> HashMap<Thread, SchedStat> {
    let threads = scanner.read(watched);
    threads
        .filter(|((of, _), _)| watched.programs.contains(of))
        .collect()
}

/// The local process that created a window.
async fn process_of(connection: &Connection, window: Window) -> Result<Option<u32>, XError> {
    if !connection.is_local() || !connection.has(res::X11_EXTENSION_NAME)? {
        return Ok(None);
    }
    let spec = ClientIdSpec {
        client: window,
        mask: ClientIdMask::LOCAL_CLIENT_PID,
    };
    let request = connection.x().res_query_client_ids(&[spec])?;
    let ids = match connection.reply(request).await {
        Ok(reply) => reply.ids,
        // The window is gone, or the server knows only the first version of the extension.
        Err(XError::Refused(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(ids.first().and_then(|id| id.value.first()).copied())
}
