//! Keeps the last of a disk free: who goes on writing when little is left is ended.

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

use crate::config::Limits;
use crate::processes::{self, Marks, Process};

/// Looks are this far apart when little is left, and when much is.
const PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(1)];
/// Faster than anyone fills a disk: bytes, and files, a second.
const FASTEST: [u64; 2] = [4 << 30, 500_000];
/// Who wrote less than this in all does not fill a disk.
const LITTLE: u64 = 16 << 20;
/// Who writes less than this between two looks is slow, and only counts with all others.
const SLOW: u64 = 256 << 10;
/// The same as little, of files.
const MANY: u64 = 1000;

/// What of a file system is to be left: bytes, and names for files.
#[derive(Debug)]
struct Floor {
    folder: PathBuf,
    left: [u64; 2],
}

impl Floor {
    fn of(folder: &Path, limits: &Limits) -> io::Result<Self> {
        let there = there(folder)?;
        let wanted = [limits.min_free_bytes, limits.min_free_files];
        let left = std::array::from_fn(|at| {
            // Where there is less from the start, half of that.
            if there[at] > wanted[at] {
                wanted[at]
            } else {
                there[at] / 2
            }
        });
        let folder = folder.to_owned();
        Ok(Self { folder, left })
    }

    /// What of this is above it.
    fn above(&self, there: [u64; 2]) -> [u64; 2] {
        std::array::from_fn(|at| there[at].saturating_sub(self.left[at]))
    }
}

/// What a file system has for those who are not root.
fn there(folder: &Path) -> io::Result<[u64; 2]> {
    let found = statvfs(folder)?;
    // Some file systems make names as they need them, and count none.
    let names = if found.f_files == 0 {
        u64::MAX
    } else {
        found.f_favail
    };
    Ok([found.f_bavail.saturating_mul(found.f_frsize), names])
}

/// Looks after the disk as long as it is held.
#[derive(Debug)]
pub(crate) struct Keeper {
    floor: Arc<Floor>,
    ended: Arc<AtomicU64>,
    _task: JoinSet<()>,
}

impl Keeper {
    /// Begins for the file system of a folder that the processes of a session can write to.
    pub(crate) fn start(folder: &Path, limits: &Limits, root: Pid, shell: Pid) -> io::Result<Self> {
        let floor = Arc::new(Floor::of(folder, limits)?);
        let ended = Arc::new(AtomicU64::new(0));
        let mut task = JoinSet::new();
        task.spawn(keep(
            Arc::clone(&floor),
            Writers::of(root, shell),
            Arc::clone(&ended),
        ));
        Ok(Self {
            floor,
            ended,
            _task: task,
        })
    }

    /// How often something was ended.
    pub(crate) fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    /// Why.
    pub(crate) fn why(&self) -> String {
        let (folder, [bytes, files]) = (self.floor.folder.display(), self.floor.left);
        format!(
            "the file system of {folder} had less than {} MiB or {files} files left",
            bytes >> 20
        )
    }
}

async fn keep(floor: Arc<Floor>, mut writers: Writers, ended: Arc<AtomicU64>) {
    loop {
        // A file system that cannot be asked is not written to either.
        let there = there(&floor.folder).unwrap_or([u64::MAX; 2]);
        let above = floor.above(there);
        if above.contains(&0) {
            let count = writers.end(there);
            ended.fetch_add(count, Ordering::Relaxed);
        } else {
            writers.seen = None;
        }
        sleep(pause(above)).await;
    }
}

/// So long nobody reaches the floor.
fn pause(above: [u64; 2]) -> Duration {
    let millis = above
        .iter()
        .zip(FASTEST)
        .map(|(above, fastest)| above / (fastest / 1000));
    let [least, most] = PAUSES;
    Duration::from_millis(millis.min().unwrap_or(0)).clamp(least, most)
}

/// Finds who writes among the processes of a session.
#[derive(Debug)]
struct Writers {
    root: Pid,
    shell: Pid,
    seen: Option<Seen>,
}

/// What was seen at the last look, and at the first of a shortage or since somebody was ended.
#[derive(Debug)]
struct Seen {
    /// By number and beginning, what each had written.
    written: HashMap<(i32, u64), u64>,
    there: [u64; 2],
    first: Sum,
}

/// Of all of them together.
#[derive(Clone, Copy, Debug)]
struct Sum {
    written: u64,
    ticks: u64,
    there: [u64; 2],
}

impl Writers {
    const fn of(root: Pid, shell: Pid) -> Self {
        let seen = None;
        Self { root, shell, seen }
    }

    /// Ends those that wrote since the last look, when less is there than then; says how many.
    /// bash itself is interrupted: it writes in the words of a list or a loop.
    fn end(&mut self, there: [u64; 2]) -> u64 {
        let (root, shell) = (self.root, self.shell);
        let session = processes::of_session(Marks {
            root,
            shell,
            variable: None,
        });
        let bash = processes::one(shell);
        let all = || session.iter().chain(&bash);
        let (root, shell_number) = (root.as_raw_nonzero().get(), shell.as_raw_nonzero().get());
        let now: HashMap<(i32, u64), u64> = all()
            .map(|process| {
                // Of bash its own words alone: it waits for all that runs in front.
                let written = match process.pid == shell_number {
                    true => written(&format!("{shell_number}/task/{shell_number}")),
                    false => written(&process.pid.to_string()),
                };
                ((process.pid, process.started), written)
            })
            .collect();
        // What was begun in the background without a parent is counted by the first of them.
        let of_others = written(&shell_number.to_string()) + written(&root.to_string());
        let sum = Sum {
            written: now.values().sum::<u64>() + of_others,
            ticks: all().map(|process| process.used).sum(),
            there,
        };
        let first = self.seen.as_ref().map_or(sum, |seen| seen.first);
        let before = self.seen.replace(Seen {
            written: now.clone(),
            there,
            first,
        });
        // Whoever only removes files may go on.
        let Some(before) = before.filter(|before| fell(before.there, there)) else {
            return 0;
        };
        let writes = |process: &Process| {
            let key = (process.pid, process.started);
            let bytes = now.get(&key).copied().unwrap_or(0);
            let old = before.written.get(&key).copied().unwrap_or(0);
            bytes.saturating_sub(old) >= SLOW && bytes >= LITTLE
        };
        let mut writers: Vec<Process> = session.iter().copied().filter(writes).collect();
        let mut interrupts = bash.as_ref().is_some_and(writes);
        if writers.is_empty() && !interrupts && first.is_exceeded_by(sum) {
            (writers, interrupts) = (session, true);
        }
        if writers.is_empty() && !interrupts {
            return 0;
        }
        self.seen = None;
        processes::signal(&writers, Signal::KILL);
        if interrupts && let Ok(pidfd) = pidfd_open(shell, PidfdFlags::empty()) {
            // It may be over by now.
            let _gone = pidfd_send_signal(&pidfd, Signal::INT);
        }
        writers.len() as u64 + u64::from(interrupts)
    }
}

impl Sum {
    /// Whether many wrote a little each, or took room without writing, since then.
    fn is_exceeded_by(self, now: Self) -> bool {
        let [bytes, files] = std::array::from_fn(|at| self.there[at].saturating_sub(now.there[at]));
        let took = (bytes >= LITTLE || files >= MANY) && now.ticks > self.ticks;
        took || now.written.saturating_sub(self.written) >= LITTLE
    }
}

fn fell(before: [u64; 2], now: [u64; 2]) -> bool {
    before.iter().zip(&now).any(|(before, now)| now < before)
}

/// What a process had the disk write, with those of its children that are over and were waited for.
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
    fn much_is_looked_at_seldom_and_little_often() {
        assert_eq!(pause([u64::MAX, u64::MAX]), PAUSES[1]);
        assert_eq!(pause([0, u64::MAX]), PAUSES[0]);
        assert_eq!(pause([u64::MAX, 50_000]), Duration::from_millis(100));
    }

    #[test]
    fn of_a_disk_that_is_nearly_full_half_may_be_used() {
        let folder = std::env::temp_dir();
        let limits = Limits {
            min_free_bytes: u64::MAX,
            min_free_files: 1,
            ..Limits::default()
        };
        let floor = Floor::of(&folder, &limits).expect("a file system");
        let above = floor.above(there(&folder).expect("a file system"));
        assert!(above[0] > 0 && floor.left[0] > 0 && floor.left[1] == 1);
    }
}
