//! Holds the process: sees it end, ends it, and removes what it leaves.

use std::io;
use std::time::Duration;

use telechir_process::{Child, Pid, Signal};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tracing::warn;

use super::profile::Profile;
use crate::client::Client;
use crate::memory::Memory;

/// Chromium writes its profile when it is asked to close; nobody will read a fresh one.
const GRACE: Duration = Duration::from_secs(2);
/// One that lasts must be whole.
const GRACE_OF_KEPT: Duration = Duration::from_secs(10);

/// The owner of one browser process. Dropping it kills the process and removes its profile.
#[derive(Debug)]
pub(crate) struct Keeper {
    pid: Pid,
    memory: Memory,
    end: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<io::Result<()>>>,
}

/// Fields are dropped in order: first the process, then what it wrote.
struct Held {
    child: Child,
    memory: Memory,
    profile: Profile,
}

impl Keeper {
    /// Watches the process; when it ends, the client's commands fail.
    pub(super) fn start(child: Child, profile: Profile, memory: Memory, client: Client) -> Self {
        let (end, asked) = oneshot::channel();
        let pid = child.pid();
        let held = Held {
            child,
            memory: memory.clone(),
            profile,
        };
        let task = tokio::spawn(keep(held, client, asked));
        Self {
            pid,
            memory,
            end: Some(end),
            task: Some(task),
        }
    }

    /// The process, which leads a group of the same number.
    pub(crate) const fn pid(&self) -> Pid {
        self.pid
    }

    /// What bounds its memory.
    pub(crate) const fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Ends the process and removes its profile.
    pub(crate) async fn end(mut self) -> io::Result<()> {
        if let Some(end) = self.end.take() {
            let _it_ended_already = end.send(());
        }
        match self.task.take() {
            Some(task) => task.await.map_err(io::Error::other)?,
            None => Ok(()),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

async fn keep(held: Held, client: Client, asked: oneshot::Receiver<()>) -> io::Result<()> {
    let mut asked = asked;
    tokio::select! {
        // Both can be dropped and called again.
        status = held.child.wait() => {
            let why = match status {
                Ok(status) => match held.memory.reason() {
                    Some(memory) => format!("it ended with {status}: {memory}"),
                    None => format!("it ended with {status}"),
                },
                Err(error) => format!("its end could not be watched: {error}"),
            };
            client.lose(&why);
            let _the_rest_may_be_gone_too = held.child.signal_group(Signal::KILL);
            let _its_owner_is_gone = (&mut asked).await;
        }
        _ = &mut asked => {
            if held.profile.is_kept() {
                // One of its other processes writes cookies, after the first has ended.
                if timeout(GRACE_OF_KEPT, held.child.wait_for_group()).await.is_err() {
                    warn!("Chromium did not end by itself: what pages stored last may be lost");
                }
            } else {
                let _it_is_ended_below = timeout(GRACE, held.child.wait()).await;
            }
        }
    }
    let Held { child, profile, .. } = held;
    let ended = child.end(Duration::ZERO).await;
    profile.remove().await?;
    ended.map(|_| ())
}
