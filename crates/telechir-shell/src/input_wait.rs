//! Detects that a command waits for terminal input, and of which kind.

use std::fs;
use std::ops::RangeInclusive;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use rustix::fs::{major, minor};
use rustix::process::kill_process_group;
use telechir_process::{Pid, Signal};
use telechir_protocol::InputRequestKind;

use crate::processes::{self, ShellProcess};
use crate::terminal::{Pty, TerminalModes};

#[cfg(target_arch = "x86_64")]
const READ_CALL: &str = "0";
#[cfg(not(target_arch = "x86_64"))]
const READ_CALL: &str = "63";

/// System calls that wait for descriptors: `poll`, `select`, `epoll_wait` and variants.
#[cfg(target_arch = "x86_64")]
const POLL_CALLS: &[&str] = &["7", "23", "232", "270", "271", "281", "441"];
#[cfg(not(target_arch = "x86_64"))]
const POLL_CALLS: &[&str] = &["22", "72", "73", "441"];

const PAGERS: [&str; 5] = ["less", "more", "most", "pager", "man"];
const EDITORS: [&str; 14] = [
    "vi",
    "vim",
    "vim.basic",
    "vim.tiny",
    "vim.nox",
    "nvim",
    "view",
    "nano",
    "pico",
    "rnano",
    "emacs",
    "micro",
    "joe",
    "mcedit",
];

/// State between two checks.
#[derive(Debug, Default)]
pub(crate) struct InputWaitDetector {
    /// Processor time of the group when it last polled the terminal.
    used: Option<u64>,
}

impl InputWaitDetector {
    /// The kind of input that the terminal's foreground group waits for, if any.
    ///
    /// Certain for a process that is blocked in a `read` of the terminal. A program that reads
    /// single keys may poll the terminal and other descriptors: it counts if its group used no
    /// processor time between two checks.
    pub(crate) fn check(&mut self, terminal: &Pty) -> Option<InputRequestKind> {
        let foreground = terminal.foreground().ok()?;
        // Unread input means that the program is still busy with earlier input.
        if terminal.unread() > 0 {
            return None;
        }
        let group: Vec<ShellProcess> = group_processes(foreground);
        let modes = terminal.modes_now().ok()?;
        if let Some(reader) = group.iter().find(|process| is_reading(process.pid)) {
            return Some(request_kind(reader, modes));
        }
        let before = self.used.take();
        if modes.is_canonical {
            return None;
        }
        let poller = group.iter().find(|process| is_polling(process.pid))?;
        let used = group.iter().map(|process| process.used).sum();
        self.used = Some(used);
        (before == Some(used)).then(|| request_kind(poller, modes))
    }
}

/// The processes of a process group.
pub(crate) fn group_processes(group: Pid) -> Vec<ShellProcess> {
    let group = group.as_raw_nonzero().get();
    let all = processes::all().into_values();
    all.filter(|process| process.group == group).collect()
}

/// Interrupts a terminal's foreground group like ctrl+c, with one signal to the group: if a child
/// died first, its parent could mistake that for the child's own end and continue.
pub(crate) fn interrupt(group: Pid) {
    // It may have exited, which is the goal.
    let _gone = kill_process_group(group, Signal::INT);
}

fn request_kind(process: &ShellProcess, modes: TerminalModes) -> InputRequestKind {
    let name = fs::read_to_string(format!("/proc/{}/comm", process.pid)).unwrap_or_default();
    let name = name.trim_end();
    if PAGERS.contains(&name) {
        InputRequestKind::Pager
    } else if EDITORS.contains(&name) {
        InputRequestKind::Editor
    } else if !modes.is_canonical {
        InputRequestKind::Keys
    } else if modes.has_echo {
        InputRequestKind::Line
    } else {
        InputRequestKind::Hidden
    }
}

fn is_reading(pid: i32) -> bool {
    let Some(syscall) = syscall(pid) else {
        return false;
    };
    let mut fields = syscall.split_ascii_whitespace();
    if fields.next() != Some(READ_CALL) {
        return false;
    }
    let number = fields
        .next()
        .and_then(|field| u64::from_str_radix(field.trim_start_matches("0x"), 16).ok());
    number.is_some_and(|number| is_terminal(&format!("/proc/{pid}/fd/{number}")))
}

fn is_polling(pid: i32) -> bool {
    let Some(syscall) = syscall(pid) else {
        return false;
    };
    let is_poll = syscall
        .split_ascii_whitespace()
        .next()
        .is_some_and(|number| POLL_CALLS.contains(&number));
    is_poll && (0..3).any(|number| is_terminal(&format!("/proc/{pid}/fd/{number}")))
}

/// The system call that a process is in.
fn syscall(pid: i32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/syscall")).ok()
}

/// Compares the device number, because the path differs in a container.
fn is_terminal(link: &str) -> bool {
    const SLAVES: RangeInclusive<u32> = 136..=143;
    const CONTROLLING: (u32, u32) = (5, 0);
    fs::metadata(link).is_ok_and(|file| {
        let (major, minor) = (major(file.rdev()), minor(file.rdev()));
        file.file_type().is_char_device()
            && (SLAVES.contains(&major) || (major, minor) == CONTROLLING)
    })
}
