//! Processes as listed in `/proc`, and which of them belong to the session.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::MARKER;
use super::state::CleanupState;

/// A process that has not exited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessStat {
    pub(super) pid: i32,
    parent: i32,
    group: i32,
    session: i32,
    /// Start time in the kernel's ticks; unique together with the pid.
    pub(super) started: u64,
}

/// The processes of the session, except `spared`.
pub(super) fn session_processes(state: &CleanupState, spared: &[i32]) -> Vec<ProcessStat> {
    let all = all();
    let of_user = state.uid.map(|uid| of_user(uid, &all)).unwrap_or_default();
    let marker = format!("{MARKER}={}", state.token);
    let is_led_by = |leader: i32, process: &ProcessStat| {
        state
            .leaders
            .get(&leader)
            .is_some_and(|started| process.started >= *started)
    };
    let belongs = |process: &ProcessStat| {
        is_led_by(process.group, process)
            || is_led_by(process.session, process)
            || state.leaders.get(&process.pid) == Some(&process.started)
            || of_user.own.contains(&process.pid)
            || has_variable(process.pid, &marker)
    };
    let spared = |pid: i32| spared.contains(&pid) || pid == 1;
    let mut found: HashSet<i32> = all
        .iter()
        .filter(|process| !spared(process.pid) && belongs(process))
        .map(|process| process.pid)
        .collect();
    let parents: HashMap<i32, i32> = all.iter().map(|one| (one.pid, one.parent)).collect();
    for process in &all {
        let line = std::iter::successors(Some(process.pid), |pid| parents.get(pid).copied());
        let below: Vec<i32> = line.take(parents.len()).collect();
        if let Some(at) = below.iter().position(|pid| found.contains(pid)) {
            found.extend(below[..at].iter().filter(|pid| !spared(**pid)));
        }
    }
    all.into_iter()
        .filter(|process| found.contains(&process.pid))
        .collect()
}

/// Whether another container runs processes as this user: its root assigns the same uids to its
/// own sessions, and we see its processes.
pub(super) fn is_shared(uid: u32) -> bool {
    of_user(uid, &all()).has_others
}

/// The processes that run as a session's user.
#[derive(Debug, Default)]
struct UidProcesses {
    own: HashSet<i32>,
    has_others: bool,
}

fn of_user(uid: u32, all: &[ProcessStat]) -> UidProcesses {
    let of_uid: HashMap<i32, &ProcessStat> = all
        .iter()
        .filter(|process| is_of_user(process.pid, uid))
        .map(|process| (process.pid, process))
        .collect();
    let top = |process: &ProcessStat| {
        let line = std::iter::successors(Some(*process), |one| {
            of_uid.get(&one.parent).map(|parent| **parent)
        });
        line.take(of_uid.len()).last()
    };
    let own: HashSet<i32> = of_uid
        .values()
        .filter(|process| top(process).is_none_or(|top| is_in_own_namespace(&top)))
        .map(|process| process.pid)
        .collect();
    UidProcesses {
        has_others: own.len() < of_uid.len(),
        own,
    }
}

/// Whether the topmost process of a session's user belongs to a session in our pid namespace.
/// Sandboxed processes have their own namespace, but the sandbox's parent or adopter has ours.
fn is_in_own_namespace(top: &ProcessStat) -> bool {
    let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    let own = namespace("self");
    let is_in_other_namespace =
        |pid: i32| namespace(&pid.to_string()).is_some_and(|it| Some(it) != own);
    !(is_in_other_namespace(top.pid) && is_in_other_namespace(top.parent))
}

/// Kills a process, unless its pid was reused; returns a pidfd that reports its exit.
pub(super) fn kill(process: &ProcessStat) -> Option<OwnedFd> {
    let pidfd = pidfd_open(Pid::from_raw(process.pid)?, PidfdFlags::empty()).ok()?;
    let same = read(process.pid).is_some_and(|now| now.started == process.started);
    (same && pidfd_send_signal(&pidfd, Signal::KILL).is_ok()).then_some(pidfd)
}

/// Start time of a process that has not been reaped.
pub(super) fn start_time(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    fields(&stat)?.get(19)?.parse().ok()
}

/// Pidfds of all running processes in a process group.
pub(crate) fn in_group(leader: i32) -> Vec<OwnedFd> {
    let open = |pid: i32| {
        let pidfd = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        // Checked after opening the pidfd, so that the pid cannot be reused in between.
        (read(pid)?.group == leader).then_some(pidfd)
    };
    let members = all().into_iter().filter(|process| process.group == leader);
    members.filter_map(|process| open(process.pid)).collect()
}

/// All processes that have not exited.
fn all() -> Vec<ProcessStat> {
    numbers().filter_map(read).collect()
}

fn numbers() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn read(pid: i32) -> Option<ProcessStat> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse(pid: i32, stat: &str) -> Option<ProcessStat> {
    let fields = fields(stat)?;
    if matches!(*fields.first()?, "Z" | "X") {
        return None;
    }
    let number = |at: usize| fields.get(at)?.parse::<i32>().ok();
    Some(ProcessStat {
        pid,
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        started: fields.get(19)?.parse().ok()?,
    })
}

/// The name is in parentheses and may contain any character, so count from the last one.
fn fields(stat: &str) -> Option<Vec<&str>> {
    Some(stat.rsplit_once(')')?.1.split_ascii_whitespace().collect())
}

fn is_of_user(pid: i32, uid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let uids = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    uids.is_some_and(|uids| {
        uids.split_ascii_whitespace()
            .any(|one| one.parse() == Ok(uid))
    })
}

fn has_variable(pid: i32, variable: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment
        .split(|byte| *byte == 0)
        .any(|entry| entry == variable.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_name_with_parentheses_and_skips_zombies() {
        let stat = |state: char| {
            format!("42 (a) b (c) {state} 7 8 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0")
        };
        let expected = ProcessStat {
            pid: 42,
            parent: 7,
            group: 8,
            session: 9,
            started: 12_345,
        };
        assert_eq!(parse(42, &stat('S')), Some(expected));
        assert_eq!(parse(42, &stat('Z')), None);
    }

    #[test]
    fn a_session_without_processes_has_none() {
        let state = CleanupState {
            token: "a session that never was".to_owned(),
            ..CleanupState::default()
        };
        assert_eq!(session_processes(&state, &[]), []);
    }

    #[test]
    fn a_reused_pid_is_not_killed() {
        let own_pid = i32::try_from(std::process::id()).unwrap();
        let stranger = ProcessStat {
            started: start_time(own_pid).unwrap() - 1,
            ..read(own_pid).unwrap()
        };
        assert!(kill(&stranger).is_none());
    }
}
