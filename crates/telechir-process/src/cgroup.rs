//! Groups of processes that the kernel counts, bounds and ends together.
//!
//! Limits of a process are no limits of what it starts: a hundred processes may each use all that
//! one may. A group has its own, where we may make one: root where the control groups can be
//! written, others in the part that was delegated to them. Where there is none, [`Bounds`] says
//! so and why; it is never left unsaid.

mod bounds;
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

pub use bounds::Bounds;
pub(crate) use end::{end, is_gone};
use hierarchy::{Hierarchy, Version};

use crate::Pid;
use crate::confinement::Limits;
use crate::guardian;

/// What is killed is over within this.
const LAST: Duration = Duration::from_secs(5);
/// Who enters a group writes to this file.
const MEMBERS: &str = "cgroup.procs";
/// Of version 1 alone: the door of one thread, which is all that a new process has. Who moves
/// himself through it does not stop all processes of the machine from starting and ending.
const THREADS: &str = "tasks";

/// How a process comes into a group of one tree.
#[derive(Debug)]
pub(crate) struct Door {
    /// Who writes `0` to this enters.
    pub(crate) members: OwnedFd,
    /// The folder of a group of version 2, in which a process can be born. There who enters later
    /// stops all processes of the machine from starting and ending, until every processor was
    /// heard: five to twenty milliseconds.
    pub(crate) birth: Option<OwnedFd>,
}

/// A group for the programs of one confinement or display; what is in it ends with it.
#[derive(Debug)]
pub struct Cgroup {
    name: String,
    folders: Vec<PathBuf>,
    /// Where the kernel counts those that it killed for want of memory.
    killed: Option<File>,
    bounds: Bounds,
}

impl Cgroup {
    /// A group with these limits, or as many of them as can be had: [`bounds`](Self::bounds) says
    /// which.
    pub fn new(limits: &Limits) -> Self {
        let mut group = Self::nowhere();
        match hierarchy::all() {
            Ok(hierarchies) => group.settle(&hierarchies, limits),
            Err(error) => group.bounds.lack(&format!("/proc/self: {error}")),
        }
        group
    }

    fn nowhere() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(1);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let us = rustix::process::getpid().as_raw_nonzero();
        Self {
            name: format!("{}{us}-{number}", guardian::folder_prefix()),
            folders: Vec::new(),
            killed: None,
            bounds: Bounds::default(),
        }
    }

    /// Makes a folder in each hierarchy that has something to give.
    fn settle(&mut self, hierarchies: &[Hierarchy], limits: &Limits) {
        if hierarchies.is_empty() {
            self.bounds.lack("no control groups are mounted here");
        }
        for hierarchy in hierarchies {
            match layout::make(hierarchy, &self.name) {
                Ok(made) => {
                    self.folders.push(made.folder.clone());
                    for controller in made.controllers {
                        self.bound(hierarchy.version, &made.folder, controller, limits);
                    }
                }
                Err(why) => self.bounds.lack(&why),
            }
        }
    }

    fn bound(
        &mut self,
        version: Version,
        folder: &std::path::Path,
        controller: &str,
        limits: &Limits,
    ) {
        let set = self.bounds.set(version, folder, controller, limits);
        match set {
            Ok(()) if controller == "memory" => {
                self.killed = File::open(folder.join(version.memory_events())).ok();
            }
            Ok(()) => {}
            Err(error) => self.bounds.lack(&format!("{controller}: {error}")),
        }
    }

    /// What holds for all of it together, and what does not.
    pub const fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// Where a process enters it.
    pub(crate) fn doors(&self) -> Vec<Door> {
        let open = |folder: &PathBuf| {
            let file = |name| OpenOptions::new().write(true).open(folder.join(name));
            if let Ok(threads) = file(THREADS) {
                return Some(Door {
                    members: threads.into(),
                    birth: None,
                });
            }
            Some(Door {
                members: file(MEMBERS).ok()?.into(),
                birth: File::open(folder).ok().map(OwnedFd::from),
            })
        };
        self.folders.iter().filter_map(open).collect()
    }

    /// Looks whether a process of it is in it: its limits hold only for who is.
    pub fn prove(&mut self, process: Pid) {
        if !self.has(process) {
            self.bounds = Bounds::default();
            self.bounds.lack("processes could not be put into it");
        }
    }

    /// Whether a process is in it.
    pub fn has(&self, process: Pid) -> bool {
        let text = fs::read_to_string(format!("/proc/{}/cgroup", process.as_raw_nonzero()));
        let ending = format!("/{}", self.name);
        let seen = text.unwrap_or_default();
        let seen = seen.lines().filter(|line| line.contains(&ending)).count();
        seen >= self.folders.len()
    }

    /// How many of its processes the kernel killed because all of them together used too much
    /// memory.
    pub fn killed_for_memory(&self) -> u64 {
        let Some(killed) = &self.killed else {
            return 0;
        };
        // It is asked after every command: opened once, and written anew by the kernel each time.
        let mut text = [0; 512];
        let length = killed.read_at(&mut text, 0).unwrap_or(0);
        let text = std::str::from_utf8(&text[..length]).unwrap_or_default();
        let count = text
            .lines()
            .find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok());
        count.unwrap_or(0)
    }

    /// Kills all that is in it.
    pub fn kill(&self) {
        for folder in &self.folders {
            end(folder);
        }
    }

    /// Removes what nobody is in any more; says whether nothing is left.
    fn remove(folders: &mut Vec<PathBuf>) -> bool {
        folders.retain(|folder| {
            let is_left = !is_gone(folder);
            if !is_left {
                guardian::unowns_group(folder);
            }
            is_left
        });
        folders.is_empty()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        self.kill();
        let mut folders = std::mem::take(&mut self.folders);
        if Self::remove(&mut folders) {
            return;
        }
        let clear = move || {
            let deadline = Instant::now() + LAST;
            while !Self::remove(&mut folders) && Instant::now() < deadline {
                for folder in &folders {
                    end::wait(&end(folder));
                }
            }
        };
        let thread = thread::Builder::new().name("telechir-cgroup".to_owned());
        // What is left when there is no thread, the guardian removes.
        let _guardian_removes_it = thread.spawn(clear);
    }
}

fn write(file: PathBuf, text: &str) -> io::Result<()> {
    use std::io::Write;
    // Without the flags by which a missing file would be made, or one be cut: here neither can be.
    let mut file = OpenOptions::new().write(true).open(file)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests;
