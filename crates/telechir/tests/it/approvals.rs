//! The approval queue of sessions: questions answered from another terminal, late, or for a session.

use std::fs;
use std::io::{Read as _, Write as _};
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use telechir_host::approvals::UnsandboxedDevices;
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use crate::mcp::{Client, LEGACY, MODERN};
use crate::telechir::{Ran, Telechir};

/// A policy that asks for `touch` and allows everything else in the sandbox.
const POLICY: &str = "
[[shell]]
words = ['touch']
verdict = 'ask'
reason = 'New files are asked about.'
";

/// Whoever answers the questions of the sessions in a folder.
pub(crate) struct Person {
    folder: PathBuf,
}

impl Person {
    /// Whoever uses this folder as their home.
    pub(crate) fn of(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_telechir"));
        self.prepare(command.args(arguments));
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn prepare<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", &self.folder)
            .env("TMPDIR", &self.folder)
            .env("XDG_RUNTIME_DIR", self.folder.join("run"))
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(&mut self.command(arguments), "")
    }

    pub(crate) fn list(&self) -> Vec<Value> {
        let listed = self.run(&["approvals", "list", "--json"]).json();
        listed.as_array().expect("a list").clone()
    }

    /// The code of the one open question.
    pub(crate) fn code(&self) -> String {
        let open = assert_eventually_blocking!(self.list(), |open| open.len() == 1);
        open[0]["code"].as_str().expect("a code").to_owned()
    }

    /// Runs a line at a terminal of its own, and types `answer` at the prompt. Returns what the
    /// terminal shows.
    pub(crate) fn at_terminal(
        &self,
        variables: &[(&str, &str)],
        line: &str,
        answer: &str,
    ) -> String {
        let mut script = Command::new("/usr/bin/script");
        self.prepare(&mut script).envs(variables.iter().copied());
        typed(&mut script, &self.folder, line, answer)
    }

    /// `telechir approve CODE` at a terminal.
    pub(crate) fn approve(&self, code: &str, answer: &str) -> String {
        let line = format!("{} approve {code}", env!("CARGO_BIN_EXE_telechir"));
        self.at_terminal(&[], &line, answer)
    }
}

/// Sessions with a folder of their own; on drop those are closed that a failed test leaves.
pub(crate) struct Approvals {
    pub(crate) telechir: Telechir,
    person: Person,
}

impl Deref for Approvals {
    type Target = Person;

    fn deref(&self) -> &Person {
        &self.person
    }
}

impl Approvals {
    pub(crate) fn new() -> Self {
        let telechir = Telechir::new();
        let folder = telechir.folder().to_owned();
        let runtime = folder.join("run");
        fs::create_dir(&runtime).expect("a folder");
        fs::set_permissions(&runtime, fs::Permissions::from_mode(0o700)).expect("permissions");
        fs::write(folder.join("policy.toml"), POLICY).expect("a policy file");
        let person = Person::of(folder);
        Self { telechir, person }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.telechir.folder().join(name)
    }

    /// A call of the session, whose devices the first call names with `more`.
    pub(crate) fn call(&self, session: &str, more: &[&str], command: &str) -> Command {
        let input = self.file("call.json");
        fs::write(&input, bash(command)).expect("input");
        let mut arguments = vec![
            "exec",
            "--dialect",
            "anthropic-messages",
            "--session",
            session,
        ];
        arguments.extend(more);
        let mut call = self.command(&arguments);
        call.stdin(fs::File::open(&input).expect("input"));
        call
    }

    /// The result of a call that needs no answer, or has no terminal.
    pub(crate) fn result(&self, session: &str, more: &[&str], command: &str) -> Value {
        let output = self.call(session, more, command).output().expect("a run");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{stderr}");
        let reply: Value = serde_json::from_slice(&output.stdout).expect("JSON on stdout");
        reply[0].clone()
    }

    /// The results of several calls of one turn.
    pub(crate) fn results(&self, session: &str, calls: &[Value]) -> Value {
        let mut call = self.call(session, &[], "true");
        let input = self.file("call.json");
        fs::write(&input, response(calls)).expect("input");
        call.stdin(fs::File::open(&input).expect("input"));
        let output = call.output().expect("a run");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{stderr}");
        serde_json::from_slice(&output.stdout).expect("JSON on stdout")
    }

    /// Starts a session with a shell under the policy.
    pub(crate) fn start(&self, session: &str, shell: &str, more: &[&str]) {
        require(Component::Sandbox);
        let policy = format!("--policy={}", self.file("policy.toml").display());
        let mut flags = vec![shell, &policy];
        flags.extend(more);
        let result = self.result(session, &flags, "true");
        assert_ne!(result["is_error"], true, "{result}");
    }

    /// Makes a call that fails at once, because it has no terminal; the code of its question.
    pub(crate) fn park(&self, session: &str, command: &str) -> String {
        let result = self.result(session, &[], command);
        assert_eq!(result["is_error"], true, "{result}");
        self.code()
    }

    pub(crate) fn close(&self, session: &str) {
        let closed = self.run(&["sessions", "close", session]);
        assert_eq!(closed.code, Some(0), "{closed:?}");
    }
}

impl Drop for Approvals {
    fn drop(&mut self) {
        let rows = self.run(&["sessions", "list", "--json"]);
        let rows: Value = serde_json::from_str(&rows.stdout).unwrap_or_default();
        for row in rows.as_array().into_iter().flatten() {
            let name = row["name"].as_str().unwrap_or_default();
            let _best_effort = self.run(&["sessions", "close", name]);
        }
    }
}

/// Runs a line in `script` and types `answer` once a prompt ends with `] `.
pub(crate) fn typed(script: &mut Command, folder: &Path, line: &str, answer: &str) -> String {
    typed_in_turn(script, folder, line, &[answer])
}

/// Types one answer after the other, each at a prompt of its own.
fn typed_in_turn(script: &mut Command, folder: &Path, line: &str, answers: &[&str]) -> String {
    let mut child = script
        .args(["--quiet", "--return", "--command", line, "/dev/null"])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script runs");
    let mut keyboard = child.stdin.take().expect("a pipe");
    let mut screen = child.stdout.take().expect("a pipe");
    let (mut output, mut byte, mut seen) = (Vec::new(), [0], 0);
    for answer in answers {
        while !String::from_utf8_lossy(&output[seen..]).contains("/N] ") {
            if screen.read(&mut byte).expect("the terminal") == 0 {
                break;
            }
            output.extend_from_slice(&byte);
        }
        seen = output.len();
        // Without a prompt the program has ended.
        let _ended = keyboard.write_all(answer.as_bytes());
    }
    screen.read_to_end(&mut output).expect("the terminal");
    let _status = child.wait().expect("script ends");
    String::from_utf8_lossy(&output).into_owned()
}

fn bash(command: &str) -> String {
    let call =
        json!({"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": command}});
    response(&[call])
}

fn response(calls: &[Value]) -> String {
    let response = json!({
        "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use",
        "content": calls,
    });
    response.to_string()
}

#[track_caller]
fn assert_runs(result: &Value) {
    assert_ne!(result["is_error"], true, "{result}");
}

/// Waits for a call that was started in the background.
fn finished(call: Child) -> Value {
    let output = call.wait_with_output().expect("the call ends");
    let reply: Value = serde_json::from_slice(&output.stdout).expect("JSON on stdout");
    reply[0].clone()
}

/// As `finished`; the call must have shown that its question was settled in this way.
fn finished_elsewhere(call: Child, settled: &str) -> Value {
    let output = call.wait_with_output().expect("the call ends");
    let shown = String::from_utf8_lossy(&output.stderr);
    let expected = format!("the question was settled elsewhere: {settled}");
    assert!(shown.contains(&expected), "{shown}");
    let reply: Value = serde_json::from_slice(&output.stdout).expect("JSON on stdout");
    reply[0].clone()
}

/// Runs a call at a terminal with these variables. Returns what the terminal shows, and the result.
fn called_at_terminal(
    approvals: &Approvals,
    variables: &[(&str, &str)],
    command: &str,
    answers: &[&str],
) -> (String, Value) {
    called_with(approvals, "--session a", variables, command, answers)
}

/// As `called_at_terminal`, with these flags.
fn called_with(
    approvals: &Approvals,
    flags: &str,
    variables: &[(&str, &str)],
    command: &str,
    answers: &[&str],
) -> (String, Value) {
    let (input, output) = (approvals.file("call.json"), approvals.file("out.json"));
    fs::write(&input, bash(command)).expect("input");
    let line = format!(
        "{} exec --dialect anthropic-messages {flags} < {} > {}",
        env!("CARGO_BIN_EXE_telechir"),
        input.display(),
        output.display()
    );
    let mut script = Command::new("/usr/bin/script");
    approvals
        .prepare(&mut script)
        .envs(variables.iter().copied());
    let folder = approvals.telechir.folder();
    let screen = typed_in_turn(&mut script, folder, &line, answers);
    let reply = fs::read_to_string(output).expect("a reply");
    let reply: Value = serde_json::from_str(&reply).expect("JSON");
    (screen, reply[0].clone())
}

#[test]
fn an_answer_that_does_not_count_is_explained_and_requested_again() {
    let approvals = Approvals::new();
    let policy = format!("{POLICY}\n[approval]\nmin_answer_ms = 60000\n");
    fs::write(approvals.file("policy.toml"), policy).expect("a policy file");
    approvals.start("a", "--shell", &[]);
    let (screen, result) = called_at_terminal(&approvals, &[], "touch made", &["y\n", "n\n"]);
    assert!(screen.contains("does not count"), "{screen}");
    assert!(screen.contains("at least 60000 ms"), "{screen}");
    assert_eq!(screen.matches("Allow it once?").count(), 2, "{screen}");
    assert_eq!(result["is_error"], true, "{result}");
    let text = result["content"].to_string();
    assert!(text.contains("denied this at the terminal"), "{text}");
    approvals.close("a");
}

#[test]
fn a_caller_that_may_not_answer_is_referred_to_another_terminal() {
    let approvals = Approvals::new();
    approvals.start("a", "--shell", &[]);
    let devices = UnsandboxedDevices::of(&approvals.file("run/telechir")).expect("a folder");
    let _driven = devices.show_display(":4711").expect("a device");
    let on_display = [("DISPLAY", ":4711")];
    let (screen, result) = called_at_terminal(&approvals, &on_display, "touch made", &["y\n"]);
    assert!(screen.contains("could type this answer"), "{screen}");
    let code = approvals.code();
    assert!(
        screen.contains(&format!("telechir approve {code}")),
        "{screen}"
    );
    // It does not wait for the end of the question.
    assert_eq!(result["is_error"], true, "{result}");
    let approved = approvals.approve(&code, "y\n");
    assert!(approved.contains("approved"), "{approved}");
    approvals.close("a");
}

#[test]
fn a_terminal_on_a_driven_display_does_not_answer_a_call_without_a_session() {
    let approvals = Approvals::new();
    // The folder of sockets exists with the first session.
    approvals.start("a", "--shell", &[]);
    let devices = UnsandboxedDevices::of(&approvals.file("run/telechir")).expect("a folder");
    let flags = format!(
        "--shell --policy={}",
        approvals.file("policy.toml").display()
    );
    let on_display = [("DISPLAY", ":4712")];
    let call = || called_with(&approvals, &flags, &on_display, "touch made", &["y\n"]);
    let driven = devices.show_display(":4712").expect("a device");
    let (screen, result) = call();
    assert!(screen.contains("could type this answer"), "{screen}");
    assert_eq!(result["is_error"], true, "{result}");
    drop(driven);
    let (_, result) = call();
    assert_runs(&result);
    approvals.close("a");
}

#[test]
fn a_call_that_waits_is_answered_from_another_terminal() {
    let approvals = Approvals::new();
    let record = approvals.file("recording");
    let record = format!("--record={}", record.display());
    approvals.start("a", "--shell", &[&record]);
    let waiting = ["--approval-wait=50"];
    let mut call = approvals.call("a", &waiting, "touch a\u{202e}b");
    let call = call.spawn().expect("the binary starts");
    let code = approvals.code();
    let open = &approvals.list()[0];
    assert_eq!(open["session"], "a");
    assert_eq!(open["is_waiting"], true);
    let shown = approvals.run(&["approvals", "show", &code]);
    assert!(shown.stdout.contains("touch a\\u{202e}b"), "{shown:?}");
    assert!(
        shown.stdout.contains("New files are asked about."),
        "{shown:?}"
    );
    let screen = approvals.approve(&code.to_lowercase(), "y\n");
    assert!(screen.contains("touch a\\u{202e}b"), "{screen}");
    assert!(screen.contains("approved"), "{screen}");
    assert_runs(&finished_elsewhere(call, "approved by telechir approve"));
    assert!(approvals.list().is_empty());
    // Whoever comes later is informed.
    let late = approvals.run(&["approvals", "show", &code]);
    late.fails(1, &["already settled: approved", "telechir approve"]);
    approvals.close("a");
    let page = approvals.file("report.html");
    let folder = approvals.file("recording");
    let (folder, page) = (folder.display().to_string(), page.display().to_string());
    let report = approvals.run(&["report", &folder, "--out", &page]);
    assert_eq!(report.code, Some(0), "{report:?}");
    let page = fs::read_to_string(page).expect("a report");
    assert!(
        page.contains("by telechir approve or deny (process "),
        "{page}"
    );
}

#[test]
fn a_late_yes_counts_once_for_the_same_action() {
    let approvals = Approvals::new();
    approvals.start("a", "--shell", &[]);
    let result = approvals.result("a", &[], "touch made");
    assert_eq!(result["is_error"], true, "{result}");
    let code = approvals.code();
    let text = result["content"].to_string();
    assert!(text.contains(&format!("telechir approve {code}")), "{text}");
    let screen = approvals.approve(&code, "y\n");
    assert!(screen.contains("waits no longer"), "{screen}");
    let other = approvals.result("a", &[], "touch other");
    assert_eq!(other["is_error"], true, "another action: {other}");
    assert_runs(&approvals.result("a", &[], "touch made"));
    let third = approvals.result("a", &[], "touch made");
    assert_eq!(third["is_error"], true, "used up: {third}");
    approvals.close("a");
}

#[test]
fn a_denial_reaches_the_model_with_its_reason() {
    let approvals = Approvals::new();
    approvals.start("a", "--shell", &[]);
    let mut call = approvals.call("a", &["--approval-wait=50"], "touch made");
    let call = call.spawn().expect("the binary starts");
    let code = approvals.code();
    let because = ["deny", &code, "--because", "Use the other folder."];
    let denied = approvals.run(&because);
    assert_eq!((denied.code, denied.stdout.as_str()), (Some(0), "denied\n"));
    let result = finished(call);
    assert_eq!(result["is_error"], true, "{result}");
    let text = result["content"].to_string();
    assert!(text.contains("Use the other folder."), "{text}");
    approvals
        .run(&because)
        .fails(1, &["already settled: denied"]);
    approvals.close("a");
}

#[test]
fn an_approval_for_the_session_is_listed_and_revoked() {
    let approvals = Approvals::new();
    approvals.start("a", "--shell", &[]);
    let code = approvals.park("a", "touch made");
    let screen = approvals.approve(&code, "s\n");
    assert!(
        screen.contains("rest of the session: touch made"),
        "{screen}"
    );
    for _ in 0..3 {
        assert_runs(&approvals.result("a", &[], "touch made"));
    }
    let remembered = approvals.run(&["approvals", "remembered", "--json"]).json();
    assert_eq!(remembered[0]["shape"]["parts"], json!(["touch made"]));
    let other = approvals.result("a", &[], "touch made other");
    assert_eq!(other["is_error"], true, "other words: {other}");
    let number = remembered[0]["number"].to_string();
    let revoke = ["approvals", "revoke", "--session", "a", &number];
    let revoked = approvals.run(&revoke);
    assert_eq!(revoked.code, Some(0), "{revoked:?}");
    approvals.run(&revoke).fails(1, &["has no approval"]);
    let result = approvals.result("a", &[], "touch made");
    assert_eq!(result["is_error"], true, "{result}");
    approvals.close("a");
}

/// Starts a call with devices of its own, without a terminal.
fn started_alone(approvals: &Approvals, more: &[&str], command: &str) -> Child {
    require(Component::Sandbox);
    let input = approvals.file("call.json");
    fs::write(&input, bash(command)).expect("input");
    let policy = format!("--policy={}", approvals.file("policy.toml").display());
    let mut arguments = vec![
        "exec",
        "--dialect",
        "anthropic-messages",
        "--shell",
        &policy,
    ];
    arguments.extend(more);
    let mut call = approvals.command(&arguments);
    call.stdin(fs::File::open(&input).expect("input"));
    call.spawn().expect("the binary starts")
}

#[test]
fn a_call_without_a_session_is_answered_from_another_terminal() {
    let approvals = Approvals::new();
    let waiting = ["--approval-wait=50"];
    let call = started_alone(&approvals, &waiting, "touch made");
    let code = approvals.code();
    let open = &approvals.list()[0];
    assert_eq!(open["session"], format!("exec-{}", call.id()));
    let screen = approvals.approve(&code, "y\n");
    assert!(screen.contains("approved"), "{screen}");
    assert_runs(&finished(call));

    let call = started_alone(&approvals, &waiting, "touch made");
    let code = approvals.code();
    let denied = approvals.run(&["deny", &code, "--because", "Not now."]);
    assert_eq!(denied.code, Some(0), "{denied:?}");
    let result = finished_elsewhere(call, "denied by telechir approve or deny");
    assert!(
        result["content"].to_string().contains("Not now."),
        "{result}"
    );

    // Whoever closes it ends the call, which closes its devices.
    let mut call = started_alone(&approvals, &waiting, "touch made");
    approvals.code();
    approvals.close(&format!("exec-{}", call.id()));
    assert_eq!(call.wait().expect("an end").code(), Some(143));
    assert!(approvals.list().is_empty());
    approvals.telechir.assert_nothing_left();
    let left: Vec<_> = fs::read_dir(approvals.file("run/telechir"))
        .expect("the folder")
        .flatten()
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_call_that_nobody_can_answer_is_denied_at_once() {
    let approvals = Approvals::new();
    let call = started_alone(&approvals, &[], "touch made");
    let output = call.wait_with_output().expect("the call ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!stderr.contains("telechir approve"), "{stderr}");
    let reply = String::from_utf8_lossy(&output.stdout);
    assert!(reply.contains("no terminal to prompt on"), "{reply}");
}

#[test]
fn a_choice_counts_in_all_sessions_until_it_is_revoked() {
    let approvals = Approvals::new();
    approvals.start("a", "--shell", &[]);
    let code = approvals.park("a", "touch made");
    let screen = approvals.approve(&code, "a\n");
    assert!(
        screen.contains("in all sessions with these devices: touch made"),
        "{screen}"
    );
    assert_runs(&approvals.result("a", &[], "touch made"));
    let code = approvals.park("a", "touch never");
    let screen = approvals.approve(&code, "d\n");
    assert!(screen.contains("denied"), "{screen}");
    approvals.close("a");

    approvals.start("b", "--shell", &[]);
    assert_runs(&approvals.result("b", &[], "touch made"));
    let denied = approvals.result("b", &[], "touch never");
    assert!(
        denied["content"].to_string().contains("in all sessions"),
        "{denied}"
    );
    assert!(approvals.list().is_empty(), "nobody was asked");
    let remembered = approvals.run(&["approvals", "remembered", "--json"]).json();
    let decisions = [&remembered[0]["decision"], &remembered[1]["decision"]];
    assert_eq!(decisions, [&json!("allow"), &json!("deny")]);
    assert_eq!(remembered[0]["devices"], "--shell=sandbox");
    let file = approvals.file(".telechir/choices.json");
    let mode = fs::metadata(&file).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    // What it could deny is unknown while it is broken, so everything asks.
    let contents = fs::read(&file).expect("a file");
    fs::write(&file, "{").expect("a file");
    let name = file.display().to_string();
    approvals
        .run(&["approvals", "remembered"])
        .fails(1, &[&name]);
    let code = approvals.park("b", "touch made");
    let screen = approvals.approve(&code, "y\n");
    assert!(screen.contains(&name), "{screen}");
    assert_runs(&approvals.result("b", &[], "touch made"));
    fs::write(&file, contents).expect("a file");
    assert_runs(&approvals.result("b", &[], "touch made"));

    for number in ["1", "2"] {
        let revoked = approvals.run(&["approvals", "revoke", "--always", number]);
        assert_eq!(revoked.code, Some(0), "{revoked:?}");
    }
    let again = ["approvals", "revoke", "--always", "1"];
    approvals.run(&again).fails(1, &["no choice 1"]);
    let result = approvals.result("b", &[], "touch made");
    assert_eq!(result["is_error"], true, "{result}");
    approvals.close("b");
}

#[test]
fn a_choice_permits_neither_what_the_policy_denies_nor_what_other_devices_do() {
    let approvals = Approvals::new();
    approvals.start("a", "--shell", &[]);
    let code = approvals.park("a", "touch made");
    approvals.approve(&code, "a\n");
    approvals.close("a");
    let workspace = approvals.file("work");
    fs::create_dir(&workspace).expect("a folder");
    let named = format!("--workspace={}", workspace.display());
    approvals.start("b", "--shell", &[&named]);
    let result = approvals.result("b", &[], "touch made");
    assert_eq!(result["is_error"], true, "another workspace: {result}");
    approvals.close("b");
    let policy = POLICY.replace("'ask'", "'deny'");
    fs::write(approvals.file("policy.toml"), policy).expect("a policy file");
    approvals.start("c", "--shell", &[]);
    let result = approvals.result("c", &[], "touch made");
    let text = result["content"].to_string();
    assert!(text.contains("New files are asked about."), "{text}");
    assert!(approvals.list().is_empty(), "it is denied: {text}");
    approvals.close("c");
}

#[test]
fn a_reloaded_policy_ends_the_approvals_for_later_calls() {
    let approvals = Approvals::new();
    approvals.start("a", "--shell", &[]);
    let code = approvals.park("a", "touch made");
    approvals.approve(&code, "s\n");
    assert_runs(&approvals.result("a", &[], "touch made"));
    let reloaded = approvals.run(&["policy", "reload", "a"]);
    assert_eq!(reloaded.code, Some(0), "{reloaded:?}");
    let result = approvals.result("a", &[], "touch made");
    assert_eq!(result["is_error"], true, "{result}");
    approvals.close("a");
}

#[test]
fn only_a_clear_yes_at_a_terminal_approves() {
    let approvals = Approvals::new();
    approvals.start("a", "--shell", &[]);
    let code = approvals.park("a", "touch made");
    approvals
        .run(&["approve", &code])
        .fails(1, &["needs a terminal"]);
    assert_eq!(approvals.list().len(), 1, "it is still open");
    for (code, message) in [
        ("K7QM2X", "no open question K7QM2X"),
        ("0", "expected the code"),
    ] {
        let ran = approvals.run(&["approve", code]);
        assert!(ran.stderr.contains(message), "{ran:?}");
    }
    approvals
        .run(&["approve", &code, "--session", "b"])
        .fails(1, &["no session named b"]);
    let screen = approvals.approve(&code, "\n");
    assert!(screen.contains("denied"), "{screen}");
    let result = approvals.result("a", &[], "touch made");
    assert_eq!(result["is_error"], true, "a no counts: {result}");
    approvals.close("a");
}

#[test]
fn a_question_is_withdrawn_after_its_time() {
    let approvals = Approvals::new();
    // Time enough to end the call and to list the question.
    approvals.start("a", "--shell", &["--approval-timeout=8"]);
    let code = approvals.park("a", "touch made");
    assert_eventually_blocking!(approvals.list().is_empty(), "it is withdrawn");
    approvals
        .run(&["approvals", "show", &code])
        .fails(1, &["nobody answered in time"]);
    approvals.close("a");
}

#[test]
fn a_decline_of_a_client_leaves_the_question_to_others() {
    require(Component::Sandbox);
    let folder = tempfile::tempdir().expect("a folder");
    let policy = folder.path().join("policy.toml");
    fs::write(&policy, POLICY).expect("a policy file");
    let policy = format!("--policy={}", policy.display());
    for version in [LEGACY, MODERN] {
        let mut client = Client::start(version, &[&policy, "--approval-wait=40"]);
        let arguments = json!({"command": "touch made"});
        let params = json!({"name": "execute_cli", "arguments": arguments});
        client.send_request("tools/call", params);
        let question = client.receive();
        if version == LEGACY {
            let declined = json!({"action": "decline"});
            client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": declined}));
        } else {
            let state = &question["result"]["requestState"];
            let again = json!({
                "name": "execute_cli", "arguments": arguments, "requestState": state,
                "inputResponses": {"approval": {"action": "cancel"}},
            });
            client.send_request("tools/call", again);
        }
        // The call still waits, and a person answers it elsewhere.
        let person = Person {
            folder: client.telechir.folder().to_owned(),
        };
        let screen = person.approve(&person.code(), "y\n");
        assert!(screen.contains("approved"), "{screen}");
        let done = client.receive();
        let status = &done["result"]["structuredContent"]["status"];
        assert_eq!(status, "success", "{done}");
        client.leave();
    }
}
