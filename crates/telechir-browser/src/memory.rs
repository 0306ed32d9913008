//! The memory limit of all processes of a browser, and reports of processes that the kernel killed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use telechir_process::confinement::ResourceLimits;
use telechir_process::{Cgroup, Pid};
use tracing::info;

use crate::options::Options;

/// A page has about twenty threads, and a browser has many pages.
const MAX_PROCESSES: u64 = 8192;

/// The control group of one Chromium. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct MemoryLimit {
    group: Arc<Cgroup>,
    reported: Arc<AtomicU64>,
}

impl MemoryLimit {
    /// The control group in which the browser is started.
    pub(crate) fn group(options: &Options) -> Cgroup {
        Cgroup::new(&ResourceLimits {
            processes: MAX_PROCESSES,
            total_memory_bytes: options.max_memory_bytes,
            ..ResourceLimits::default()
        })
    }

    /// Verifies the group of a running browser; missing limits are logged.
    pub(crate) fn of(mut group: Cgroup, browser: Pid) -> Self {
        group.verify_member(browser);
        if !group.effective_limits().limits_totals() {
            info!(bounds = %group.effective_limits(), "limits of the browser");
        }
        Self {
            group: Arc::new(group),
            reported: Arc::default(),
        }
    }

    /// A sentence about processes that were killed since the last call, if any.
    pub(crate) fn new_kills(&self) -> Option<String> {
        let killed = self.group.killed_for_memory();
        (killed > self.reported.swap(killed, Ordering::Relaxed)).then(|| {
            format!(
                "The kernel killed a process of the browser: its processes together used more than \
                 {} MiB of memory.",
                self.mebibytes()
            )
        })
    }

    /// Why the browser exited, if the memory limit is the reason.
    pub(crate) fn reason(&self) -> Option<String> {
        (self.group.killed_for_memory() > 0).then(|| {
            format!(
                "its processes together used more than {} MiB of memory",
                self.mebibytes()
            )
        })
    }

    fn mebibytes(&self) -> u64 {
        self.group
            .effective_limits()
            .memory_bytes
            .unwrap_or_default()
            >> 20
    }
}
