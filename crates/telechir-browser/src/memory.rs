//! The memory limit of all processes of a browser, and reports of processes that ended for lack of
//! memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use telechir_process::confinement::ResourceLimits;
use telechir_process::{Cgroup, Pid};
use tracing::info;

use crate::error::Gone;
use crate::options::Options;

/// A page has about twenty threads, and a browser has many pages.
const MAX_PROCESSES: u64 = 8192;

/// The control group of one Chromium. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct MemoryLimit {
    group: Arc<Cgroup>,
    reported: Arc<AtomicU64>,
    /// Unreported scripts that filled their heap.
    full_heaps: Arc<AtomicU64>,
}

/// How a renderer's log begins the report of a script that filled its heap.
const FULL_HEAP: &str = "V8 javascript OOM";

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
            full_heaps: Arc::default(),
        }
    }

    /// Reads a line that the browser logged.
    pub(crate) fn read_log(&self, line: &str) {
        if line.contains(FULL_HEAP) {
            self.full_heaps.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Why a page is gone whose renderer has just ended. Each death explains one page.
    pub(crate) fn reason_for_page(&self) -> Gone {
        let killed = self.group.killed_for_memory();
        if killed > self.reported.swap(killed, Ordering::Relaxed) {
            return Gone::OverMemoryLimit {
                mebibytes: self.mebibytes(),
            };
        }
        let has_full_heap = |count: u64| count.checked_sub(1);
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        match self.full_heaps.fetch_update(set, fetch, has_full_heap) {
            Ok(_) => Gone::FullHeap,
            Err(_) => Gone::Crashed,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_heap_explains_one_page() {
        let memory = MemoryLimit {
            group: Arc::new(MemoryLimit::group(&Options::default())),
            reported: Arc::default(),
            full_heaps: Arc::default(),
        };
        assert_eq!(memory.reason_for_page(), Gone::Crashed);
        memory.read_log("[1:ERROR:v8_oom.cc:49] V8 javascript OOM (Reached heap limit).");
        memory.read_log("[1:ERROR:bus.cc:405] Failed to connect to the bus.");
        assert_eq!(memory.reason_for_page(), Gone::FullHeap);
        assert_eq!(memory.reason_for_page(), Gone::Crashed);
    }
}
