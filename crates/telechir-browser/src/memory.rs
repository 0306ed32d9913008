//! How much memory a browser may use, all of its processes together, and what is said when the
//! kernel ended one for more.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use telechir_process::confinement::Limits;
use telechir_process::{Cgroup, Pid};
use tracing::info;

use crate::options::Options;

/// A page has some twenty threads, and a browser has many pages.
const PROCESSES: u64 = 8192;

/// The group of one Chromium's processes. Clones are the same one.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    group: Arc<Cgroup>,
    told: Arc<AtomicU64>,
}

impl Memory {
    /// A group in which the browser is to be started.
    pub(crate) fn group(options: &Options) -> Cgroup {
        Cgroup::new(&Limits {
            processes: PROCESSES,
            together_bytes: options.memory_bytes,
            ..Limits::default()
        })
    }

    /// The group of a browser that runs. Where it has no limits, that is logged.
    pub(crate) fn of(mut group: Cgroup, browser: Pid) -> Self {
        group.prove(browser);
        if !group.bounds().hold() {
            info!(bounds = %group.bounds(), "limits of the browser");
        }
        Self {
            group: Arc::new(group),
            told: Arc::default(),
        }
    }

    /// What happened since this was asked last, in a sentence for the model.
    pub(crate) fn news(&self) -> Option<String> {
        let killed = self.group.killed_for_memory();
        (killed > self.told.swap(killed, Ordering::Relaxed)).then(|| {
            format!(
                "The kernel ended a process of the browser: all of it together used more than \
                 {} MiB of memory.",
                self.mebibytes()
            )
        })
    }

    /// Why a browser ended that ended by itself, where memory is why.
    pub(crate) fn reason(&self) -> Option<String> {
        (self.group.killed_for_memory() > 0).then(|| {
            format!(
                "all of it together used more than {} MiB of memory",
                self.mebibytes()
            )
        })
    }

    fn mebibytes(&self) -> u64 {
        self.group.bounds().memory_bytes.unwrap_or_default() >> 20
    }
}
