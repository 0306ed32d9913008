//! The approval queue of sessions: questions answered from another terminal, late, or for a session.

use std::fs;
use std::io::{Read as _, Write as _};
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
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
        assert_eventually_blocking!(self.list().len(), |count| *count == 1);
        self.list()[0]["code"].as_str().expect("a code").to_owned()
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
    let mut child = script
        .args(["--quiet", "--return", "--command", line, "/dev/null"])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script runs");
    let mut keyboard = child.stdin.take().expect("a pipe");
    let mut screen = child.stdout.take().expect("a pipe");
    let (mut output, mut byte) = (Vec::new(), [0]);
    while !String::from_utf8_lossy(&output).contains("/N] ") {
        if screen.read(&mut byte).expect("the terminal") == 0 {
            break;
        }
        output.extend_from_slice(&byte);
    }
    // Without a prompt the program has ended.
    let _ended = keyboard.write_all(answer.as_bytes());
    screen.read_to_end(&mut output).expect("the terminal");
    let _status = child.wait().expect("script ends");
    String::from_utf8_lossy(&output).into_owned()
}

fn bash(command: &str) -> String {
    let call =
        json!({"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": command}});
    let response = json!({
        "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use",
        "content": [call],
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
    assert_runs(&finished(call));
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
    approvals.start("a", "--shell", &["--approval-timeout=2"]);
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
