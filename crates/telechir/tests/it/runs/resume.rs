//! `run --resume` after `kill -9` and after Ctrl-C.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

use telechir_runtime::{JournalError, RecordedConversation, verify};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use super::model::{Model, bash, message, responses};
use super::{KEY, command, lines};
use crate::journal_kills::draw::Draw;
use crate::journal_kills::number;
use crate::telechir::{Ran, Telechir};

/// Commands of a run, each in a turn of its own.
const COMMANDS: usize = 4;
/// Enough for every test run; `make soak` sets more.
const POINTS: u64 = 3;

/// A run whose commands each append a line to a file.
struct KilledRun {
    telechir: Telechir,
    model: Model,
    seen: PathBuf,
}

impl KilledRun {
    fn new() -> Self {
        let telechir = Telechir::new();
        let workspace = telechir.folder().join("workspace");
        fs::create_dir(&workspace).expect("a workspace");
        let seen = workspace.join("seen");
        fs::write(&seen, "").expect("a file");
        // As root, each session has a different user, and all of them append to this file.
        fs::set_permissions(&seen, fs::Permissions::from_mode(0o666)).expect("permissions");
        let model = Model::start(|request| match responses(request) {
            COMMANDS => message("Every line is there."),
            at => bash(
                &format!("t{at}"),
                &format!("echo line-{at} >> seen; echo ok"),
            ),
        });
        Self {
            telechir,
            model,
            seen,
        }
    }

    fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.seen).expect("the file");
        text.lines().map(str::to_owned).collect()
    }

    fn recording(&self) -> PathBuf {
        self.telechir.folder().join("recording")
    }

    fn spawn(&self, more: &[&str]) -> Child {
        let workspace = self.telechir.folder().join("workspace");
        let (workspace, recording) = (workspace.to_string_lossy(), self.recording());
        let recording = recording.to_string_lossy();
        let mut arguments = vec!["--workspace", &workspace, "--record", &recording];
        arguments.extend(more);
        let mut command = command(&self.telechir, &self.model, &arguments);
        command.spawn().expect("the binary starts")
    }

    fn start(&self) -> Child {
        let (provider, model) = ("anthropic", "claude-opus-5-5");
        let task = "Write the lines.";
        self.spawn(&[
            task,
            "--provider",
            provider,
            "--model",
            model,
            "--run",
            "r1",
        ])
    }

    /// Kills a run once `wanted` lines are written, after a further delay.
    fn kill(&self, mut child: Child, wanted: usize, delay: Duration) {
        assert_eventually_blocking!(
            (self.lines().len(), child.try_wait().expect("a status")),
            |(lines, ended)| *lines >= wanted || ended.is_some()
        );
        std::thread::sleep(delay);
        child.kill().expect("a signal");
        child.wait().expect("an exit status");
        // The guardian, which names no folder of ours, removes them after the processes.
        assert_eventually_blocking!(
            (self.telechir.processes(), self.session_folders()),
            |(processes, folders)| processes.is_empty() && folders.is_empty()
        );
    }

    fn session_folders(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.telechir.folder()).expect("the folder");
        let paths = entries.flatten().map(|entry| entry.path());
        let is_session = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default();
            name.to_string_lossy().starts_with("telechir-")
        };
        paths.filter(is_session).collect()
    }

    /// Resumes until the model is done.
    fn finish(&self) -> Ran {
        let recorded = RecordedConversation::read(self.recording(), "r1");
        // It was killed before its task was recorded: there is nothing to resume.
        let is_unrecorded = matches!(
            recorded,
            Err(JournalError::Absent { .. } | JournalError::NoConversation { .. })
        );
        let output = self.spawn(&["--resume", "r1"]).wait_with_output();
        let output = output.expect("the binary ends");
        let ran = Ran {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        };
        if is_unrecorded {
            let started = self.start().wait_with_output().expect("the binary ends");
            return Ran {
                code: started.status.code(),
                stdout: String::from_utf8_lossy(&started.stdout).into_owned(),
                stderr: String::from_utf8_lossy(&started.stderr).into_owned(),
            };
        }
        ran
    }
}

#[test]
fn a_killed_run_continues_and_repeats_nothing() {
    require(Component::Sandbox);
    let chosen = number("TELECHIR_RESUME_POINTS");
    let points = chosen.unwrap_or(POINTS);
    // Only `make soak` also kills runs that have done nothing yet.
    let least = u64::from(chosen.is_none());
    let mut draw = Draw::new(number("TELECHIR_KILL_SEED").unwrap_or(20_261_123));
    for point in 0..points {
        let run = KilledRun::new();
        let wanted = least + draw.below(COMMANDS as u64 - least);
        let wanted = usize::try_from(wanted).expect("a small number");
        run.kill(run.start(), wanted, draw.time(60));
        let ran = run.finish();
        let lines = run.lines();
        let mut once = lines.clone();
        once.sort();
        once.dedup();
        assert_eq!(
            once.len(),
            lines.len(),
            "point {point}: {lines:?}\n{}",
            ran.stderr
        );
        // The kill may come after the last response was recorded.
        if !ran.stderr.contains("the model has ended its task") {
            assert_eq!(ran.code, Some(0), "point {point}: {}", ran.stderr);
            assert_eq!(ran.stdout, "Every line is there.\n", "point {point}");
        }
        // Only the command that was running when the kill came may be missing.
        assert!(lines.len() + 1 >= COMMANDS, "point {point}: {lines:?}");
        let verified = verify(run.recording()).expect("a recording");
        assert_eq!(verified.fault, None, "point {point}");
        run.telechir.assert_nothing_left();
    }
}

#[test]
fn ctrl_c_message_how_long_the_command_had_run_and_the_run_continues() {
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let model = Model::start(|request| match responses(request) {
        0 => bash("t1", "sleep 1000"),
        _ => message("It was stopped."),
    });
    let recording = telechir.folder().join("recording");
    let recording = recording.to_string_lossy();
    let mut first = command(
        &telechir,
        &model,
        &[
            "Wait.",
            "--provider",
            "anthropic",
            "--model",
            "claude-opus-5-5",
            "--record",
            &recording,
            "--run",
            "r1",
            "--json",
        ],
    );
    let mut child = first.spawn().expect("the binary starts");
    let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut events = stdout.lines().map_while(Result::ok);
    events
        .find(|line| line.contains("action_started"))
        .expect("the command starts");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    let rest: Vec<String> = events.collect();
    let output = child.wait_with_output().expect("the binary ends");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("stopped by a signal after "), "{stderr}");
    assert!(stderr.contains(" s of `"), "{stderr}");
    assert!(
        rest.iter().any(|line| line.contains("cancelled")),
        "{rest:?}"
    );
    let mut second = command(
        &telechir,
        &model,
        &["--record", &recording, "--resume", "r1", "--json"],
    );
    let ran = Ran::of(&mut second, "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let started = lines(&ran.stdout)
        .iter()
        .filter(|line| line["event"] == "action_started")
        .count();
    assert_eq!(started, 0, "{}", ran.stdout);
    telechir.assert_nothing_left();
}

#[test]
fn a_run_is_resumed_with_the_flags_of_its_recording() {
    require(Component::Sandbox);
    let run = KilledRun::new();
    let model_flags = ["--provider", "anthropic", "--model", "claude-opus-5-5"];
    let mut first = vec!["Write the lines.", "--run", "r1", "--max-steps", "1"];
    first.extend(model_flags);
    let first = run.spawn(&first).wait_with_output().expect("it ends");
    assert_eq!(first.status.code(), Some(1), "{first:?}");
    assert_eq!(run.lines(), ["line-0"]);
    let (recording, base_url) = (run.recording(), run.model.base_url());
    let recording = recording.to_string_lossy();
    let fixed = [
        "run",
        "--resume",
        "r1",
        "--record",
        &recording,
        "--base-url",
        &base_url,
    ];
    let resume = |more: &[&str]| {
        let mut command = run.telechir.command(&[&fixed, more].concat());
        Ran::of(command.env(KEY.0, KEY.1), "")
    };
    // A flag that is given counts instead of the recorded one.
    let strict = resume(&["--policy", "look", "--max-steps", "1"]);
    assert_eq!(strict.code, Some(1), "{}", strict.stderr);
    assert_eq!(run.lines(), ["line-0"], "{}", strict.stderr);
    let ran = resume(&[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(run.lines(), ["line-0", "line-2", "line-3"]);
    let shown = ran.stderr.lines().next().unwrap_or_default();
    for flag in ["--shell", "--workspace=/", "--policy=/"] {
        assert!(shown.contains(flag), "{flag} in {}", ran.stderr);
    }
    run.telechir.assert_nothing_left();
}
