//! One run of the binary that can be killed: its output and its remaining processes.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{Read as _, Write as _};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::telechir::Telechir;

/// Maximum time until all processes of a run are gone.
const GONE: Duration = Duration::from_secs(2);

/// A run of `exec`.
pub(super) struct Victim {
    child: Child,
    printed: Receiver<String>,
    stderr: Receiver<String>,
    reply: Option<Value>,
}

impl Victim {
    pub(super) fn start(telechir: &Telechir, arguments: &[&str], input: &str) -> Self {
        let mut child = telechir
            .command(arguments)
            .spawn()
            .expect("the binary starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        // The input fits into the pipe's buffer, so this does not block.
        stdin
            .write_all(input.as_bytes())
            .expect("the input is written");
        drop(stdin);
        let printed = read_to_end(child.stdout.take().expect("a pipe"));
        let stderr = read_to_end(child.stderr.take().expect("a pipe"));
        Self {
            child,
            printed,
            stderr,
            reply: None,
        }
    }

    /// Waits for `time`, or until the run exits. Returns whether it still runs.
    pub(super) fn runs_after(&mut self, time: Duration) -> bool {
        if self.reply.is_none() {
            match self.printed.recv_timeout(time) {
                Ok(text) => self.reply = Some(serde_json::from_str(&text).unwrap_or_default()),
                Err(_) => return true,
            }
        }
        false
    }

    /// Kills the run with SIGKILL and asserts that no process is left. Returns the reply, if it was
    /// printed, and the milliseconds until the last process was gone.
    pub(super) fn kill(mut self, telechir: &Telechir) -> (Option<Value>, u128) {
        let descendants = descendants(self.child.id());
        self.child.kill().expect("a running child");
        let killed = Instant::now();
        self.child.wait().expect("an exit status");
        loop {
            let left: Vec<_> = descendants.iter().filter(|one| one.is_alive()).collect();
            let mentions = telechir.processes();
            if left.is_empty() && mentions.is_empty() {
                break;
            }
            assert!(
                killed.elapsed() < GONE,
                "descendants left: {left:?}; processes with the folder: {mentions:?}"
            );
            std::thread::yield_now();
        }
        let gone_after_ms = killed.elapsed().as_millis();
        let printed = self.printed.recv().unwrap_or_default();
        let reply = self.reply.or_else(|| serde_json::from_str(&printed).ok());
        (reply, gone_after_ms)
    }

    /// The bash that leads a terminal's session, if it runs.
    pub(super) fn terminal_leader(&self) -> Option<u32> {
        let is_leader = |pid: u32| {
            let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let Some((start, rest)) = text.rsplit_once(") ") else {
                return false;
            };
            let fields: Vec<&str> = rest.split(' ').collect();
            // State, parent, group, session, terminal.
            let (session, terminal) = (fields.get(3), fields.get(4));
            start.ends_with("(bash")
                && session == Some(&pid.to_string().as_str())
                && terminal.is_some_and(|terminal| *terminal != "0")
        };
        let descendants = descendants(self.child.id());
        descendants
            .iter()
            .map(|one| one.pid)
            .find(|pid| is_leader(*pid))
    }

    /// Waits for the run's exit, returns its reply, and asserts that no earlier descendant is left.
    pub(super) fn finish_and_check(self) -> Value {
        let descendants = descendants(self.child.id());
        let reply = self.finish();
        let ended = Instant::now();
        while descendants.iter().any(Process::is_alive) {
            assert!(ended.elapsed() < GONE, "not all gone: {descendants:?}");
            std::thread::yield_now();
        }
        reply
    }

    /// Waits for the run's exit and returns its reply.
    pub(super) fn finish(mut self) -> Value {
        let status = self.child.wait().expect("an exit status");
        let output = self.stderr.recv().unwrap_or_default();
        assert!(status.success(), "{output}");
        self.reply.unwrap_or_else(|| {
            let printed = self.printed.recv().unwrap_or_default();
            serde_json::from_str(&printed).expect("a reply")
        })
    }
}

fn read_to_end(mut pipe: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let _partial_is_enough = pipe.by_ref().take(1 << 24).read_to_string(&mut text);
        // The receiver is gone if the test has failed.
        let _receiver_gone = sender.send(text);
    });
    receiver
}

/// A process, distinguished by start time from later ones with its id.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Process {
    pid: u32,
    started: String,
}

impl Process {
    fn is_alive(&self) -> bool {
        stat(self.pid).is_some_and(|(_, started, state)| started == self.started && state != "Z")
    }
}

/// All descendants of a process.
fn descendants(root: u32) -> HashSet<Process> {
    let mut parents = HashMap::new();
    let all = fs::read_dir("/proc").expect("/proc").flatten();
    for entry in all {
        let pid = entry.file_name().to_string_lossy().parse::<u32>();
        if let Ok(pid) = pid
            && let Some((parent, started, _)) = stat(pid)
        {
            parents.insert(pid, (parent, started));
        }
    }
    let mut descendants = HashSet::from([root]);
    loop {
        let more: Vec<u32> = parents
            .iter()
            .filter(|(pid, (parent, _))| descendants.contains(parent) && !descendants.contains(pid))
            .map(|(pid, _)| *pid)
            .collect();
        if more.is_empty() {
            break;
        }
        descendants.extend(more);
    }
    descendants.remove(&root);
    let described = |pid| {
        let (_, started) = parents.remove(&pid)?;
        Some(Process { pid, started })
    };
    descendants.into_iter().filter_map(described).collect()
}

/// Parent, start time and state of a process.
fn stat(pid: u32) -> Option<(u32, String, String)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may contain any character.
    let fields: Vec<&str> = text.rsplit_once(") ")?.1.split(' ').collect();
    let (state, parent, started) = (fields.first()?, fields.get(1)?, fields.get(19)?);
    Some((
        parent.parse().ok()?,
        (*started).to_owned(),
        (*state).to_owned(),
    ))
}
