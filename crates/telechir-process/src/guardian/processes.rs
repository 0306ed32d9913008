//! Processes as `/proc` shows them, and which of them are the session's.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::MARKER;
use super::state::Ward;

/// One process that is not over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: i32,
    parent: i32,
    group: i32,
    session: i32,
    /// In the kernel's ticks since it started: with the number, nobody else's.
    pub(super) started: u64,
}

/// The processes of the session, without `spared`.
pub(super) fn of_session(ward: &Ward, spared: &[i32]) -> Vec<Process> {
    let all = all();
    let of_user = ward.uid.map(|uid| of_user(uid, &all)).unwrap_or_default();
    let marker = format!("{MARKER}={}", ward.token);
    let led = |leader: i32, process: &Process| {
        ward.leaders
            .get(&leader)
            .is_some_and(|started| process.started >= *started)
    };
    let known = |process: &Process| {
        led(process.group, process)
            || led(process.session, process)
            || ward.leaders.get(&process.pid) == Some(&process.started)
            || of_user.ours.contains(&process.pid)
            || has_variable(process.pid, &marker)
    };
    let spared = |pid: i32| spared.contains(&pid) || pid == 1;
    let mut found: HashSet<i32> = all
        .iter()
        .filter(|process| !spared(process.pid) && known(process))
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

/// Whether another container has processes of this user: its root gives the same users to its own
/// sessions, and we see into it.
pub(super) fn is_shared(uid: u32) -> bool {
    of_user(uid, &all()).has_others
}

/// The processes of a session's user.
#[derive(Debug, Default)]
struct OfUser {
    ours: HashSet<i32>,
    has_others: bool,
}

fn of_user(uid: u32, all: &[Process]) -> OfUser {
    let theirs: HashMap<i32, &Process> = all
        .iter()
        .filter(|process| is_of_user(process.pid, uid))
        .map(|process| (process.pid, process))
        .collect();
    let top = |process: &Process| {
        let line = std::iter::successors(Some(*process), |one| {
            theirs.get(&one.parent).map(|parent| **parent)
        });
        line.take(theirs.len()).last()
    };
    let ours: HashSet<i32> = theirs
        .values()
        .filter(|process| top(process).is_none_or(|top| is_ours(&top)))
        .map(|process| process.pid)
        .collect();
    OfUser {
        has_others: ours.len() < theirs.len(),
        ours,
    }
}

/// Whether the topmost process of a session's user is of a session out here. What a session
/// confines has numbers of its own, but what holds it, or the parent that took it over, has ours.
fn is_ours(top: &Process) -> bool {
    let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    let ours = namespace("self");
    let is_elsewhere = |pid: i32| namespace(&pid.to_string()).is_some_and(|it| Some(it) != ours);
    !(is_elsewhere(top.pid) && is_elsewhere(top.parent))
}

/// Kills it, unless its number has a new owner by now, and gives what tells when it is over.
pub(super) fn kill(process: &Process) -> Option<OwnedFd> {
    let pidfd = pidfd_open(Pid::from_raw(process.pid)?, PidfdFlags::empty()).ok()?;
    let same = read(process.pid).is_some_and(|now| now.started == process.started);
    (same && pidfd_send_signal(&pidfd, Signal::KILL).is_ok()).then_some(pidfd)
}

/// When a process began, as long as its number is its own: until it was reaped.
pub(super) fn began(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    fields(&stat)?.get(19)?.parse().ok()
}

/// What tells of the ends of all in a group that are not over.
pub(crate) fn in_group(leader: i32) -> Vec<OwnedFd> {
    let open = |pid: i32| {
        let pidfd = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        // Only now is the number surely its own.
        (read(pid)?.group == leader).then_some(pidfd)
    };
    let members = all().into_iter().filter(|process| process.group == leader);
    members.filter_map(|process| open(process.pid)).collect()
}

/// All that are not over.
fn all() -> Vec<Process> {
    numbers().filter_map(read).collect()
}

fn numbers() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn read(pid: i32) -> Option<Process> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse(pid: i32, stat: &str) -> Option<Process> {
    let fields = fields(stat)?;
    if matches!(*fields.first()?, "Z" | "X") {
        return None;
    }
    let number = |at: usize| fields.get(at)?.parse::<i32>().ok();
    Some(Process {
        pid,
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        started: fields.get(19)?.parse().ok()?,
    })
}

/// The name is in parentheses and may hold anything, so the fields count from the last one.
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
    fn reads_a_name_with_parentheses_and_leaves_out_what_is_over() {
        let stat = |state: char| {
            format!("42 (a) b (c) {state} 7 8 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0")
        };
        let expected = Process {
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
    fn a_session_that_began_nothing_has_no_process() {
        let ward = Ward {
            token: "a session that never was".to_owned(),
            ..Ward::default()
        };
        assert_eq!(of_session(&ward, &[]), []);
    }

    #[test]
    fn a_number_with_a_new_owner_is_left_alone() {
        let us = i32::try_from(std::process::id()).unwrap();
        let stranger = Process {
            started: began(us).unwrap() - 1,
            ..read(us).unwrap()
        };
        assert!(kill(&stranger).is_none());
    }
}
