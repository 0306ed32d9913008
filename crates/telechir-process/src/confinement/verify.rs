//! Reads bubblewrap's reports, and verifies a sandbox from outside.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::ConfinementError;
use super::mount_points::{self, MountPoint};
use crate::{Pid, Readiness};

/// Maximum number of bytes read from bubblewrap.
const MAX_BWRAP_OUTPUT_BYTES: usize = 64 * 1024;

/// The pipes on which bubblewrap reports about a sandbox. Keep this as long as the sandbox runs:
/// a process that writes to a pipe without a reader is killed.
#[derive(Debug)]
pub struct SandboxInfo {
    info: OwnedFd,
    errors: OwnedFd,
    points: Vec<MountPoint>,
}

impl SandboxInfo {
    pub(super) const fn new(info: OwnedFd, errors: OwnedFd, points: Vec<MountPoint>) -> Self {
        Self {
            info,
            errors,
            points,
        }
    }

    /// Verifies from outside that each mount inside of another one is where it belongs. Call this
    /// before a program of the sandbox runs that is not ours.
    ///
    /// # Errors
    /// If another program exchanged a folder or file while the sandbox started.
    pub fn verify_mounts(&self, first: Pid) -> Result<(), ConfinementError> {
        mount_points::verify(first, &self.points)
    }

    /// Pid of the first process inside; the sandbox ends with it. Available once, after the sandbox
    /// was created.
    pub fn first_process(&self) -> Option<Pid> {
        child_pid(&text_now(self.info.as_fd()).0)
    }

    /// The reason why the sandbox failed; call this after bubblewrap exited.
    pub fn failure(&self) -> ConfinementError {
        explain_bwrap_error(&text_now(self.errors.as_fd()).0)
    }
}

/// The first process inside, in bubblewrap's report.
pub(super) fn child_pid(info: &str) -> Option<Pid> {
    let (_, after) = info.split_once("\"child-pid\":")?;
    let digits = after.trim_start();
    let end = digits.find(|c: char| !c.is_ascii_digit());
    Pid::from_raw(digits.get(..end.unwrap_or(digits.len()))?.parse().ok()?)
}

/// Reads the text that is currently in a pipe, without blocking; returns it and whether more may
/// follow.
pub(super) fn text_now(pipe: BorrowedFd<'_>) -> (String, bool) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let mut may_follow = false;
    if rustix::io::ioctl_fionbio(pipe, true).is_ok() {
        while bytes.len() < MAX_BWRAP_OUTPUT_BYTES {
            match rustix::io::read(pipe, &mut buffer) {
                Ok(read @ 1..) => bytes.extend_from_slice(&buffer[..read]),
                Ok(_) => break,
                Err(error) => {
                    may_follow = error == Errno::WOULDBLOCK;
                    break;
                }
            }
        }
    }
    (String::from_utf8_lossy(&bytes).into_owned(), may_follow)
}

/// Whether a process has the same namespace of this kind as we have, or that cannot be read.
pub(super) fn is_shared(process: Pid, kind: &str) -> bool {
    let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/{kind}"));
    let process = process.as_raw_nonzero().to_string();
    !matches!((namespace(&process), namespace("self")), (Ok(inner), Ok(outer)) if inner != outer)
}

/// Verifies in `/proc` that a process is sandboxed: capabilities, seccomp and namespaces.
///
/// # Errors
/// If a layer of the sandbox is missing.
pub fn verify(process: Pid) -> Result<(), ConfinementError> {
    verify_with(process, &["user", "pid", "net", "mnt", "ipc", "uts"])
}

/// Like [`verify`], for a process in a container, which shares the machine's user namespace.
///
/// # Errors
/// If a layer of the sandbox is missing.
pub fn verify_container(process: Pid) -> Result<(), ConfinementError> {
    verify_with(process, &["pid", "net", "mnt", "ipc", "uts"])
}

fn verify_with(process: Pid, namespaces: &[&str]) -> Result<(), ConfinementError> {
    let status = fs::read_to_string(format!("/proc/{}/status", process.as_raw_nonzero()));
    let status = status.unwrap_or_default();
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
                "the sandbox is incomplete: {name} is `{found}`, expected {value}"
            )));
        }
    }
    for name in namespaces {
        if is_shared(process, name) {
            return Err(ConfinementError(format!(
                "the sandbox is incomplete: the {name} namespace is shared"
            )));
        }
    }
    Ok(())
}

/// Verifies every process that the first process inside has started.
///
/// # Errors
/// If there is none, or a layer is missing.
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
        "the sandbox cannot be verified: none of its processes is visible in /proc".to_owned(),
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

/// Waits until a process, which need not be our child, exits.
///
/// # Errors
/// If polling the pidfd fails.
pub async fn wait_for_exit(process: BorrowedFd<'_>) -> io::Result<()> {
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

/// Explains an error message of bubblewrap and names the likely fix.
pub fn explain_bwrap_error(complaint: &str) -> ConfinementError {
    let complaint = complaint.trim();
    let no_namespaces = ["namespace", "uid map", "uid_map", "Operation not permitted"];
    if no_namespaces
        .iter()
        .any(|pattern| complaint.contains(pattern))
    {
        return ConfinementError(format!(
            "bubblewrap reported \"{complaint}\"; unprivileged user namespaces may be disabled \
             (kernel.unprivileged_userns_clone, user.max_user_namespaces, \
             kernel.apparmor_restrict_unprivileged_userns)"
        ));
    }
    let text = if complaint.is_empty() {
        "no error message"
    } else {
        complaint
    };
    ConfinementError(format!("bubblewrap exited: {text}"))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use rustix::pipe::{PipeFlags, pipe_with};

    use super::*;

    #[test]
    fn the_first_process_is_found_in_a_complete_report() {
        let pid = |report: &str| child_pid(report).map(Pid::as_raw_pid);
        for report in [
            "{\n    \"child-pid\": 42\n}\n",
            "{\"child-pid\":42,\"net\":7}",
            "{\"child-pid\": 42",
        ] {
            assert_eq!(pid(report), Some(42), "{report}");
        }
        for report in ["", "{}", "{\"child-pid\": }", "{\"child-pid\": 0}", "42"] {
            assert_eq!(pid(report), None, "{report}");
        }
    }

    #[test]
    fn the_text_in_a_pipe_is_read_without_waiting() {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let mut writer = fs::File::from(writer);
        let read = || text_now(reader.as_fd());
        assert_eq!(read(), (String::new(), true));
        writer.write_all(b"text").unwrap();
        assert_eq!(read(), ("text".to_owned(), true));
        let long = "x".repeat(10_000);
        writer.write_all(long.as_bytes()).unwrap();
        assert_eq!(read(), (long, true));
        let most = "x".repeat(MAX_BWRAP_OUTPUT_BYTES);
        writer.write_all(most.as_bytes()).unwrap();
        assert_eq!(read(), (most, false), "no more than the limit is read");
        drop(writer);
        assert_eq!(read(), (String::new(), false));
    }

    #[test]
    fn a_process_outside_fails_verification_with_what_is_missing() {
        let own = rustix::process::getpid();
        for process in [own, Pid::INIT] {
            let error = verify(process).unwrap_err().to_string();
            assert!(
                error.starts_with("the sandbox is incomplete: Cap"),
                "{error}"
            );
            assert!(verify_container(process).is_err());
        }
        assert!(is_shared(own, "net"));
        let unknown = Pid::from_raw(i32::MAX).unwrap();
        assert!(is_shared(unknown, "net"), "what cannot be read");
        let error = verify_inside(unknown).unwrap_err().to_string();
        assert!(
            error.contains("none of its processes is visible"),
            "{error}"
        );
    }

    #[test]
    fn an_error_of_bubblewrap_is_shown_and_explained_where_namespaces_are_its_cause() {
        for text in [
            "bwrap: No permissions to create new namespace\n",
            "bwrap: setting up uid map: Permission denied",
            "bwrap: Creating new user: Operation not permitted",
        ] {
            let error = explain_bwrap_error(text).to_string();
            assert!(error.contains(text.trim()), "{error}");
            assert!(error.contains("max_user_namespaces"), "{error}");
        }
        for (text, shown) in [
            ("bwrap: Can't find /x\n", "bwrap: Can't find /x"),
            (" \n", "no error message"),
        ] {
            let error = explain_bwrap_error(text).to_string();
            assert_eq!(error, format!("bubblewrap exited: {shown}"));
        }
    }
}
