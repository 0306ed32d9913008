//! What bubblewrap tells, and proof from outside that a confinement holds.

use std::fs;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::ConfinementError;
use crate::{Pid, Readiness};

/// The most that is read of what bubblewrap says.
const SAID_MAX: usize = 64 * 1024;

/// Where bubblewrap tells about a confinement. Held as long as that lives: who writes to a pipe
/// that nobody holds dies of it.
#[derive(Debug)]
pub struct Told {
    info: OwnedFd,
    complaints: OwnedFd,
}

impl Told {
    pub(super) const fn new(info: OwnedFd, complaints: OwnedFd) -> Self {
        Self { info, complaints }
    }

    /// The first process inside, with whose end all inside ends; told when it was made, and once.
    pub fn first_process(&self) -> Option<Pid> {
        let info = text_now(&self.info);
        let (_, after) = info.split_once("\"child-pid\":")?;
        let digits = after.trim_start();
        let end = digits.find(|c: char| !c.is_ascii_digit());
        Pid::from_raw(digits.get(..end.unwrap_or(digits.len()))?.parse().ok()?)
    }

    /// Why there is no confinement, after bubblewrap ended.
    pub fn complaint(&self) -> ConfinementError {
        explain(&text_now(&self.complaints))
    }
}

/// The text in a pipe by now.
fn text_now(pipe: &OwnedFd) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    if rustix::io::ioctl_fionbio(pipe, true).is_ok() {
        while bytes.len() < SAID_MAX {
            match rustix::io::read(pipe, &mut buffer) {
                Ok(read @ 1..) => bytes.extend_from_slice(&buffer[..read]),
                Ok(_) | Err(_) => break,
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Looks from outside at a process inside, whether the confinement is what it should be.
///
/// # Errors
/// When a layer is missing.
pub fn verify(process: Pid) -> Result<(), ConfinementError> {
    verify_with(process, &["user", "pid", "net", "mnt", "ipc", "uts"])
}

/// The same for a process in a container of an engine, whose users are the machine's.
///
/// # Errors
/// When a layer is missing.
pub fn verify_container(process: Pid) -> Result<(), ConfinementError> {
    verify_with(process, &["pid", "net", "mnt", "ipc", "uts"])
}

fn verify_with(process: Pid, namespaces: &[&str]) -> Result<(), ConfinementError> {
    let process = process.as_raw_nonzero();
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let field = |name: &str| {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map(str::trim).unwrap_or_default()
    };
    let expected = [
        ("CapEff", "0000000000000000"),
        ("CapBnd", "0000000000000000"),
        ("NoNewPrivs", "1"),
        ("Seccomp", "2"),
    ];
    for (name, value) in expected {
        let found = field(name);
        if found != value {
            return Err(ConfinementError(format!(
                "it does not hold: {name} is `{found}`, not {value}"
            )));
        }
    }
    for name in namespaces {
        let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/{name}"));
        match (namespace(&process.to_string()), namespace("self")) {
            (Ok(theirs), Ok(ours)) if theirs != ours => {}
            _ => {
                return Err(ConfinementError(format!(
                    "it does not hold: the {name} namespace is shared"
                )));
            }
        }
    }
    Ok(())
}

/// Looks from outside at every process that the first one inside has started.
///
/// # Errors
/// When there is none, or a layer is missing.
pub fn verify_inside(first: Pid) -> Result<(), ConfinementError> {
    let mut seen = false;
    for process in children_of(first) {
        verify(process)?;
        seen = true;
    }
    if seen {
        return Ok(());
    }
    Err(ConfinementError(
        "it cannot be looked at: no process of it is to be seen in /proc".to_owned(),
    ))
}

pub(super) fn children_of(parent: Pid) -> Vec<Pid> {
    let line = format!("PPid:\t{}", parent.as_raw_nonzero());
    let is_child = |pid: &Pid| {
        let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero()));
        status.is_ok_and(|status| status.lines().any(|found| found == line))
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(Pid::from_raw).filter(is_child).collect()
}

/// Waits for the end of a process that need not be our child, such as the first one inside.
///
/// # Errors
/// When the system cannot tell.
pub async fn gone(process: BorrowedFd<'_>) -> io::Result<()> {
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let over = |process: BorrowedFd<'_>| {
        let mut polled = [PollFd::new(&process, PollFlags::IN)];
        match poll(&mut polled, Some(&at_once))? {
            0 => Err(Errno::WOULDBLOCK.into()),
            _ => Ok(()),
        }
    };
    Readiness::reading(process.try_clone_to_owned()?)?
        .read(over)
        .await
}

/// What bubblewrap's own words mean for someone who can mend it.
pub fn explain(complaint: &str) -> ConfinementError {
    let complaint = complaint.trim();
    let no_namespaces = ["namespace", "uid map", "uid_map", "Operation not permitted"];
    if no_namespaces.iter().any(|words| complaint.contains(words)) {
        return ConfinementError(format!(
            "bubblewrap says \"{complaint}\"; unprivileged user namespaces may be switched off \
             (kernel.unprivileged_userns_clone, user.max_user_namespaces, \
             kernel.apparmor_restrict_unprivileged_userns)"
        ));
    }
    let said = if complaint.is_empty() {
        "nothing"
    } else {
        complaint
    };
    ConfinementError(format!("bubblewrap ended and said: {said}"))
}
