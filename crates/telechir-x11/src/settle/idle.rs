//! Waits until a client that confirms nothing has read its input.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use x11rb::protocol::res::{self, ClientIdMask, ClientIdSpec, ConnectionExt as _};
use x11rb::protocol::xproto::Window;

use super::threads::{SchedStat, Thread, ThreadScanner, WatchedProcesses};
use crate::connection::Connection;
use crate::error::XError;

/// Time between two samples.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(5);
/// Samples in a row without activity. Between them the server replies to us, and so to the client.
const IDLE_SAMPLES: usize = 2;
/// Maximum wait for a client that is never idle, such as a terminal with endless output.
const MAX_BUSY: Duration = Duration::from_millis(500);

/// Waits until the client of a window neither runs nor waits for a core. Returns at once if it is
/// not a process of this machine.
pub(crate) async fn wait_until_idle(connection: &Connection, window: Window) -> Result<(), XError> {
    let Some(client) = process_of(connection, window).await? else {
        return Ok(());
    };
    let watched = WatchedProcesses {
        programs: vec![client],
        ..WatchedProcesses::default()
    };
    let mut scanner = ThreadScanner::default();
    let mut before = threads_of(client, &mut scanner, &watched);
    let mut idle_samples = 0;
    let started = Instant::now();
    while idle_samples < IDLE_SAMPLES && started.elapsed() < MAX_BUSY {
        connection.sync().await?;
        sleep(SAMPLE_INTERVAL).await;
        let now = threads_of(client, &mut scanner, &watched);
        let is_idle = now == before && !now.keys().any(|thread| scanner.is_ready(*thread));
        idle_samples = if is_idle { idle_samples + 1 } else { 0 };
        before = now;
    }
    Ok(())
}

/// The statistics of a process's own threads, without those of programs that it started.
fn threads_of(
    process: u32,
    scanner: &mut ThreadScanner,
    watched: &WatchedProcesses,
) -> HashMap<Thread, SchedStat> {
    let threads = scanner.read(watched);
    threads.filter(|((of, _), _)| *of == process).collect()
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
