//! Processes and files of a run, observed from outside, and whether they are gone.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use telechir_process::{Identity, is_root};
use telechir_x11::{DisplayOptions, PrivateDisplay};

/// Maximum time from the end of a run until its remains are gone.
pub(super) const CLEANUP_LIMIT: Duration = Duration::from_secs(2);

/// A process with its start time, parent and name.
#[derive(Clone, Debug)]
struct Process {
    pid: i32,
    started: String,
    parent: i32,
    name: String,
}

/// Processes and files of a run at one moment.
#[derive(Debug)]
pub(super) struct RunSnapshot {
    folder: PathBuf,
    owner: u32,
    token: Option<String>,
    /// The session's user, if it has its own, and until when: later another session may have it.
    uid: Option<(String, u64)>,
    /// Socket paths of its displays.
    sockets: Vec<PathBuf>,
    processes: Vec<Process>,
}

impl RunSnapshot {
    /// The present state of the run `child`.
    pub(super) fn of(child: &Child, folder: &Path) -> Self {
        Self::with_token(child, token(folder), folder)
    }

    /// The same, with a session name found earlier.
    pub(super) fn with_token(child: &Child, token: Option<String>, folder: &Path) -> Self {
        let all = processes();
        let owner = i32::try_from(child.id()).expect("a number");
        let parents: HashMap<i32, i32> = all.iter().map(|one| (one.pid, one.parent)).collect();
        let is_below = |process: &&Process| {
            let line = std::iter::successors(Some(process.pid), |pid| parents.get(pid).copied());
            process.pid != owner && line.take(parents.len()).any(|pid| pid == owner)
        };
        let processes: Vec<Process> = all.iter().filter(is_below).cloned().collect();
        let server = processes.iter().find(|process| process.name == "Xvfb");
        Self {
            uid: server
                .filter(|_| is_root())
                .map(|server| (uid(server.pid), now())),
            sockets: processes.iter().filter_map(socket).collect(),
            folder: folder.to_owned(),
            owner: child.id(),
            token,
            processes,
        }
    }

    pub(super) fn runs(&self, name: &str) -> bool {
        self.processes.iter().any(|process| process.name == name)
    }

    pub(super) fn pid_of(&self, name: &str) -> Option<Pid> {
        let found = self.processes.iter().find(|process| process.name == name)?;
        Pid::from_raw(found.pid)
    }

    /// Asserts that all of these run; otherwise a test of their end would be vacuous.
    #[track_caller]
    pub(super) fn assert_running(&self, names: &[&str]) {
        let running: HashSet<&str> = self.processes.iter().map(|one| one.name.as_str()).collect();
        for name in names {
            assert!(running.contains(name), "{name} is not among {running:?}");
        }
    }

    /// Asserts that everything is gone within the limit after `start`.
    #[track_caller]
    pub(super) fn assert_gone(&self, start: Instant) {
        loop {
            let left = self.left();
            if left.is_empty() {
                break;
            }
            assert!(
                start.elapsed() < CLEANUP_LIMIT,
                "left after {CLEANUP_LIMIT:?}: {left:?}"
            );
            std::thread::yield_now();
        }
    }

    fn left(&self) -> Vec<String> {
        let mut left: Vec<String> = Vec::new();
        let marker = self
            .token
            .as_ref()
            .map(|token| format!("TELECHIR_SESSION={token}"));
        let is_own = |now: &Process| {
            self.processes
                .iter()
                .any(|then| (then.pid, &then.started) == (now.pid, &now.started))
                || marker
                    .as_ref()
                    .is_some_and(|marker| has_variable(now.pid, marker))
                || self.uid.as_ref().is_some_and(|(user, until)| {
                    let started = now.started.parse::<u64>();
                    started.is_ok_and(|started| started <= *until) && *user == uid(now.pid)
                })
        };
        left.extend(processes().into_iter().filter(is_own).map(|one| one.name));
        let prefix = self
            .token
            .as_ref()
            .map(|token| format!("telechir-{token}-"));
        let prefix = prefix.unwrap_or_else(|| "no session was seen".to_owned());
        left.extend(names(&self.folder).filter(|name| name.starts_with("telechir-")));
        for folder in ["/tmp", "/dev/shm"] {
            left.extend(names(Path::new(folder)).filter(|name| name.starts_with(&prefix)));
        }
        left.extend(self.locks());
        let sockets = self.sockets.iter().filter(|socket| socket.exists());
        left.extend(sockets.map(|socket| socket.display().to_string()));
        left
    }

    /// Display locks that contain the run's process id, and their sockets.
    fn locks(&self) -> Vec<String> {
        let is_own_process = |name: &String| {
            name.starts_with(".X")
                && fs::read_to_string(Path::new("/tmp").join(name))
                    .is_ok_and(|text| text.trim() == self.owner.to_string())
        };
        names(Path::new("/tmp")).filter(is_own_process).collect()
    }
}

/// The session's name, once its folder exists.
pub(super) fn token(folder: &Path) -> Option<String> {
    let name = names(folder).find(|name| name.starts_with("telechir-"))?;
    Some(name.split('-').nth(1)?.to_owned())
}

/// An existing display, with the environment of its programs.
pub(super) async fn display(folder: &Path) -> (PrivateDisplay, Vec<(String, String)>) {
    let elsewhere = folder.join("theirs");
    fs::create_dir(&elsewhere).expect("a folder");
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o777)).expect("permissions");
    let identity = is_root().then(|| Identity::unprivileged(3_890)).flatten();
    let options = DisplayOptions {
        window_manager: false,
        ..DisplayOptions::new(elsewhere, identity)
    };
    let display = PrivateDisplay::start(options).await.expect("a display");
    let environment = display.environment();
    (display, environment)
}

/// The socket of a display, by the server's first argument.
fn socket(server: &Process) -> Option<PathBuf> {
    let arguments = fs::read_to_string(format!("/proc/{}/cmdline", server.pid)).ok()?;
    let number = arguments.split('\0').nth(1)?.strip_prefix(':')?;
    (server.name == "Xvfb").then(|| format!("/tmp/.X11-unix/X{number}").into())
}

/// Number of running `sleep` processes with one of these durations.
pub(super) fn running(seconds: &[&str]) -> usize {
    let is_one = |pid: i32| {
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let args: Vec<&str> = line.split('\0').collect();
        args.first() == Some(&"sleep") && args.get(1).is_some_and(|arg| seconds.contains(arg))
    };
    processes().iter().filter(|one| is_one(one.pid)).count()
}

fn names(folder: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned())
}

/// All processes except zombies.
fn processes() -> Vec<Process> {
    names(Path::new("/proc"))
        .filter_map(|name| {
            let pid = name.parse().ok()?;
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            let (start, rest) = stat.rsplit_once(')')?;
            let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
            (fields[0] != "Z" && fields[0] != "X").then_some(())?;
            Some(Process {
                pid,
                started: (*fields.get(19)?).to_owned(),
                parent: fields.get(1)?.parse().ok()?,
                name: start.split_once('(')?.1.to_owned(),
            })
        })
        .collect()
}

/// Ticks since boot, at 100 per second.
fn now() -> u64 {
    let uptime = fs::read_to_string("/proc/uptime").expect("the time");
    let seconds = uptime.split(' ').next().unwrap_or_default();
    seconds.replace('.', "").parse().expect("a number")
}

fn uid(pid: i32) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let first = line.and_then(|line| line.split_ascii_whitespace().next());
    first.unwrap_or_default().to_owned()
}

fn has_variable(pid: i32, variable: &str) -> bool {
    fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| {
        environment
            .split(|byte| *byte == 0)
            .any(|entry| entry == variable.as_bytes())
    })
}
