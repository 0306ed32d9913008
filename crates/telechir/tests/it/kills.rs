//! Within two seconds of a run's end, whatever its cause, no process, file or pressed key is left.

mod fixture;

use std::io::Write;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use telechir_testkit::gate::{Component, require};
use telechir_testkit::{assert_eventually, assert_eventually_blocking};

use crate::existing::ExistingDesktop;
use crate::telechir::Telechir;
use fixture::{CLEANUP_LIMIT, RunSnapshot};

/// A running command that has started a process outside its parent and session.
const BUSY: &str = "(setsid sh -c 'sleep 1007; true' &) ; touch started; sleep 60";

fn response(calls: &[Value]) -> String {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
        "content": calls, "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    })
    .to_string()
}

fn desktop(id: &str, name: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "toolset_name": "computer", "input": input})
}

/// Starts a run with `calls` on stdin.
fn start(
    telechir: &Telechir,
    devices: &[&str],
    env: &[(String, String)],
    calls: &[Value],
) -> Child {
    let mut arguments = vec!["exec", "--dialect", "anthropic-messages"];
    arguments.extend(devices);
    let mut child = telechir
        .command(&arguments)
        .envs(env.iter().map(|(name, value)| (name, value)))
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(telechir.folder().join("log")).expect("a log"))
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin
        .write_all(response(calls).as_bytes())
        .expect("the response is written");
    child
}

fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a number"), signal).expect("a running program");
}

/// A run with every device, ended by `how` in the middle of a command.
fn ends_in_the_middle(how: Signal) {
    require(Component::XServer);
    require(Component::Chromium);
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let policy = telechir.permissive_policy();
    let workspace = telechir.folder().join("work");
    std::fs::create_dir(&workspace).expect("a workspace");
    let call =
        json!({"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": BUSY}});
    let named = workspace.to_string_lossy();
    let devices = [
        "--desktop",
        "--start-app",
        "xterm",
        "--browser",
        "--shell",
        "--workspace",
        &named,
        "--policy",
        &policy,
    ];
    let mut child = start(&telechir, &devices, &[], &[call]);
    let mut command_runs = || {
        let ended = child.try_wait().expect("a child");
        let log = || std::fs::read_to_string(telechir.folder().join("log"));
        assert_eq!(ended, None, "{:?}", log());
        workspace.join("started").exists()
            && RunSnapshot::of(&child, telechir.folder()).runs("sleep")
    };
    assert_eventually_blocking!(command_runs());
    let snapshot = RunSnapshot::of(&child, telechir.folder());
    snapshot.assert_running(&[
        "Xvfb",
        "xterm",
        "chromium",
        "bwrap",
        "bash",
        "sleep",
        "dbus-daemon",
        "telechir-guard",
    ]);
    let start = Instant::now();
    signal(&child, how);
    child.wait().expect("an exit status");
    snapshot.assert_gone(start);
}

#[test]
fn nothing_is_left_after_kill_9() {
    ends_in_the_middle(Signal::KILL);
}

#[test]
fn nothing_is_left_after_sigterm() {
    ends_in_the_middle(Signal::TERM);
}

#[test]
fn nothing_is_left_after_sigint() {
    ends_in_the_middle(Signal::INT);
}

#[test]
fn detached_processes_on_the_host_are_killed_too() {
    let telechir = Telechir::new();
    let policy = telechir.folder().join("policy.toml");
    let rule = "[[shell]]\nshell = \"host\"\nverdict = \"allow\"\nreason = \"A test.\"\n";
    std::fs::write(&policy, rule).expect("a policy");
    let workspace = telechir.folder().join("work");
    std::fs::create_dir(&workspace).expect("a workspace");
    // Durations that no other process sleeps for.
    let [first, second] =
        [1008, 1009].map(|started_at| format!("{started_at}.{}", std::process::id()));
    let command =
        format!("(setsid sleep {first} &) ; (env -i sleep {second} &) ; touch started; sleep 60");
    let call =
        json!({"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": command}});
    let (named, policy) = (workspace.to_string_lossy(), policy.to_string_lossy());
    let devices = ["--shell=host", "--workspace", &named, "--policy", &policy];
    let mut child = start(&telechir, &devices, &[], &[call]);
    let started = || fixture::running(&[&first, &second]);
    assert_eventually_blocking!(
        workspace.join("started").exists() && started() == 2,
        "both processes are detached"
    );
    let snapshot = RunSnapshot::of(&child, telechir.folder());
    let start = Instant::now();
    child.kill().expect("a running child");
    child.wait().expect("an exit status");
    snapshot.assert_gone(start);
    assert_eventually_blocking!(started(), |running| *running == 0);
    assert!(start.elapsed() < CLEANUP_LIMIT, "{:?}", start.elapsed());
}

#[test]
fn nothing_is_left_after_a_kill_during_startup() {
    const KILLS: u32 = 20;
    const CEILING: Duration = Duration::from_secs(40);
    require(Component::XServer);
    require(Component::Sandbox);
    let started_at = Instant::now();
    let mut kills = 0;
    while kills < KILLS && started_at.elapsed() < CEILING {
        let telechir = Telechir::new();
        let screenshot = desktop("toolu_1", "screenshot", json!({}));
        let mut child = start(&telechir, &["--desktop", "--shell"], &[], &[screenshot]);
        // From the first millisecond until all devices run.
        let moment = Instant::now() + Duration::from_millis(u64::from(kills * kills * 2));
        let mut token = None;
        while Instant::now() < moment && child.try_wait().expect("a child").is_none() {
            token = token.or_else(|| fixture::token(telechir.folder()));
        }
        let snapshot = RunSnapshot::with_token(&child, token, telechir.folder());
        let start = Instant::now();
        child.kill().expect("a running child");
        child.wait().expect("an exit status");
        snapshot.assert_gone(start);
        kills += 1;
    }
    assert!(kills >= 5, "only {kills} kills in {CEILING:?}");
}

/// An existing display with its own applications, and a run that presses a key and a button.
#[test]
fn keys_and_buttons_are_released_on_an_existing_display() {
    use telechir_testkit::xvfb::{keyboard, pressed};
    let (telechir, elsewhere) = (Telechir::new(), Telechir::new());
    let mut display = ExistingDesktop::start_session(&elsewhere);
    display.edit();
    display.wait_until_accessible(&elsewhere);
    let environment = display.environment.clone();
    let policy = telechir.folder().join("policy.toml");
    let rule = "[[computer]]\ndisplay = \"existing\"\nverdict = \"allow\"\nreason = \"A test.\"\n";
    std::fs::write(&policy, rule).expect("a policy");
    let calls = [
        desktop("toolu_1", "type", json!({"text": "漢"})),
        desktop("toolu_2", "left_mouse_down", json!({})),
        desktop(
            "toolu_3",
            "hold_key",
            json!({"text": "shift", "duration": 60}),
        ),
    ];
    let before = keyboard(&environment);
    let flag = format!("--desktop={}", display.value("DISPLAY"));
    let policy = policy.to_string_lossy();
    let authority = (
        "XAUTHORITY".to_owned(),
        display.value("XAUTHORITY").to_owned(),
    );
    let mut child = start(
        &telechir,
        &[&flag, "--policy", &policy],
        &[authority],
        &calls,
    );
    assert_eventually_blocking!(pressed(&environment), |(keys, buttons)| !keys.is_empty()
        && *buttons != 0);
    assert_ne!(keyboard(&environment), before, "no key was borrowed");
    let snapshot = RunSnapshot::of(&child, telechir.folder());
    let start = Instant::now();
    child.kill().expect("a running child");
    child.wait().expect("an exit status");
    let released = (Vec::new(), 0);
    assert_eventually_blocking!(pressed(&environment), |pressed| *pressed == released);
    assert_eventually_blocking!(
        keyboard(&environment) == before,
        "the keyboard mapping is restored"
    );
    assert!(start.elapsed() < CLEANUP_LIMIT, "{:?}", start.elapsed());
    snapshot.assert_gone(start);
    display.assert_unchanged();
}

/// The user presses the stop key while a command runs: the run ends by itself, with results.
#[tokio::test]
async fn the_stop_key_kills_a_command_and_its_descendants() {
    use telechir_testkit::xvfb::{press, value};
    /// Keycode in the usual layout.
    const F12: u8 = 96;
    require(Component::XServer);
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let (display, environment) = fixture::display(telechir.folder()).await;
    let (policy, workspace) = (telechir.permissive_policy(), telechir.folder().join("work"));
    std::fs::create_dir(&workspace).expect("a workspace");
    let flag = format!("--desktop={}", value(&environment, "DISPLAY"));
    let named = workspace.to_string_lossy();
    let bash = |id: &str, command: &str| json!({"type": "tool_use", "id": id, "name": "bash", "input": {"command": command}});
    let calls = [
        bash("toolu_1", &format!("echo so far; {BUSY}")),
        bash("toolu_2", "touch later"),
    ];
    let arguments = [
        "exec",
        "--dialect",
        "anthropic-messages",
        &flag,
        "--stop-key",
        "F12",
        "--shell",
        "--workspace",
        &named,
        "--policy",
        &policy,
    ];
    let mut child = telechir
        .command(&arguments)
        .env("XAUTHORITY", value(&environment, "XAUTHORITY"))
        .stderr(std::fs::File::create(telechir.folder().join("log")).expect("a log"))
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin
        .write_all(response(&calls).as_bytes())
        .expect("the response is written");
    drop(stdin);
    assert_eventually!(
        workspace.join("started").exists()
            && RunSnapshot::of(&child, telechir.folder()).runs("sleep"),
        "the command runs"
    );
    let snapshot = RunSnapshot::of(&child, telechir.folder());
    snapshot.assert_running(&["bwrap", "bash", "sleep", "telechir-guard"]);
    let start = Instant::now();
    press(&environment, F12);
    let ended = child.wait_with_output().expect("an exit status");
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(ended.status.code(), Some(0));
    snapshot.assert_gone(Instant::now());
    let answers: Value = serde_json::from_slice(&ended.stdout).expect("a reply");
    let answer = |at: usize| {
        let result = &answers[at];
        assert_eq!(result["is_error"], true, "{answers}");
        result["content"].to_string()
    };
    for part in ["so far", "cancelled", "The user stopped this session"] {
        assert!(answer(0).contains(part), "{part}: {answers}");
    }
    assert!(answer(1).contains("Nothing was done"), "{answers}");
    assert!(!workspace.join("later").exists());
    display.close().await.expect("the display still runs");
}

#[test]
fn a_killed_guardian_is_replaced_and_logged() {
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let policy = telechir.permissive_policy();
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "sleep 60"}});
    let log = telechir.folder().join("log");
    let mut child = telechir
        .command(&[
            "exec",
            "--dialect",
            "anthropic-messages",
            "--shell",
            "--policy",
            &policy,
        ])
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&log).expect("a log"))
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin
        .write_all(response(&[call]).as_bytes())
        .expect("the response is written");
    drop(stdin);
    assert_eventually_blocking!(
        RunSnapshot::of(&child, telechir.folder()).runs("sleep"),
        "the command runs"
    );
    let guardian = || RunSnapshot::of(&child, telechir.folder()).pid_of("telechir-guard");
    let first = guardian().expect("a guardian");
    let snapshot = RunSnapshot::of(&child, telechir.folder());
    // SIGTERM does not end it: it outlives this process.
    kill_process(first, Signal::TERM).expect("a running program");
    kill_process(first, Signal::HUP).expect("a running program");
    kill_process(first, Signal::KILL).expect("a running program");
    assert_eventually_blocking!(std::fs::read_to_string(&log).unwrap_or_default(), |log| log
        .contains("a new one was started"));
    assert_eventually_blocking!(
        guardian().is_some_and(|now| now != first),
        "the replacement runs"
    );
    let start = Instant::now();
    signal(&child, Signal::KILL);
    child.wait().expect("an exit status");
    snapshot.assert_gone(start);
}
