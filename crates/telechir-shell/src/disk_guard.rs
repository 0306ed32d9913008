//! Keeps a minimum of disk space free: processes that keep writing below it are killed.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::fs::statvfs;
use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
use telechir_process::{Pid, Signal};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::config::ResourceLimits;
use crate::processes::{self, SessionMarks, ShellProcess};

/// Check intervals with little and with much free space.
const CHECK_INTERVALS: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(1)];
/// Upper bound of the fill rate: bytes and files per second.
const MAX_FILL_RATE: [u64; 2] = [4 << 30, 500_000];
/// Minimum total of written bytes for a process to count as a writer.
const MIN_WRITER_BYTES: u64 = 16 << 20;
/// Bytes between two checks below which a process is slow and counts only in the total.
const SLOW_BYTES_PER_CHECK: u64 = 256 << 10;
/// Minimum number of new files in total for all processes to count as writers.
const MIN_WRITER_FILES: u64 = 1000;

/// Minimum free bytes and inodes of a file system.
#[derive(Debug)]
struct MinFree {
    folder: PathBuf,
    min_free: [u64; 2],
}

impl MinFree {
    fn new(folder: &Path, limits: &ResourceLimits) -> io::Result<Self> {
        let free = free(folder)?;
        let configured = [limits.min_free_bytes, limits.min_free_files];
        let min_free = std::array::from_fn(|at| {
            // With less free space from the start, half of that.
            if free[at] > configured[at] {
                configured[at]
            } else {
                free[at] / 2
            }
        });
        let folder = folder.to_owned();
        Ok(Self { folder, min_free })
    }

    /// The free space above the minimum.
    fn available(&self, free: [u64; 2]) -> [u64; 2] {
        std::array::from_fn(|at| free[at].saturating_sub(self.min_free[at]))
    }
}

/// Free bytes and inodes for unprivileged users.
fn free(folder: &Path) -> io::Result<[u64; 2]> {
    let found = statvfs(folder)?;
    // Some file systems allocate inodes dynamically and report none.
    let inodes = if found.f_files == 0 {
        u64::MAX
    } else {
        found.f_favail
    };
    Ok([found.f_bavail.saturating_mul(found.f_frsize), inodes])
}

/// Monitors a file system until it is dropped.
#[derive(Debug)]
pub(crate) struct DiskGuard {
    min_free: Arc<MinFree>,
    killed: Arc<AtomicU64>,
    _task: JoinSet<()>,
}

impl DiskGuard {
    /// Starts monitoring the file system of a folder that a session's processes can write to.
    pub(crate) fn start(
        folder: &Path,
        limits: &ResourceLimits,
        root: Pid,
        shell: Pid,
    ) -> io::Result<Self> {
        let min_free = Arc::new(MinFree::new(folder, limits)?);
        let killed = Arc::new(AtomicU64::new(0));
        let mut task = JoinSet::new();
        task.spawn(run_guard(
            Arc::clone(&min_free),
            Writers::new(root, shell),
            Arc::clone(&killed),
        ));
        Ok(Self {
            min_free,
            killed,
            _task: task,
        })
    }

    /// Number of processes killed so far.
    pub(crate) fn killed(&self) -> u64 {
        self.killed.load(Ordering::Relaxed)
    }

    /// The reason for killing them, as text.
    pub(crate) fn reason(&self) -> String {
        let (folder, [bytes, files]) = (self.min_free.folder.display(), self.min_free.min_free);
        format!(
            "the file system of {folder} had less than {} MiB or {files} files left",
            bytes >> 20
        )
    }
}

async fn run_guard(min_free: Arc<MinFree>, mut writers: Writers, killed: Arc<AtomicU64>) {
    loop {
        // A file system that cannot be queried is assumed to be free.
        let free = free(&min_free.folder).unwrap_or([u64::MAX; 2]);
        let available = min_free.available(free);
        if available.contains(&0) {
            let count = writers.kill_writers(free);
            killed.fetch_add(count, Ordering::Relaxed);
        } else {
            writers.last = None;
        }
        sleep(pause(available)).await;
    }
}

/// Time in which the minimum cannot be reached, even at the maximum fill rate.
fn pause(available: [u64; 2]) -> Duration {
    let millis = available
        .iter()
        .zip(MAX_FILL_RATE)
        .map(|(available, fastest)| available / (fastest / 1000));
    let [quickest, slowest] = CHECK_INTERVALS;
    Duration::from_millis(millis.min().unwrap_or(0)).clamp(quickest, slowest)
}

/// Finds writers among the processes of a session.
#[derive(Debug)]
struct Writers {
    root: Pid,
    shell: Pid,
    last: Option<Observation>,
}

/// The last check, and the baseline at the start of the shortage or after the last kill.
#[derive(Debug)]
struct Observation {
    /// Written bytes by pid and start time.
    written: HashMap<(i32, u64), u64>,
    free: [u64; 2],
    baseline: TotalUsage,
}

/// Usage of all processes together.
#[derive(Clone, Copy, Debug)]
struct TotalUsage {
    written: u64,
    ticks: u64,
    free: [u64; 2],
}

impl Writers {
    const fn new(root: Pid, shell: Pid) -> Self {
        let last = None;
        Self { root, shell, last }
    }

    /// Kills the processes that wrote since the last check, if the free space has shrunk; returns
    /// their number. bash itself is interrupted, because its lists and loops can write, too.
    fn kill_writers(&mut self, free: [u64; 2]) -> u64 {
        let (root, shell) = (self.root, self.shell);
        let session = processes::session_processes(SessionMarks {
            root,
            shell,
            variable: None,
        });
        let bash = processes::find(shell);
        let all = || session.iter().chain(&bash);
        let (root, shell_number) = (root.as_raw_nonzero().get(), shell.as_raw_nonzero().get());
        let now: HashMap<(i32, u64), u64> = all()
            .map(|process| {
                // Of bash only its main thread: its totals include all foreground commands.
                let written = match process.pid == shell_number {
                    true => written(&format!("{shell_number}/task/{shell_number}")),
                    false => written(&process.pid.to_string()),
                };
                ((process.pid, process.started), written)
            })
            .collect();
        // Exited orphans are counted by the first process.
        let orphaned = written(&shell_number.to_string()) + written(&root.to_string());
        let sum = TotalUsage {
            written: now.values().sum::<u64>() + orphaned,
            ticks: all().map(|process| process.used).sum(),
            free,
        };
        let baseline = self.last.as_ref().map_or(sum, |last| last.baseline);
        let before = self.last.replace(Observation {
            written: now.clone(),
            free,
            baseline,
        });
        // Processes that only delete files may continue.
        let Some(before) = before.filter(|before| has_shrunk(before.free, free)) else {
            return 0;
        };
        let writes = |process: &ShellProcess| {
            let key = (process.pid, process.started);
            let bytes = now.get(&key).copied().unwrap_or(0);
            let old = before.written.get(&key).copied().unwrap_or(0);
            bytes.saturating_sub(old) >= SLOW_BYTES_PER_CHECK && bytes >= MIN_WRITER_BYTES
        };
        let mut writers: Vec<ShellProcess> = session.iter().copied().filter(writes).collect();
        let mut interrupts = bash.as_ref().is_some_and(writes);
        if writers.is_empty() && !interrupts && baseline.is_exceeded_by(sum) {
            (writers, interrupts) = (session, true);
        }
        if writers.is_empty() && !interrupts {
            return 0;
        }
        self.last = None;
        processes::signal(&writers, Signal::KILL);
        if interrupts && let Ok(pidfd) = pidfd_open(shell, PidfdFlags::empty()) {
            // It may have exited.
            let _gone = pidfd_send_signal(&pidfd, Signal::INT);
        }
        writers.len() as u64 + u64::from(interrupts)
    }
}

impl TotalUsage {
    /// Whether many processes wrote a little each, or allocated space without writing.
    fn is_exceeded_by(self, now: Self) -> bool {
        let [bytes, files] = std::array::from_fn(|at| self.free[at].saturating_sub(now.free[at]));
        let took_space =
            (bytes >= MIN_WRITER_BYTES || files >= MIN_WRITER_FILES) && now.ticks > self.ticks;
        took_space || now.written.saturating_sub(self.written) >= MIN_WRITER_BYTES
    }
}

fn has_shrunk(before: [u64; 2], now: [u64; 2]) -> bool {
    before.iter().zip(&now).any(|(before, now)| now < before)
}

/// Bytes that a process and its reaped children wrote to disk.
fn written(process: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/io")).unwrap_or_default();
    let bytes = text
        .lines()
        .find_map(|line| line.strip_prefix("write_bytes:"));
    bytes
        .and_then(|bytes| bytes.trim().parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_interval_depends_on_the_free_space() {
        assert_eq!(pause([u64::MAX, u64::MAX]), CHECK_INTERVALS[1]);
        assert_eq!(pause([0, u64::MAX]), CHECK_INTERVALS[0]);
        assert_eq!(pause([u64::MAX, 50_000]), Duration::from_millis(100));
    }

    #[test]
    fn on_a_nearly_full_disk_half_of_the_space_is_usable() {
        let folder = std::env::temp_dir();
        let limits = ResourceLimits {
            min_free_bytes: u64::MAX,
            min_free_files: 1,
            ..ResourceLimits::default()
        };
        let min_free = MinFree::new(&folder, &limits).expect("a file system");
        let available = min_free.available(free(&folder).expect("a file system"));
        assert!(available[0] > 0 && min_free.min_free[0] > 0 && min_free.min_free[1] == 1);
    }
}
