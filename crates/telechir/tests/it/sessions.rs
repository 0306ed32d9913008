//! `exec --session`: state kept between calls, queueing, and the ends of sessions.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use telechir_testkit::gate::{Component, require};

use crate::telechir::{Ran, Telechir, png_size, webp_size};
use telechir_testkit::assert_eventually_blocking;

/// A folder for sessions; on drop it closes those that a failed test leaves.
pub(crate) struct SessionFixture {
    pub(crate) telechir: Telechir,
}

impl SessionFixture {
    pub(crate) fn new() -> Self {
        let telechir = Telechir::new();
        let runtime = telechir.folder().join("run");
        fs::create_dir(&runtime).expect("a folder");
        fs::set_permissions(&runtime, fs::Permissions::from_mode(0o700)).expect("permissions");
        telechir.permissive_policy();
        Self { telechir }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.telechir.folder().join(name)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.telechir.command(arguments);
        command.env("XDG_RUNTIME_DIR", self.file("run"));
        command.env("XDG_DATA_HOME", self.file("data"));
        command
    }

    pub(crate) fn exec(&self, name: &str, more: &[&str], input: &str) -> Ran {
        Ran::of(&mut self.exec_command(name, more), input)
    }

    fn exec_command(&self, name: &str, more: &[&str]) -> Command {
        let dialect = "anthropic-messages";
        let mut arguments = vec!["exec", "--dialect", dialect, "--session", name];
        arguments.extend(more);
        self.command(&arguments)
    }

    /// Starts a session with a shell and a permissive policy.
    pub(crate) fn start_shell(&self, name: &str, more: &[&str]) {
        require(Component::Sandbox);
        let policy = self.file("policy.toml");
        let workspace = self.file("work");
        fs::create_dir_all(&workspace).expect("a folder");
        let policy = format!("--policy={}", policy.display());
        let workspace = format!("--workspace={}", workspace.display());
        let mut flags = vec!["--shell", &policy, &workspace];
        flags.extend(more);
        let text = self.exec(name, &flags, &bash("true")).json();
        assert_ne!(text[0]["is_error"], true, "{text}");
    }

    /// Runs a command in the session's shell and returns the result's text.
    pub(crate) fn shell(&self, name: &str, command: &str) -> String {
        self.exec(name, &[], &bash(command)).json()[0]["content"].to_string()
    }

    /// Starts a command in the session and returns once it runs.
    pub(crate) fn start_command(&self, name: &str, command: &str) -> Child {
        let mark = self.file("work/mark");
        let mut child = self
            .exec_command(name, &[])
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin
            .write_all(bash(&format!("echo > mark; {command}")).as_bytes())
            .expect("input");
        drop(stdin);
        assert_eventually_blocking!(mark.exists(), "the command starts");
        child
    }

    pub(crate) fn list(&self) -> Value {
        Ran::of(&mut self.command(&["sessions", "list", "--json"]), "").json()
    }

    pub(crate) fn session_host(&self) -> Pid {
        self.session_hosts()[0]
    }

    pub(crate) fn session_hosts(&self) -> Vec<Pid> {
        let pid = |session: &Value| {
            let pid = session["pid"].as_i64().expect("a number");
            let pid = i32::try_from(pid).expect("a process id");
            Pid::from_raw(pid).expect("a process")
        };
        let listed = self.list();
        let sessions = listed.as_array().expect("a list");
        sessions.iter().map(pid).collect()
    }

    pub(crate) fn close(&self, name: &str) -> Ran {
        Ran::of(&mut self.command(&["sessions", "close", name]), "")
    }

    /// Whether no process and no folder of a session is left.
    pub(crate) fn nothing_left(&self) -> bool {
        let entries = fs::read_dir(self.telechir.folder()).expect("the folder");
        let is_session =
            |entry: fs::DirEntry| entry.file_name().to_string_lossy().starts_with("telechir-");
        self.telechir.processes().is_empty() && !entries.flatten().any(is_session)
    }

    #[track_caller]
    pub(crate) fn assert_closes(&self, name: &str) {
        let ran = self.close(name);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        self.telechir.assert_nothing_left();
        let left: Vec<_> = fs::read_dir(self.file("run/telechir"))
            .expect("the folder")
            .flatten()
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

impl Drop for SessionFixture {
    fn drop(&mut self) {
        let rows = Ran::of(&mut self.command(&["sessions", "list", "--json"]), "");
        let rows: Value = serde_json::from_str(&rows.stdout).unwrap_or_default();
        for row in rows.as_array().into_iter().flatten() {
            let _best_effort = self.close(row["name"].as_str().unwrap_or_default());
        }
    }
}

pub(crate) fn response(name: &str, family: Option<&str>, input: Value) -> String {
    let mut call = json!({"type": "tool_use", "id": "toolu_1", "name": name, "input": input});
    if let Some(family) = family {
        call["toolset_name"] = family.into();
    }
    json!({"type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use", "content": [call]})
        .to_string()
}

pub(crate) fn bash(command: &str) -> String {
    response("bash", None, json!({ "command": command }))
}

fn text(ran: &Ran) -> String {
    ran.json()[0]["content"].to_string()
}

#[test]
fn a_shell_keeps_its_state_between_calls() {
    let sessions = SessionFixture::new();
    sessions.start_shell("work-1", &[]);
    sessions.shell(
        "work-1",
        "mkdir inner; cd inner; x=41; f() { echo $((x + 1)); }",
    );
    let output = sessions.shell("work-1", "pwd; f");
    assert!(
        output.contains("/inner") && output.contains("42"),
        "{output}"
    );

    let rows = sessions.list();
    assert_eq!(rows.as_array().map(Vec::len), Some(1));
    assert_eq!(rows[0]["name"], "work-1");
    assert_eq!(rows[0]["state"], "idle");
    assert_eq!(rows[0]["devices"], json!(["shell"]));
    assert_eq!(rows[0]["idle_limit_seconds"], 900);
    let table = Ran::of(&mut sessions.command(&["sessions", "list"]), "");
    assert!(table.stdout.contains("work-1"), "{table:?}");

    sessions.assert_closes("work-1");
    assert_eq!(sessions.list(), json!([]));
    sessions
        .close("work-1")
        .fails(1, &["no session named work-1"]);
}

#[test]
fn a_desktop_keeps_its_state_between_calls() {
    require(Component::XServer);
    let sessions = SessionFixture::new();
    let point = json!({"coordinate": [301, 202]});
    let moved = response("mouse_move", Some("computer"), point);
    let ran = sessions.exec("d", &["--desktop", "--display", "1024x768"], &moved);
    assert_ne!(ran.json()[0]["is_error"], true, "{ran:?}");
    let request = response("cursor_position", Some("computer"), json!({}));
    let output = text(&sessions.exec("d", &[], &request));
    assert!(output.contains("301") && output.contains("202"), "{output}");
    let request = response("screenshot", Some("computer"), json!({}));
    let reply = sessions.exec("d", &[], &request).json();
    let mut blocks = reply[0]["content"].as_array().into_iter().flatten();
    let image = blocks.find(|block| block["type"] == "image");
    let source = &image.expect("an image block")["source"];
    assert_eq!(source["media_type"], "image/webp");
    let screenshot = source["data"].as_str().expect("base64");
    assert_eq!(webp_size(screenshot), (1024, 768));
    // A call in another dialect gets a screenshot of the same screen, in a format that it accepts.
    let call = json!({"type": "computer_call", "id": "cu_1", "call_id": "call_1", "status": "completed",
        "actions": [{"type": "screenshot"}]});
    let output = json!({"object": "response", "status": "completed", "output": [call]}).to_string();
    let arguments = ["exec", "--dialect", "openai-responses", "--session", "d"];
    let reply = Ran::of(&mut sessions.command(&arguments), &output).json();
    let url = reply[0]["output"]["image_url"]
        .as_str()
        .expect("a screenshot");
    let screenshot = url.strip_prefix("data:image/png;base64,").expect("a PNG");
    assert_eq!(png_size(screenshot), (1024, 768));
    sessions.assert_closes("d");
}

#[test]
fn a_browser_keeps_its_state_between_calls() {
    require(Component::XServer);
    require(Component::Chromium);
    let sessions = SessionFixture::new();
    let opened = response("new_tab", Some("browser"), json!({}));
    let ran = sessions.exec("b", &["--browser"], &opened);
    assert_ne!(ran.json()[0]["is_error"], true, "{ran:?}");
    let listed = response("list_tabs", Some("browser"), json!({}));
    let output = text(&sessions.exec("b", &["--browser"], &listed));
    assert_eq!(output.matches("tab_id").count(), 2, "{output}");
    sessions.assert_closes("b");
}

#[test]
fn a_device_missing_in_the_session_is_reported() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &[]);
    let look = response("screenshot", Some("computer"), json!({}));
    let output = text(&sessions.exec("a", &[], &look));
    assert!(output.contains("--desktop"), "{output}");
    sessions.assert_closes("a");
}

#[test]
fn two_callers_take_turns() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &[]);
    let first = sessions.start_command(
        "a",
        "until [[ -e go ]]; do sleep 0.01; done; echo one >> order",
    );
    assert_eq!(sessions.list()[0]["state"], "busy");
    let impatient = sessions.exec("a", &["--queue-timeout", "0"], &bash("echo never >> order"));
    assert_eq!((impatient.code, impatient.stdout.as_str()), (Some(1), ""));
    assert!(
        impatient.stderr.contains("nothing was executed"),
        "{impatient:?}"
    );
    assert_eventually_blocking!(sessions.list(), |list| list[0]["waiting"] == 0);
    let mut second = sessions
        .exec_command("a", &[])
        .spawn()
        .expect("the program starts");
    let mut stdin = second.stdin.take().expect("a pipe");
    stdin
        .write_all(bash("echo two >> order").as_bytes())
        .expect("input");
    drop(stdin);
    assert_eventually_blocking!(sessions.list(), |list| list[0]["waiting"] == 1);
    fs::write(sessions.file("work/go"), "").expect("a file");
    let (first, second) = (
        first.wait_with_output().expect("the first ends"),
        second.wait_with_output().expect("the second ends"),
    );
    assert!(first.status.success() && second.status.success());
    let output = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(output.contains("is executing another call"), "{output}");
    let order = fs::read_to_string(sessions.file("work/order")).expect("a file");
    assert_eq!(order, "one\ntwo\n");
    sessions.assert_closes("a");
}

#[test]
fn two_first_callers_share_one_session() {
    let sessions = SessionFixture::new();
    require(Component::Sandbox);
    let policy = format!("--policy={}", sessions.file("policy.toml").display());
    let call = || {
        let mut child = sessions
            .exec_command("a", &["--shell", &policy])
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin
            .write_all(bash("n=$((n + 1)); echo call-$n").as_bytes())
            .expect("input");
        child
    };
    let callers = [call(), call(), call()];
    let mut output: Vec<String> = callers
        .map(|child| child.wait_with_output().expect("an exit status"))
        .iter()
        .filter_map(|output| serde_json::from_slice::<Value>(&output.stdout).ok())
        .map(|reply| reply[0]["content"].to_string())
        .collect();
    output.sort_by_key(|text| text.find("call-").map(|at| text[at..at + 6].to_owned()));
    for (point, text) in output.iter().enumerate() {
        assert!(text.contains(&format!("call-{}", point + 1)), "{output:?}");
    }
    assert_eq!(output.len(), 3, "not every call has a reply: {output:?}");
    sessions.assert_closes("a");
}

#[test]
fn an_idle_session_is_closed() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &["--idle-timeout", "1"]);
    assert_eventually_blocking!(sessions.list(), |list| *list == json!([]));
    sessions.telechir.assert_nothing_left();
    let ran = sessions.exec("a", &[], &bash("true"));
    ran.fails(1, &["no session named a", "--shell"]);
}

#[test]
fn an_extended_session_closes_later() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &["--idle-timeout", "60"]);
    let extend = |name: &str, time: &str| {
        let arguments = ["sessions", "extend", name, "--for", time];
        Ran::of(&mut sessions.command(&arguments), "")
    };
    let left = || {
        let seconds = sessions.list()[0]["closes_in_seconds"].as_u64();
        seconds.expect("an idle session")
    };
    assert!(left() <= 60);
    let extended = extend("a", "2h");
    assert_eq!((extended.code, extended.stderr.as_str()), (Some(0), ""));
    assert!((7_000..=7_200).contains(&left()), "{}", left());
    // A shorter time changes nothing, and neither does a call.
    assert_eq!(extend("a", "5m").code, Some(0));
    sessions.shell("a", "true");
    assert!(left() > 7_000, "{}", left());
    extend("b", "30m").fails(1, &["no session named b"]);
    let refused = extend("a", "30");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("such as 30m"), "{refused:?}");
    sessions.assert_closes("a");
}

#[test]
fn a_dead_session_host_is_reported() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &[]);
    kill_process(sessions.session_host(), Signal::KILL).expect("a signal");
    assert_eventually_blocking!(sessions.nothing_left(), "its guardian is done");
    assert_eq!(
        sessions.list(),
        json!([{"name": "a", "state": "gone", "devices": [], "waiting": 0}])
    );
    let ran = sessions.exec("a", &[], &bash("true"));
    ran.fails(1, &["session a is gone", "without closing"]);
    let ran = sessions.exec("a", &[], &bash("true"));
    ran.fails(1, &["no session named a"]);

    sessions.start_shell("a", &[]);
    kill_process(sessions.session_host(), Signal::KILL).expect("a signal");
    assert_eventually_blocking!(sessions.nothing_left(), "its guardian is done");
    let ran = sessions.exec("a", &["--shell"], &bash("pwd"));
    assert_ne!(ran.json()[0]["type"], Value::Null);
    assert!(
        ran.stderr.contains("the earlier session a is gone"),
        "{ran:?}"
    );
    assert_eq!(sessions.close("a").code, Some(0));
    sessions.telechir.assert_nothing_left();
}

#[test]
fn different_flags_are_refused_and_the_session_continues() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &[]);
    for (flags, fragment) in [
        (vec!["--desktop"], "--desktop"),
        (vec!["--shell=host"], "--shell=host"),
        (vec!["--display", "800x600"], "--display=1280x800"),
        (vec!["--idle-timeout", "60"], "--idle-timeout=900"),
        (vec!["--record", "/tmp/nowhere"], "--record"),
        (vec!["--workspace", "/tmp"], "--workspace"),
    ] {
        let ran = sessions.exec("a", &flags, &bash("touch made"));
        ran.fails(2, &[fragment, "telechir sessions close a"]);
    }
    let other = sessions.file("other.toml");
    fs::write(&other, "# Nothing more than the default.\n").expect("a file");
    let other = other.to_str().expect("a path");
    let ran = sessions.exec("a", &["--policy", other], &bash("touch made"));
    ran.fails(2, &["--policy", "has another policy"]);
    assert!(!sessions.file("work/made").exists());
    // Equal flags are accepted.
    let policy = sessions.file("policy.toml");
    let policy = policy.to_str().expect("a path");
    let same = ["--shell", "--display", "1280x800", "--policy", policy];
    assert_eq!(sessions.exec("a", &same, &bash("true")).code, Some(0));
    sessions.assert_closes("a");
}

#[test]
fn only_its_owner_can_reach_a_session() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &[]);
    let mode = |name: &str| {
        let meta = fs::metadata(sessions.file(name)).expect("the file exists");
        meta.permissions().mode() & 0o777
    };
    assert_eq!(mode("run/telechir"), 0o700);
    assert_eq!(mode("run/telechir/a"), 0o600);
    assert_eq!(mode("run/telechir/a.log"), 0o600);
    sessions.assert_closes("a");
    let folder = sessions.file("run/telechir");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("permissions");
    let ran = sessions.exec("a", &["--shell"], &bash("true"));
    ran.fails(1, &["is not private"]);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("permissions");
}

#[test]
fn a_caller_with_another_protocol_is_rejected() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &[]);
    for nonsense in [&b"\xff\xff\xff\xff"[..], b"\0\0\0\x02{}", b"\0\0\0\x09"] {
        let mut stream =
            UnixStream::connect(sessions.file("run/telechir/a")).expect("the session host listens");
        stream.write_all(nonsense).expect("written");
        stream
            .shutdown(std::net::Shutdown::Write)
            .expect("shutdown");
        let mut rest = Vec::new();
        stream
            .read_to_end(&mut rest)
            .expect("the host closes the connection");
        assert_eq!(rest, b"");
    }
    let mut old =
        UnixStream::connect(sessions.file("run/telechir/a")).expect("the session host listens");
    let hello = br#"{"protocol":0,"version":"0.0.1"}"#;
    let length = u32::try_from(hello.len()).expect("short").to_be_bytes();
    old.write_all(&[&length[..], hello].concat())
        .expect("written");
    let mut rest = Vec::new();
    old.read_to_end(&mut rest)
        .expect("the host closes the connection");
    let output = String::from_utf8_lossy(&rest).into_owned();
    assert!(
        output.contains("refused") && output.contains("0.0.1"),
        "{output}"
    );
    assert!(sessions.shell("a", "echo still").contains("still"));
    sessions.assert_closes("a");
}

#[test]
fn names_with_path_characters_are_refused() {
    let sessions = SessionFixture::new();
    let long = "x".repeat(33);
    for name in ["", "..", "a/b", "a.lock", "a b", long.as_str()] {
        let ran = sessions.exec(name, &["--shell"], &bash("true"));
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("1 to 32 letters"), "{ran:?}");
    }
}

#[test]
fn a_call_needs_a_device_flag_to_start_a_session() {
    let sessions = SessionFixture::new();
    let ran = sessions.exec("a", &[], &bash("true"));
    ran.fails(
        1,
        &[
            "no session named a",
            "--desktop, --browser, --shell or --editor",
        ],
    );
}

#[test]
fn a_failed_start_reports_why_and_leaves_nothing() {
    let sessions = SessionFixture::new();
    let ran = sessions.exec("a", &["--desktop=:4242"], &bash("true"));
    ran.fails(1, &["--desktop", ":4242"]);
    assert_eventually_blocking!(sessions.list(), |list| *list == json!([]));
    sessions.telechir.assert_nothing_left();
}

#[test]
fn a_killed_caller_cancels_only_its_call() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &[]);
    let mut caller = sessions.start_command("a", "kept=1; touch begun; sleep 1000; touch after");
    assert_eventually_blocking!(sessions.file("work/begun").exists());
    caller.kill().expect("a signal");
    caller.wait().expect("an exit status");
    assert_eventually_blocking!(sessions.list(), |list| list[0]["state"] == "idle");
    let output = sessions.shell("a", "pgrep sleep; echo kept $kept");
    assert!(output.contains("kept 1"), "{output}");
    assert!(!sessions.file("work/after").exists());
    sessions.assert_closes("a");
}

#[test]
fn an_interrupted_caller_waits_for_the_cancellation() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &[]);
    let caller = sessions.start_command("a", "sleep 1000");
    kill_process(Pid::from_child(&caller), Signal::INT).expect("a signal");
    let output = caller.wait_with_output().expect("an exit status");
    assert_eq!(output.status.code(), Some(130));
    let output = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.contains("session a continues"), "{output}");
    assert_eq!(sessions.list()[0]["state"], "idle");
    sessions.assert_closes("a");
}

#[test]
fn keys_are_released_when_a_caller_is_killed() {
    require(Component::XServer);
    let sessions = SessionFixture::new();
    let point = json!({"coordinate": [10, 10]});
    let moved = response("mouse_move", Some("computer"), point);
    sessions.exec("a", &["--desktop"], &moved).json();
    // Pressed for longer than this test takes.
    let mut caller = sessions
        .exec_command("a", &[])
        .spawn()
        .expect("the program starts");
    let hold = response(
        "hold_key",
        Some("computer"),
        json!({"text": "a", "duration": 90}),
    );
    let mut stdin = caller.stdin.take().expect("a pipe");
    stdin.write_all(hold.as_bytes()).expect("input");
    drop(stdin);
    assert_eventually_blocking!(sessions.list(), |list| list[0]["state"] == "busy");
    caller.kill().expect("a signal");
    caller.wait().expect("an exit status");
    assert_eventually_blocking!(sessions.list(), |list| list[0]["state"] == "idle");
    let look = response("screenshot", Some("computer"), json!({}));
    assert_ne!(sessions.exec("a", &[], &look).json()[0]["is_error"], true);
    sessions.assert_closes("a");
}

#[test]
fn a_signal_to_the_session_host_closes_the_session() {
    let sessions = SessionFixture::new();
    sessions.start_shell("a", &[]);
    let caller = sessions.start_command("a", "sleep 1000");
    kill_process(sessions.session_host(), Signal::TERM).expect("a signal");
    let output = caller.wait_with_output().expect("an exit status");
    assert_eq!(output.status.code(), Some(1));
    let output = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.contains("was closed during the call"), "{output}");
    assert_eventually_blocking!(sessions.list(), |list| *list == json!([]));
    sessions.telechir.assert_nothing_left();
}

#[test]
fn one_recording_contains_all_calls_of_a_session() {
    let sessions = SessionFixture::new();
    let recording = sessions.file("recording");
    let flag = format!("--record={}", recording.display());
    sessions.start_shell("a", &[&flag]);
    sessions.shell("a", "echo second");
    sessions.assert_closes("a");
    let recording = recording.to_str().expect("a path");
    let verified = sessions.telechir.run(&["audit", "verify", recording], "");
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

/// Runs a call that needs approval on its own terminal, and types `answer`.
fn run_with_answer(sessions: &SessionFixture, more: &str, answer: &str) -> (String, Value) {
    fs::write(
        sessions.file("in.json"),
        bash("echo $((40 + 2)) > made; cat made"),
    )
    .expect("input");
    let line = format!(
        "{} exec --dialect anthropic-messages --session a {more} < in.json > out.json",
        env!("CARGO_BIN_EXE_telechir")
    );
    let mut script = Command::new("/usr/bin/script")
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .current_dir(sessions.telechir.folder())
        .env("TMPDIR", sessions.telechir.folder())
        .env("XDG_RUNTIME_DIR", sessions.file("run"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script runs");
    let mut keyboard = script.stdin.take().expect("a pipe");
    let mut screen = script.stdout.take().expect("a pipe");
    let mut output = Vec::new();
    let mut byte = [0];
    while !String::from_utf8_lossy(&output).contains("[y/N]") {
        let read = screen.read(&mut byte).expect("the terminal");
        assert!(read > 0, "no prompt: {}", String::from_utf8_lossy(&output));
        output.extend_from_slice(&byte);
    }
    keyboard.write_all(answer.as_bytes()).expect("typed");
    screen.read_to_end(&mut output).expect("the terminal");
    assert!(script.wait().expect("script ends").success());
    let reply = fs::read_to_string(sessions.file("out.json")).expect("a reply");
    (
        String::from_utf8_lossy(&output).into_owned(),
        serde_json::from_str(&reply).expect("JSON"),
    )
}

#[test]
fn prompts_appear_on_the_caller_s_terminal() {
    require(Component::Sandbox);
    let sessions = SessionFixture::new();
    fs::create_dir(sessions.file("work")).expect("the workspace");
    let devices = "--shell --workspace work";
    let (output, reply) = run_with_answer(&sessions, devices, "y\n");
    assert!(output.contains("echo $((40 + 2)) > made"), "{output}");
    assert!(reply[0]["content"].to_string().contains("42"), "{reply}");
    let (_, reply) = run_with_answer(&sessions, "", "n\n");
    assert_eq!(reply[0]["is_error"], true, "{reply}");
    // For a caller without a terminal the answer is no.
    let output = sessions.exec("a", &[], &bash("touch made; cat made"));
    assert_eq!(output.json()[0]["is_error"], true, "{output:?}");
    sessions.assert_closes("a");
}
