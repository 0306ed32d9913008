//! `run --session`: tasks one after the other in a session that stays.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use telechir_runtime::{RecordKind, read, verify};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use super::model::{Model, bash, message, responses, shell_session};
use super::{KEY, lines, one_command};
use crate::passwords::holding;
use crate::telechir::{Ran, Telechir};

const MODEL: [&str; 4] = ["--provider", "anthropic", "--model", "claude-opus-5-5"];
const PASSWORD: &str = "quartz-lantern-57";

/// A session of one test, closed at its end.
struct NamedSession {
    telechir: Telechir,
    name: String,
}

impl NamedSession {
    fn new(name: &str) -> Self {
        let telechir = Telechir::new();
        let name = format!("{name}-{}", std::process::id());
        Self { telechir, name }
    }

    fn command(&self, model: &Model, task: &str, more: &[&str]) -> Command {
        let base_url = model.base_url();
        let mut arguments = vec![
            "run",
            task,
            "--session",
            &self.name,
            "--base-url",
            &base_url,
        ];
        arguments.extend(MODEL);
        arguments.extend(more);
        let mut command = self.telechir.command(&arguments);
        command.env(KEY.0, KEY.1).stdin(Stdio::piped());
        command
    }

    /// The first task, with a shell.
    fn start(&self, model: &Model, task: &str, more: &[&str]) -> Ran {
        let policy = self.telechir.permissive_policy();
        let mut flags = vec!["--shell", "--policy", &policy];
        flags.extend(more);
        self.later(model, task, &flags)
    }

    /// A later task, without flags of devices.
    fn later(&self, model: &Model, task: &str, more: &[&str]) -> Ran {
        Ran::of(&mut self.command(model, task, more), "")
    }

    fn recording(&self) -> PathBuf {
        self.telechir.folder().join("recording")
    }

    fn close(&self) {
        let closed = self.telechir.run(&["sessions", "close", &self.name], "");
        assert_eq!(closed.code, Some(0), "{}", closed.stderr);
        self.telechir.assert_nothing_left();
    }
}

fn succeeds(ran: &Ran, stdout: &str) {
    assert_eq!(
        (ran.code, &*ran.stdout),
        (Some(0), stdout),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_later_task_finds_the_shell_as_it_was() {
    require(Component::Sandbox);
    let session = NamedSession::new("tasks");
    let first = Model::start(|request| match responses(request) {
        0 => bash("t1", "cd /tmp; kept=seven-owls"),
        _ => message("It is kept."),
    });
    succeeds(&session.start(&first, "Keep it.", &[]), "It is kept.\n");
    let second = Model::start(|request| match responses(request) {
        // The same id as in the first task.
        0 => bash("t1", "echo $kept in $PWD"),
        _ => message(&request["messages"][2]["content"].to_string()),
    });
    let ran = session.later(&second, "What is kept?", &["--json"]);
    let ended = lines(&ran.stdout).pop().unwrap_or_default();
    assert_eq!(ended["event"], "task_ended", "{}", ran.stderr);
    let text = ended["text"].as_str().unwrap_or_default();
    assert!(text.contains("seven-owls in /tmp"), "{ended}");
    // A conversation of its own, in which the model is told of the devices of the session.
    let request = &second.requests()[0];
    assert_eq!(request["messages"].as_array().map(Vec::len), Some(1));
    let system = request["system"].to_string();
    assert!(system.contains("- Shell: one bash"), "{system}");
    assert_eq!(request["tools"].as_array().map(Vec::is_empty), Some(false));
    session.close();
}

#[test]
fn a_session_stays_also_if_its_first_task_executed_nothing() {
    require(Component::Sandbox);
    let session = NamedSession::new("words");
    let talks = Model::start(|_| message("Nothing to do."));
    succeeds(&session.start(&talks, "Talk.", &[]), "Nothing to do.\n");
    succeeds(
        &session.later(&one_command(), "List it.", &[]),
        "There are seven owls.\n",
    );
    session.close();
}

#[test]
fn a_call_of_a_later_task_with_the_id_of_an_earlier_one_is_executed() {
    require(Component::Sandbox);
    let session = NamedSession::new("ids");
    let record = session.recording().to_string_lossy().into_owned();
    let counts = || {
        Model::start(|request| match responses(request) {
            0 => bash("call_0", "echo x >> seen; wc -l < seen"),
            _ => message(&request["messages"][2]["content"].to_string()),
        })
    };
    let flags = ["--record", &record, "--run", "r1"];
    let first = session.start(&counts(), "Count.", &flags);
    let second = session.later(&counts(), "Count.", &[]);
    for (ran, count) in [(first, "1"), (second, "2")] {
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stdout.contains(&format!("\"{count}")), "{}", ran.stdout);
    }
    session.close();
}

#[test]
fn a_session_that_cannot_start_reports_why() {
    let session = NamedSession::new("unstarted");
    let ran = session.later(&one_command(), "List it.", &["--desktop=:7777"]);
    ran.fails(1, &[":7777"]);
    session.telechir.assert_nothing_left();
}

#[test]
fn a_session_works_on_one_task_at_a_time() {
    require(Component::Sandbox);
    let session = NamedSession::new("busy");
    let workspace = session.telechir.folder().join("place");
    fs::create_dir(&workspace).expect("a workspace");
    let path = workspace.to_string_lossy().into_owned();
    let policy = session.telechir.permissive_policy();
    let waits = Model::start(|request| match responses(request) {
        0 => bash(
            "t1",
            "touch mark; until test -e go; do sleep 0.05; done; echo went",
        ),
        _ => message("It went."),
    });
    let flags = ["--shell", "--policy", &policy, "--workspace", &path];
    let first = session
        .command(&waits, "Wait.", &flags)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    assert_eventually_blocking!(workspace.join("mark").exists(), "the command starts");
    let second = session.later(&one_command(), "List it.", &[]);
    second.fails(1, &["works on a task of another client"]);
    fs::write(workspace.join("go"), "").expect("a file");
    let output = first.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.stdout, b"It went.\n", "{stderr}");
    succeeds(
        &session.later(&one_command(), "List it.", &[]),
        "There are seven owls.\n",
    );
    session.close();
}

#[test]
fn other_flags_than_those_of_the_session_are_refused_and_a_missing_session_is_named() {
    require(Component::Sandbox);
    let session = NamedSession::new("flags");
    let model = one_command();
    let missing = session.later(&model, "List it.", &[]);
    missing.fails(1, &["no session named", "--shell"]);
    succeeds(
        &session.start(&model, "List it.", &[]),
        "There are seven owls.\n",
    );
    let other = session.later(&model, "List it.", &["--shell=host"]);
    other.fails(2, &["--shell", "omit the flag"]);
    let resumed = session.later(&model, "Go on.", &["--resume", "r", "--record", "/nowhere"]);
    assert_eq!(resumed.code, Some(2), "{}", resumed.stderr);
    assert!(resumed.stderr.contains("--resume"), "{}", resumed.stderr);
    session.close();
}

#[test]
fn a_task_of_a_session_is_recorded_and_can_be_resumed() {
    require(Component::Sandbox);
    let session = NamedSession::new("recorded");
    let folder = session.recording();
    let record = folder.to_string_lossy().into_owned();
    let model = Model::start(|request| match responses(request) {
        0 => bash("t1", "echo -n one"),
        1 => message("First."),
        2 => bash("t2", "echo -n three"),
        _ => message("Second."),
    });
    let flags = ["--record", &record, "--run", "r1"];
    succeeds(&session.start(&model, "Begin.", &flags), "First.\n");
    session.close();
    verify(&folder).expect("the recording is whole");
    let policy = session.telechir.permissive_policy();
    let base_url = model.base_url();
    let mut again = session.telechir.command(&[
        "run",
        "Go on.",
        "--resume",
        "r1",
        "--record",
        &record,
        "--shell",
        "--policy",
        &policy,
        "--base-url",
        &base_url,
    ]);
    let ran = Ran::of(again.env(KEY.0, KEY.1), "");
    succeeds(&ran, "Second.\n");
    // Resumed with the result of the first task's command, which is not executed again.
    let requests = model.requests();
    let resumed = requests[2]["messages"].to_string();
    for fragment in ["Begin.", "one", "First.", "Go on."] {
        assert!(resumed.contains(fragment), "{fragment} in {resumed}");
    }
    let commands = ["echo -n one", "echo -n three"].map(|text| started(&folder, text));
    assert_eq!(commands, [1, 1]);
}

/// How often a command was started, as the recording has it.
fn started(folder: &Path, command: &str) -> usize {
    let rows = read(folder).expect("a recording");
    let events = rows.iter().filter(|row| row.kind == RecordKind::Event);
    let starts = events.filter(|row| row.body["event"] == "action_started");
    let summary = |body: &Value| body["summary"].to_string();
    starts
        .filter(|row| summary(&row.body).contains(command))
        .count()
}

#[test]
fn ctrl_c_cancels_the_running_call_and_leaves_the_session() {
    require(Component::Sandbox);
    let session = NamedSession::new("stopped");
    let model = one_command();
    let workspace = session.telechir.folder().join("place");
    fs::create_dir(&workspace).expect("a workspace");
    let flags = ["--workspace", &workspace.to_string_lossy()];
    succeeds(
        &session.start(&model, "List it.", &flags),
        "There are seven owls.\n",
    );
    let waits = Model::start(|_| bash("t1", "echo > mark; sleep 1000"));
    let mut command = session.command(&waits, "Wait.", &["--json"]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    assert_eventually_blocking!(workspace.join("mark").exists(), "the command starts");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    let output = child.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    let continues = format!("session {} continues", session.name);
    for fragment in ["the task was stopped after", "sleep 1000`", &continues] {
        assert!(stderr.contains(fragment), "{fragment} in {stderr}");
    }
    // The action ends before the task.
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let events = lines(&stdout);
    let at = |name: &str| events.iter().position(|line| line["event"] == name);
    let (action, task) = (at("action_finished"), at("task_ended"));
    assert!(action.is_some() && action < task, "{stdout}");
    assert_eq!(task, Some(events.len() - 1), "{stdout}");
    assert_eq!(events[events.len() - 1]["reason"], "cancelled");
    assert!(stderr.contains("the task ended"), "{stderr}");
    let after = Model::start(|request| match responses(request) {
        0 => bash("t1", "pgrep -x sleep || echo nothing runs"),
        _ => message(&request["messages"][2]["content"].to_string()),
    });
    let ran = session.later(&after, "What runs?", &[]);
    assert!(ran.stdout.contains("nothing runs"), "{}", ran.stderr);
    session.close();
}

#[test]
fn a_password_of_a_task_is_not_in_the_recording_of_its_session() {
    require(Component::Sandbox);
    let session = NamedSession::new("hidden");
    let folder = session.recording();
    let record = folder.to_string_lossy().into_owned();
    let model = Model::start(|request| match responses(request) {
        0 => bash("t1", "read -s -p 'Password: ' word; echo ${#word} letters"),
        1 => shell_session("t2", &format!("{PASSWORD}\n")),
        _ => message("Typed."),
    });
    let ran = session.start(&model, "Log in.", &["--record", &record]);
    succeeds(&ran, "Typed.\n");
    let last = model.requests().pop().unwrap_or_default().to_string();
    assert!(last.contains("17 letters"), "{last}");
    session.close();
    let (mut found, mut count) = (Vec::new(), 0);
    holding(&folder, PASSWORD.as_bytes(), &mut found, &mut count);
    assert!(count > 0, "nothing was recorded");
    assert_eq!(found, Vec::<String>::new());
}
