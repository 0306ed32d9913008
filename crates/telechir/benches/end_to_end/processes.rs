//! Process trees and their memory.

use std::collections::HashMap;
use std::fs;

/// A process, distinguished by start time from later ones with its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    started_at: u64,
}

impl Process {
    /// The process with this id, unless it has exited.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let fields = stat(pid)?;
        let is_over = fields[0] == "Z" || fields[0] == "X";
        let started_at = fields[19].parse().ok()?;
        (!is_over).then_some(Self { pid, started_at })
    }

    pub(crate) fn is_there(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// Proportional set size in bytes.
    fn memory(self) -> Option<u64> {
        let rollup = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.pid)).ok()?;
        let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kib * 1024)
    }
}

/// This process and all its descendants.
pub(crate) fn tree(root: u32) -> Vec<Process> {
    let parents: HashMap<u32, u32> = all().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let is_below = |one: u32| {
        let line = std::iter::successors(Some(one), |one| parents.get(one).copied());
        line.take(64).any(|one| one == root)
    };
    let pids = parents.keys().copied().filter(|pid| is_below(*pid));
    pids.filter_map(Process::of).collect()
}

/// Total proportional set size in bytes.
pub(crate) fn memory(processes: &[Process]) -> u64 {
    processes.iter().filter_map(|one| one.memory()).sum()
}

/// The topmost process with this variable in its environment.
pub(crate) fn marked(variable: &str) -> Option<u32> {
    let has = |pid: u32| {
        fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| {
            let mut pairs = environment.split(|byte| *byte == 0);
            pairs.any(|pair| pair == variable.as_bytes())
        })
    };
    all().find(|pid| has(*pid) && !parent(*pid).is_some_and(has))
}

fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn parent(pid: u32) -> Option<u32> {
    stat(pid)?[1].parse().ok()
}

/// Fields of `/proc/PID/stat` from the state on.
fn stat(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields = stat.rsplit_once(')')?.1.split_whitespace();
    let fields: Vec<String> = fields.map(str::to_owned).collect();
    (fields.len() > 19).then_some(fields)
}
