//! `run` on a terminal: questions stay visible beside the progress, and each kind of answer counts.

mod screen;

use std::fs;

use serde_json::{Value, json};
use telechir_testkit::gate::{Component, require};
use telechir_testkit::provider::{ModelServer, Script, ServedPage};

use self::screen::TerminalRun;
use crate::runs::model::{Model, message};
use crate::telechir::{Ran, Telechir};
use crate::view::OpenedPage;

const PROMPT: &str = "[y/N] ";
/// As long as a provider's: what may be its beginning is not shown at once.
const KEY: &str = "sk-ant-0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghij";

/// A turn with one command, which the workspace that somebody named makes a question.
fn command(id: &str, command: &str, expect: &Value) -> Value {
    json!({"expect": expect, "with": {"stop_reason": "tool_use"},
        "say": [{"type": "tool_use", "id": id, "name": "bash", "input": {"command": command}}]})
}

fn conversation(turns: &[Value]) -> Script {
    let last = json!({"say": [{"type": "text", "text": "All of it is done."}]});
    let turns: Vec<&Value> = turns.iter().chain([&last]).collect();
    let script = json!({"dialect": "anthropic-messages", "turns": turns});
    Script::from_json(&script.to_string()).expect("a script")
}

/// A run of these turns on a terminal of this width.
struct Task {
    telechir: Telechir,
    server: ModelServer,
    _runtime: tokio::runtime::Runtime,
}

impl Task {
    fn new(turns: &[Value]) -> Self {
        require(Component::Sandbox);
        let telechir = Telechir::new();
        fs::create_dir(telechir.folder().join("work")).expect("the workspace");
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all();
        let runtime = runtime.build().expect("a runtime");
        let server = ModelServer::start(conversation(turns), ServedPage::default(), Vec::new());
        let server = runtime.block_on(server).expect("a server");
        Self {
            telechir,
            server,
            _runtime: runtime,
        }
    }

    fn start(&self, rows: u16, columns: u16) -> TerminalRun {
        self.start_with("", rows, columns)
    }

    fn start_with(&self, flags: &str, rows: u16, columns: u16) -> TerminalRun {
        let base = self.server.base_url();
        let variables = [
            ("ANTHROPIC_API_KEY", KEY),
            ("ANTHROPIC_BASE_URL", base.as_str()),
        ];
        let line = format!(
            "run 'tidy up' --provider anthropic --model claude-sonnet-4-5 --shell --workspace work \
             --max-steps 9 {flags}"
        );
        TerminalRun::start(&self.telechir, &line, &variables, (rows, columns))
    }

    /// Asserts that the model received every result that it expects.
    fn finish(self, run: TerminalRun) -> String {
        let (transcript, succeeded) = run.finish();
        let report = self.server.report();
        assert!(report.is_clean(), "{report:?}\n{transcript}");
        assert!(succeeded, "{transcript}");
        self.telechir.assert_nothing_left();
        transcript
    }
}

#[test]
fn a_question_stays_on_the_screen_until_it_is_answered() {
    for columns in [80, 40] {
        let made = json!([{"call": "t1", "contains": "was here"}]);
        let denied = json!([{"call": "t2", "contains": "use the bin instead"}]);
        let task = Task::new(&[
            command("t1", "touch kept && echo was here", &json!([])),
            command("t2", "rm -r kept", &made),
            command("t3", "echo end > kept && cat kept", &denied),
        ]);
        let mut run = task.start(24, columns);
        run.wait_for(PROMPT, 1);
        run.types("perhaps\n");
        // An unclear answer leaves the question where it is.
        let screen = run.wait_for(PROMPT, 2);
        assert!(screen.contains("touch kept && echo"), "{screen}");
        assert!(screen.contains("Not answered"), "{screen}");
        run.types("y\n");
        run.wait_for(PROMPT, 3);
        run.types("n use the bin instead\n");
        run.wait_for(PROMPT, 4);
        run.types("v\n");
        run.wait_for(PROMPT, 5);
        run.types("y\n");
        let transcript = task.finish(run);
        // Nothing is written between a prompt and its answer.
        let answers: Vec<&str> = transcript
            .split(PROMPT)
            .skip(1)
            .map(|after| after.lines().next().unwrap_or_default())
            .collect();
        let typed = ["perhaps", "y", "n use the bin instead", "v", "y"];
        assert_eq!(answers, typed, "{columns} columns: {transcript:?}");
        assert!(transcript.contains("step 1 of 9"), "{transcript:?}");
    }
}

#[test]
fn an_approval_for_the_session_covers_its_shape_until_it_is_revoked() {
    let task = Task::new(&[
        command("t1", "touch a", &json!([])),
        command("t2", "touch a", &json!([])),
        command("t3", "rm a", &json!([])),
        command("t4", "touch a", &json!([])),
    ]);
    let mut run = task.start(40, 80);
    let screen = run.wait_for(PROMPT, 1);
    assert!(screen.contains("s allows this for the rest"), "{screen}");
    run.types("s\n");
    // The second call is not asked about; the next question is the third's.
    let screen = run.wait_for(PROMPT, 2);
    assert!(screen.contains("$ rm a"), "{screen}");
    let listed = telechir(&task.telechir, &["approvals", "remembered"]);
    assert!(listed.stdout.contains("touch"), "{listed:?}");
    let session = listed.stdout.split_whitespace().next().expect("a session");
    assert!(session.starts_with("run-"), "{listed:?}");
    let revoke = ["approvals", "revoke", "--session", session, "1"];
    assert_eq!(telechir(&task.telechir, &revoke).code, Some(0));
    run.types("y\n");
    let screen = run.wait_for(PROMPT, 3);
    assert!(screen.contains("$ touch a"), "{screen}");
    run.types("y\n");
    task.finish(run);
}

#[test]
fn a_question_is_answered_in_the_page_whose_address_is_on_the_terminal() {
    let task = Task::new(&[command("t1", "touch a", &json!([]))]);
    let run = task.start_with("--view", 40, 250);
    let screen = run.wait_for(PROMPT, 1);
    let url = screen
        .split_whitespace()
        .find(|word| word.starts_with("http://127.0.0.1:"));
    let page = OpenedPage::of(url.expect("an address"));
    assert_eq!(page.role, "operator", "{screen}");
    let open = page.get("/v1/approvals").json()["approvals"][0].clone();
    let answer = json!({"decision": "approve", "digest": open["digest"], "scope": "once"});
    let path = format!("/v1/approvals/{}", open["id"].as_str().expect("an id"));
    let answered = page.post(&path, &answer);
    assert_eq!(answered.status, 204, "{answered:?}");
    task.finish(run);
}

/// A command beside the run, with the same folder for sockets.
fn telechir(telechir: &Telechir, arguments: &[&str]) -> Ran {
    let mut command = telechir.command(arguments);
    Ran::of(
        command.env("XDG_RUNTIME_DIR", screen::sockets(telechir)),
        "",
    )
}

/// A turn with a text of two lines, and a command.
fn text_and_command() -> Value {
    let text = "I look around.\nThen I tidy up.";
    json!({"with": {"stop_reason": "tool_use"}, "say": [{"type": "text", "text": text},
        {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "ls"}}]})
}

#[test]
fn a_terminal_shows_the_model_s_text_as_it_arrives_and_once() {
    for (flags, streamed) in [("", 2), ("--stream never", 0)] {
        let task = Task::new(&[text_and_command()]);
        let run = task.start_with(flags, 24, 80);
        let screen = run.wait_for("session ended", 1);
        assert_eq!(task.server.report().streamed, streamed, "{flags}");
        for line in ["model: I look around.", "model: Then I tidy up."] {
            assert_eq!(screen.matches(line).count(), 1, "{screen}");
        }
        let transcript = task.finish(run);
        let answered = transcript
            .find("step 1: the model answered")
            .expect("a step");
        let text = transcript.find("model: I look around.").expect("the text");
        assert_eq!(text < answered, streamed > 0, "{transcript:?}");
    }
}

#[test]
fn events_have_the_model_s_text_as_it_arrives() {
    let task = Task::new(&[]);
    let base = task.server.base_url();
    let mut command = task.telechir.command(&[
        "run",
        "say it",
        "--provider",
        "anthropic",
        "--model",
        "claude-sonnet-4-5",
        "--base-url",
        &base,
        "--shell",
        "--json",
        "--stream",
        "always",
    ]);
    command.env("ANTHROPIC_API_KEY", KEY);
    let ran = Ran::of(&mut command, "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let events: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("a JSON line"))
        .collect();
    let at = |name: &str| events.iter().position(|event| event["event"] == name);
    let deltas: Vec<&str> = events
        .iter()
        .filter(|event| event["event"] == "assistant_message_delta")
        .filter_map(|event| event["text"].as_str())
        .collect();
    assert!(deltas.len() > 1, "{deltas:?}");
    assert_eq!(deltas.concat(), "All of it is done.");
    let message = at("assistant_message").expect("the message");
    assert_eq!(events[message]["text"], "All of it is done.");
    assert!(at("assistant_message_delta") < Some(message));
    assert_eq!(ran.stderr.matches("model: All of it is done.").count(), 1);
    task.telechir.assert_nothing_left();
}

#[test]
fn a_service_without_streams_is_named_with_the_flag_that_helps() {
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let model = Model::start(|request| match request["stream"] == true {
        true => (
            400,
            json!({"type": "error", "error": {"type": "invalid_request_error",
            "message": "streams are not available"}}),
        ),
        false => message("Done."),
    });
    let base = model.base_url();
    let run = |flags: &[&str]| {
        let mut arguments = vec!["run", "say it", "--provider", "anthropic", "--model", "m"];
        arguments.extend(["--shell", "--base-url", &base, "--stream"]);
        arguments.extend(flags);
        let mut command = telechir.command(&arguments);
        Ran::of(command.env("ANTHROPIC_API_KEY", KEY), "")
    };
    let refused = run(&["always"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused
            .stderr
            .contains("if the service has no streams, add --stream never"),
        "{}",
        refused.stderr
    );
    let ran = run(&["never"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Done.\n"));
    telechir.assert_nothing_left();
}
