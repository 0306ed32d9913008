//! Lists the processes of a session from `/proc`, and signals them.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::sync::LazyLock;

use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
use telechir_process::{Pid, Signal};

/// Environment variable that marks every process of a background job.
pub(crate) const JOB: &str = "TELECHIR_JOB";

/// A process that has not exited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShellProcess {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// Start time in the kernel's ticks.
    pub(crate) started: u64,
    /// Used processor time in the kernel's ticks.
    pub(crate) used: u64,
}

/// All visible processes by pid.
pub(crate) fn all() -> HashMap<i32, ShellProcess> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return HashMap::new();
    };
    let pids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| Some((pid, read(pid)?))).collect()
}

/// A process, unless it has exited.
pub(crate) fn find(pid: Pid) -> Option<ShellProcess> {
    read(pid.as_raw_nonzero().get())
}

/// The pids of a process's children, if the kernel lists them.
pub(crate) fn children(pid: Pid) -> Option<Vec<String>> {
    let pid = pid.as_raw_nonzero();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    let children = children.split_ascii_whitespace().map(str::to_owned);
    Some(children.collect())
}

fn read(pid: i32) -> Option<ShellProcess> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The name is in parentheses and may contain any character, so count from the last one.
fn parse(pid: i32, stat: &str) -> Option<ShellProcess> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    // Zombies have exited.
    if matches!(*fields.first()?, "Z" | "X") {
        return None;
    }
    let number = |at: usize| fields.get(at)?.parse::<i32>().ok();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    let started = ticks(19)?;
    Some(ShellProcess {
        pid,
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        started,
        used: ticks(11)? + ticks(12)?,
    })
}

/// Time since boot in ticks, of 10 ms each.
pub(crate) fn now() -> u64 {
    static UPTIME: LazyLock<Option<File>> = LazyLock::new(|| File::open("/proc/uptime").ok());
    let mut buffer = [0; 64];
    let file = UPTIME.as_ref();
    let read = file.and_then(|file| file.read_at(&mut buffer, 0).ok());
    let uptime = std::str::from_utf8(&buffer[..read.unwrap_or(0)]).unwrap_or_default();
    let seconds = uptime.split_ascii_whitespace().next().unwrap_or_default();
    seconds.replace('.', "").parse().unwrap_or(0)
}

/// Criteria that identify a session's processes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionMarks<'a> {
    /// All its descendants belong to the session.
    pub(crate) root: Pid,
    /// bash. It and its ancestors up to the root are excluded; its terminal's session belongs.
    pub(crate) shell: Pid,
    /// A process with this environment entry belongs, even outside the process tree and session.
    pub(crate) variable: Option<&'a str>,
}

/// The processes of a session, parents first: a parent signalled before its child cannot continue
/// after the child's end.
pub(crate) fn session_processes(marks: SessionMarks<'_>) -> Vec<ShellProcess> {
    let all = all();
    let ancestors = |pid: i32| {
        std::iter::successors(all.get(&pid), |process| all.get(&process.parent)).take(all.len())
    };
    let (root, shell) = (
        marks.root.as_raw_nonzero().get(),
        marks.shell.as_raw_nonzero().get(),
    );
    let bash_and_ancestors: Vec<i32> = ancestors(shell).map(|process| process.pid).collect();
    let belongs = |process: &&ShellProcess| {
        !bash_and_ancestors.contains(&process.pid)
            && (process.session == shell
                || ancestors(process.pid).any(|above| above.pid == root)
                || marks
                    .variable
                    .is_some_and(|variable| has_variable(process.pid, variable)))
    };
    let mut processes: Vec<ShellProcess> = all.values().filter(belongs).copied().collect();
    processes.sort_by_key(|process| (process.started, process.pid));
    processes
}

/// The first process of another process's pid namespace; `None` if that is our own.
pub(crate) fn first_of_namespace(process: Pid) -> Option<Pid> {
    let mut pid = process.as_raw_nonzero().get();
    // The first process is an ancestor of all others in its namespace.
    loop {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("NSpid:"))?;
        let mut numbers = line.split_ascii_whitespace();
        let inside = numbers.next_back()?;
        // A single number means our own namespace.
        numbers.next()?;
        if inside == "1" {
            return Pid::from_raw(pid);
        }
        pid = read(pid)?.parent;
    }
}

/// The processes of a background job: descendants of its leader, on its terminal or marked.
pub(crate) fn job_processes(leader: Pid, variable: &str) -> Vec<ShellProcess> {
    let all = all();
    let leader = leader.as_raw_nonzero().get();
    let belongs = |process: &&ShellProcess| {
        let mut ancestors =
            std::iter::successors(Some(*process), |process| all.get(&process.parent))
                .take(all.len());
        process.session == leader
            || ancestors.any(|above| above.pid == leader)
            || has_variable(process.pid, variable)
    };
    let mut processes: Vec<ShellProcess> = all.values().filter(belongs).copied().collect();
    processes.sort_by_key(|process| (process.started, process.pid));
    processes
}

/// Whether a process catches or ignores SIGINT, so that it may continue after one.
pub(crate) fn handles_interrupts(pid: i32) -> bool {
    const INTERRUPT: u64 = 1 << 1;
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let masks = status.lines().filter_map(|line| {
        let mask = line
            .strip_prefix("SigCgt:")
            .or_else(|| line.strip_prefix("SigIgn:"))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    });
    masks.into_iter().any(|mask| mask & INTERRUPT != 0)
}

/// Whether a process belongs to a background job.
pub(crate) fn belongs_to_job(pid: i32) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let begin = format!("{JOB}=");
    environment
        .split(|byte| *byte == 0)
        .any(|entry| entry.starts_with(begin.as_bytes()))
}

fn has_variable(pid: i32, variable: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment
        .split(|byte| *byte == 0)
        .any(|entry| entry == variable.as_bytes())
}

/// The processes that belong to a command started at `since`: not older themselves, nor descendants
/// of an older one.
pub(crate) fn started_since(processes: Vec<ShellProcess>, since: u64) -> Vec<ShellProcess> {
    let by_pid: HashMap<i32, ShellProcess> = processes
        .iter()
        .map(|process| (process.pid, *process))
        .collect();
    let is_new = |process: &ShellProcess| {
        let ancestors = std::iter::successors(Some(process), |process| by_pid.get(&process.parent));
        ancestors
            .take(by_pid.len() + 1)
            .all(|process| process.started >= since)
    };
    processes.into_iter().filter(is_new).collect()
}

/// Sends a signal to each process, unless its pid was reused.
pub(crate) fn signal(processes: &[ShellProcess], signal: Signal) {
    for process in processes {
        let Some(pid) = Pid::from_raw(process.pid) else {
            continue;
        };
        let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else {
            continue;
        };
        if read(process.pid).is_some_and(|now| now.started == process.started) {
            // It may have exited, which is the goal.
            let _gone = pidfd_send_signal(&pidfd, signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32, started: u64) -> ShellProcess {
        ShellProcess {
            pid,
            parent,
            group: pid,
            session: 1,
            started,
            used: 0,
        }
    }

    #[test]
    fn reads_a_name_with_parentheses_and_spaces() {
        let stat = "42 (a) b (c) S 7 8 9 0 -1 0 0 0 0 0 10 20 0 0 20 0 1 0 12345 0";
        let expected = ShellProcess {
            pid: 42,
            parent: 7,
            group: 8,
            session: 9,
            started: 12_345,
            used: 30,
        };
        assert_eq!(parse(42, stat), Some(expected));
        assert_eq!(
            parse(42, "42 (x) Z 7 8 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0"),
            None
        );
    }

    #[test]
    fn processes_of_older_jobs_do_not_belong_to_the_command() {
        let (older, its_child) = (process(10, 1, 5), process(11, 10, 20));
        let (newer, its_child_too) = (process(12, 1, 20), process(13, 12, 21));
        let of_command = started_since(vec![older, its_child, newer, its_child_too], 15);
        assert_eq!(of_command, [newer, its_child_too]);
    }

    #[test]
    fn lists_our_own_process() {
        let own_pid = rustix::process::getpid().as_raw_nonzero().get();
        let now = now();
        assert!(
            all()
                .get(&own_pid)
                .is_some_and(|process| process.started <= now && now > 0)
        );
    }
}
