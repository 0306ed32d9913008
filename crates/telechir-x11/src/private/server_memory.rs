//! Which client's data fill the memory of an X server.

use std::collections::HashMap;
use std::time::Duration;

use telechir_process::Pid;
use tokio::time::{Instant, timeout};
use x11rb::protocol::res::{ClientIdMask, ClientIdSpec, ConnectionExt as _, ResourceIdSpec};
use x11rb::protocol::xproto::{AtomEnum, ConnectionExt as _, Window};

use crate::connection::Connection;
use crate::error::XError;

/// Estimated bytes of a resource that is not a pixmap, such as a window or a graphics context.
const RESOURCE_BYTES: u64 = 256;
/// Maximum number of windows whose properties are measured.
const MAX_WINDOWS: usize = 4_096;
/// How long the server may be held to measure; an idle machine needs less than half of it.
const MAX_MEASURE_TIME: Duration = Duration::from_secs(1);

/// The memory that a client's data take in the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClientMemory {
    /// The client's first resource id, without the part that numbers its resources.
    pub(super) base: u32,
    /// Its process; `None` if it is remote. The process may have exited: a client can ask the
    /// server to keep its resources.
    pub(super) pid: Option<Pid>,
    pub(super) bytes: u64,
    /// Number of its resources.
    pub(super) resources: u64,
}

/// The memory of every client's pixmaps, properties and other resources.
///
/// Holds the server meanwhile: clients that keep it busy would delay each answer, and go on filling
/// its memory.
pub(super) async fn of_clients(connection: &Connection) -> Result<Vec<ClientMemory>, XError> {
    let x = connection.x();
    x.grab_server()?;
    let measured = timeout(MAX_MEASURE_TIME, measure(connection)).await;
    x.ungrab_server()?;
    connection.flush()?;
    measured.unwrap_or(Err(XError::TimedOut {
        what: "measure the memory of the X server's clients",
        limit_ms: 1_000,
    }))
}

async fn measure(connection: &Connection) -> Result<Vec<ClientMemory>, XError> {
    let x = connection.x();
    let listed = connection.reply(x.res_query_clients()?).await?.clients;
    let pids = pids(connection).await?;
    let mask = listed.first().map_or(0, |client| client.resource_mask);
    let properties = properties(connection, mask).await?;
    let mut clients = Vec::with_capacity(listed.len());
    for client in listed {
        let base = client.resource_base;
        let pixmaps = x.res_query_client_pixmap_bytes(base)?;
        let resources = x.res_query_client_resources(base)?;
        // A client that disconnected in the meantime has no memory.
        let (Ok(pixmaps), Ok(resources)) = (
            connection.reply(pixmaps).await,
            connection.reply(resources).await,
        ) else {
            continue;
        };
        let pixmaps = u64::from(pixmaps.bytes_overflow) << 32 | u64::from(pixmaps.bytes);
        let count: u64 = resources
            .types
            .iter()
            .map(|kind| u64::from(kind.count))
            .sum();
        let properties = properties.get(&base).copied().unwrap_or(0);
        clients.push(ClientMemory {
            base,
            pid: pids.get(&base).copied(),
            bytes: pixmaps + properties + count * RESOURCE_BYTES,
            resources: count,
        });
    }
    Ok(clients)
}

/// Removes what a client left in the server, also if it disconnected and asked to keep it.
pub(super) async fn destroy(connection: &Connection, base: u32) -> Result<(), XError> {
    let x = connection.x();
    // The request to kill a client names one of its resources.
    let every = ResourceIdSpec {
        resource: 0,
        type_: 0,
    };
    let sizes = x.res_query_resource_bytes(base, &[every])?;
    let sizes = connection.reply(sizes).await?.sizes;
    let resource = sizes.first().map(|size| size.size.spec.resource);
    match resource {
        Some(resource) => connection.checked(x.kill_client(resource)?).await,
        None => Ok(()),
    }
}

/// The local processes of all clients.
async fn pids(connection: &Connection) -> Result<HashMap<u32, Pid>, XError> {
    let spec = ClientIdSpec {
        client: 0,
        mask: ClientIdMask::LOCAL_CLIENT_PID,
    };
    let request = connection.x().res_query_client_ids(&[spec])?;
    let ids = connection.reply(request).await?.ids;
    let pid = |values: &[u32]| Pid::from_raw(i32::try_from(*values.first()?).ok()?);
    let known = ids
        .iter()
        .filter_map(|id| Some((id.spec.client, pid(&id.value)?)));
    Ok(known.collect())
}

/// Bytes of the properties of each client's windows.
async fn properties(connection: &Connection, mask: u32) -> Result<HashMap<u32, u64>, XError> {
    let x = connection.x();
    let mut found = HashMap::new();
    let mut windows = vec![connection.root()];
    let mut at = 0;
    let end = Instant::now() + MAX_MEASURE_TIME / 2;
    while let Some(window) = windows.get(at).copied() {
        at += 1;
        if Instant::now() > end {
            break;
        }
        let Ok(tree) = connection.reply(x.query_tree(window)?).await else {
            continue;
        };
        let free = MAX_WINDOWS.saturating_sub(windows.len());
        windows.extend(tree.children.iter().take(free));
        *found.entry(window & !mask).or_default() += property_bytes(connection, window).await?;
    }
    Ok(found)
}

async fn property_bytes(connection: &Connection, window: Window) -> Result<u64, XError> {
    let x = connection.x();
    let Ok(listed) = connection.reply(x.list_properties(window)?).await else {
        return Ok(0);
    };
    let mut bytes = 0;
    for property in listed.atoms {
        let request = x.get_property(false, window, property, AtomEnum::ANY, 0, 0)?;
        if let Ok(found) = connection.reply(request).await {
            bytes += u64::from(found.bytes_after);
        }
    }
    Ok(bytes)
}
