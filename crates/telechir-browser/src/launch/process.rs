//! The Chromium process: watches for its exit, stops it and removes its files.

use std::io;
use std::time::Duration;

use telechir_process::{Child, Pid, Signal};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tracing::warn;

use super::profile::ProfileDir;
use crate::client::CdpClient;
use crate::memory::MemoryLimit;

/// Chromium writes its profile when it is closed; a fresh one is not needed any more.
const FRESH_GRACE: Duration = Duration::from_secs(2);
/// A persistent profile must be written completely.
const PERSISTENT_GRACE: Duration = Duration::from_secs(10);

/// The owner of one Chromium process. Drop kills the process and removes its private folder.
#[derive(Debug)]
pub(crate) struct ChromiumProcess {
    pid: Pid,
    memory: MemoryLimit,
    end: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<io::Result<()>>>,
}

/// Dropped in order: first the process, then its files.
struct ProcessParts {
    child: Child,
    memory: MemoryLimit,
    profile: ProfileDir,
}

impl ChromiumProcess {
    /// Watches the process; when it exits, all commands of the client fail.
    pub(super) fn start(
        child: Child,
        profile: ProfileDir,
        memory: MemoryLimit,
        client: CdpClient,
    ) -> Self {
        let (end, close_requested) = oneshot::channel();
        let pid = child.pid();
        let parts = ProcessParts {
            child,
            memory: memory.clone(),
            profile,
        };
        let task = tokio::spawn(run(parts, client, close_requested));
        Self {
            pid,
            memory,
            end: Some(end),
            task: Some(task),
        }
    }

    /// The process, which leads a process group with the same id.
    pub(crate) const fn pid(&self) -> Pid {
        self.pid
    }

    /// The memory limit of its processes.
    pub(crate) const fn memory(&self) -> &MemoryLimit {
        &self.memory
    }

    /// Stops the process and removes its private folder.
    pub(crate) async fn end(mut self) -> io::Result<()> {
        if let Some(end) = self.end.take() {
            let _the_task_may_have_ended = end.send(());
        }
        match self.task.take() {
            Some(task) => task.await.map_err(io::Error::other)?,
            None => Ok(()),
        }
    }
}

impl Drop for ChromiumProcess {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

async fn run(
    parts: ProcessParts,
    client: CdpClient,
    close_requested: oneshot::Receiver<()>,
) -> io::Result<()> {
    let mut close_requested = close_requested;
    tokio::select! {
        // Both futures are cancel safe.
        status = parts.child.wait() => {
            let reason = match status {
                Ok(status) => match parts.memory.reason() {
                    Some(memory) => format!("it exited with {status}: {memory}"),
                    None => format!("it exited with {status}"),
                },
                Err(error) => format!("failed to wait for its exit: {error}"),
            };
            client.mark_lost(&reason);
            let _the_rest_may_be_gone_too = parts.child.signal_group(Signal::KILL);
            let _the_owner_may_be_gone = (&mut close_requested).await;
        }
        _ = &mut close_requested => {
            if parts.profile.is_persistent() {
                // Another of its processes writes cookies after the main process has exited.
                if timeout(PERSISTENT_GRACE, parts.child.wait_for_group()).await.is_err() {
                    warn!("Chromium did not exit in time: recently stored data may be lost");
                }
            } else {
                let _killed_below_otherwise = timeout(FRESH_GRACE, parts.child.wait()).await;
            }
        }
    }
    let ProcessParts { child, profile, .. } = parts;
    let ended = child.end(Duration::ZERO).await;
    profile.remove().await?;
    ended.map(|_| ())
}
