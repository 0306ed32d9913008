//! Control groups, in which the kernel counts, limits and kills processes together.
//!
//! Resource limits of a process are not shared with its children: a hundred processes may each use
//! as much as one. A cgroup has limits of its own, but creating one needs write access: root where
//! cgroups are mounted writable, other users in a delegated subtree. Where this is impossible,
//! the cgroup reports it with the reason.

mod effective_limits;
mod end;
mod hierarchy;
mod layout;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub use effective_limits::EffectiveLimits;
pub(crate) use end::{kill_members, try_remove};
use hierarchy::{CgroupVersion, Hierarchy};

use crate::Pid;
use crate::confinement::ResourceLimits;
use crate::guardian;

/// Time for killed processes to exit before their cgroup is left to the guardian.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// Members of a cgroup; a process joins by writing its pid.
const PROCS_FILE: &str = "cgroup.procs";
/// Members by thread, only in version 1. A new process has one thread; moving just that does not
/// block fork and exit on the complete machine.
const TASKS_FILE: &str = "tasks";
/// Counts of processes that were not started because of `pids.max`, in both versions.
const PIDS_EVENTS_FILE: &str = "pids.events";

/// Open files by which a new process joins a cgroup.
#[derive(Debug)]
pub(crate) struct CgroupHandle {
    /// The writing process joins by writing `0`.
    pub(crate) procs_fd: OwnedFd,
    /// The folder of a version 2 cgroup, for `CLONE_INTO_CGROUP`. Joining later blocks fork and
    /// exit on the complete machine until all processors have passed an RCU grace period: 5 to 20
    /// ms.
    pub(crate) clone_into_fd: Option<OwnedFd>,
}

/// A cgroup for the programs of one sandbox or display; its processes are killed on drop.
#[derive(Debug)]
pub struct Cgroup {
    name: String,
    dirs: Vec<PathBuf>,
    /// The file in which the kernel counts processes killed for memory.
    killed: Option<File>,
    /// The file in which the kernel counts processes and threads that it did not start.
    refused: Option<File>,
    bounds: EffectiveLimits,
}

impl Cgroup {
    /// Creates a cgroup with these limits, as far as possible; the effective limits list which
    /// are in effect.
    pub fn new(limits: &ResourceLimits) -> Self {
        let mut group = Self::without_dirs();
        match hierarchy::all() {
            Ok(hierarchies) => group.claim(&hierarchies, limits),
            Err(error) => group
                .bounds
                .add_unavailable(&format!("/proc/self: {error}")),
        }
        group
    }

    fn without_dirs() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(1);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let us = rustix::process::getpid().as_raw_nonzero();
        Self {
            name: format!("{}{us}-{number}", guardian::folder_prefix()),
            dirs: Vec::new(),
            killed: None,
            refused: None,
            bounds: EffectiveLimits::default(),
        }
    }

    /// Creates a folder in each hierarchy that offers a needed controller.
    fn claim(&mut self, hierarchies: &[Hierarchy], limits: &ResourceLimits) {
        if hierarchies.is_empty() {
            self.bounds.add_unavailable("no cgroups are mounted");
        }
        for hierarchy in hierarchies {
            match layout::create(hierarchy, &self.name) {
                Ok(created) => {
                    self.dirs.push(created.path.clone());
                    for controller in created.controllers {
                        self.apply_limits(hierarchy.version, &created.path, controller, limits);
                    }
                }
                Err(why) => self.bounds.add_unavailable(&why),
            }
        }
    }

    fn apply_limits(
        &mut self,
        version: CgroupVersion,
        path: &std::path::Path,
        controller: &str,
        limits: &ResourceLimits,
    ) {
        let applied = self.bounds.apply(version, path, controller, limits);
        match applied {
            Ok(()) if controller == "memory" => {
                self.killed = File::open(path.join(version.memory_events())).ok();
            }
            Ok(()) if controller == "pids" => {
                self.refused = File::open(path.join(PIDS_EVENTS_FILE)).ok();
            }
            Ok(()) => {}
            Err(error) => self
                .bounds
                .add_unavailable(&format!("{controller}: {error}")),
        }
    }

    /// The limits in effect for all processes together, and which are unavailable.
    pub const fn effective_limits(&self) -> &EffectiveLimits {
        &self.bounds
    }

    /// Opens the files by which a process joins.
    pub(crate) fn handles(&self) -> Vec<CgroupHandle> {
        let open = |path: &PathBuf| {
            let file = |name| OpenOptions::new().write(true).open(path.join(name));
            if let Ok(threads) = file(TASKS_FILE) {
                return Some(CgroupHandle {
                    procs_fd: threads.into(),
                    clone_into_fd: None,
                });
            }
            Some(CgroupHandle {
                procs_fd: file(PROCS_FILE).ok()?.into(),
                clone_into_fd: File::open(path).ok().map(OwnedFd::from),
            })
        };
        self.dirs.iter().filter_map(open).collect()
    }

    /// Checks that a process is a member; if it is not, reports all limits as not in effect.
    pub fn verify_member(&mut self, process: Pid) {
        if !self.contains(process) {
            self.bounds = EffectiveLimits::default();
            self.bounds
                .add_unavailable("processes could not join the cgroup");
        }
    }

    /// Whether a process is a member.
    pub fn contains(&self, process: Pid) -> bool {
        let text = fs::read_to_string(format!("/proc/{}/cgroup", process.as_raw_nonzero()));
        let ending = format!("/{}", self.name);
        let seen = text.unwrap_or_default();
        let seen = seen.lines().filter(|line| line.contains(&ending)).count();
        seen >= self.dirs.len()
    }

    /// Number of its processes that the kernel killed because all together exceeded the memory
    /// limit.
    pub fn killed_for_memory(&self) -> u64 {
        self.killed
            .as_ref()
            .map_or(0, |file| count_in(file, "oom_kill "))
    }

    /// How often a process or thread could not be started because of the limit on their number.
    pub fn refused_processes(&self) -> u64 {
        self.refused
            .as_ref()
            .map_or(0, |file| count_in(file, "max "))
    }

    /// Kills all member processes.
    pub fn kill(&self) {
        for path in &self.dirs {
            kill_members(path);
        }
    }

    /// Removes folders without members; returns whether none is left.
    fn remove_empty(dirs: &mut Vec<PathBuf>) -> bool {
        dirs.retain(|path| {
            let is_left = !try_remove(path);
            if !is_left {
                guardian::unregister_cgroup(path);
            }
            is_left
        });
        dirs.is_empty()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        self.kill();
        let mut dirs = std::mem::take(&mut self.dirs);
        if Self::remove_empty(&mut dirs) {
            return;
        }
        let clear = move || {
            let deadline = Instant::now() + KILL_TIMEOUT;
            while !Self::remove_empty(&mut dirs) && Instant::now() < deadline {
                for path in &dirs {
                    end::wait_for_exits(&kill_members(path));
                }
            }
        };
        let thread = thread::Builder::new().name("telechir-cgroup".to_owned());
        // Without the thread, the guardian removes the folders.
        let _guardian_removes_it = thread.spawn(clear);
    }
}

/// The number after `name` in a file of counts.
fn count_in(file: &File, name: &str) -> u64 {
    // Called after every command: the file stays open, and each read returns the current values.
    let mut text = [0; 512];
    let length = file.read_at(&mut text, 0).unwrap_or(0);
    let text = std::str::from_utf8(&text[..length]).unwrap_or_default();
    let count = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    count.unwrap_or(0)
}

fn write(file: PathBuf, text: &str) -> io::Result<()> {
    use std::io::Write;
    // Without create and truncate, which cgroup files do not support.
    let mut file = OpenOptions::new().write(true).open(file)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests;
