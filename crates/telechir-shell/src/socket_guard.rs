//! Covers sockets of servers outside that appear in the workspace, after each command.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use telechir_process::confinement::{SocketWatch, Sockets};
use telechir_process::{Identity, Pid};
use tokio::sync::Notify;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::sleep;

/// Shortest time between two searches.
const MIN_PAUSE: Duration = Duration::from_millis(200);
/// The pause after a search, in multiples of its duration: a large workspace takes little time.
const PAUSE_FACTOR: u32 = 20;

/// Searches a workspace until it is dropped.
#[derive(Debug)]
pub(crate) struct SocketGuard {
    wake: Arc<Notify>,
    _task: JoinSet<()>,
}

impl SocketGuard {
    /// Starts watching the workspace of the sandbox with this first process.
    pub(crate) fn start(
        workspace: &Path,
        first: Pid,
        identity: Option<Identity>,
        covered: &Sockets,
    ) -> Self {
        let (workspace, covered) = (workspace.to_owned(), covered.clone());
        let watch = move || SocketWatch::new(first, identity, &workspace, &covered);
        let wake = Arc::new(Notify::new());
        let mut task = JoinSet::new();
        task.spawn(run_guard(watch, Arc::clone(&wake)));
        Self { wake, _task: task }
    }

    /// Starts a search soon.
    pub(crate) fn command_ended(&self) {
        self.wake.notify_one();
    }
}

async fn run_guard(
    watch: impl FnOnce() -> io::Result<SocketWatch> + Send + 'static,
    wake: Arc<Notify>,
) {
    // In the background: the start of a shell does not wait for it.
    let Ok(watch) = spawn_blocking(watch).await else {
        return;
    };
    let mut watch = match watch {
        Ok(watch) => watch,
        Err(error) => {
            tracing::warn!(%error, "sockets that appear in the workspace later stay reachable");
            return;
        }
    };
    loop {
        wake.notified().await;
        let started = Instant::now();
        let searched = spawn_blocking(move || {
            let covered = watch.cover_new();
            (watch, covered)
        });
        let Ok((returned, covered)) = searched.await else {
            return;
        };
        watch = returned;
        match covered {
            Ok(paths) => {
                for path in paths {
                    tracing::info!(path = %path.display(), "a new socket is out of reach of commands");
                }
            }
            Err(error) => tracing::warn!(%error, "failed to cover new sockets in the workspace"),
        }
        sleep(MIN_PAUSE.max(started.elapsed() * PAUSE_FACTOR)).await;
    }
}
