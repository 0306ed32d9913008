//! Types every `telechir` command of the README and of `docs/`, in their order.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use crate::telechir::{Ran, Telechir};
use Expected::{Fails, NotTyped, Serves};

/// What a command does that does not simply succeed.
#[derive(Clone, Copy, Debug)]
enum Expected {
    /// It exits with this code, and says this.
    Fails(i32, &'static str),
    /// It runs until it is stopped, and says this before.
    Serves(&'static str),
    /// It needs what a test cannot have.
    NotTyped(&'static str),
}

/// Commands that need a key, a service or the network.
const MAX_NOT_TYPED: usize = 10;

/// Commands, or how they begin, that do not simply succeed.
const EXCEPTIONS: &[(&str, Expected)] = &[
    // Nobody is there to allow it: standard input is no terminal.
    (
        "telechir do --desktop app mousepad",
        Fails(1, "telechir approve"),
    ),
    ("telechir do click \"File\"", Fails(1, "no element matches")),
    (
        "telechir do click Delete",
        Fails(1, "no session named default"),
    ),
    (
        "telechir do --session build --shell sh 'make test'",
        Fails(2, "No rule to make target"),
    ),
    (
        "telechir do --session web --browser=https://example.com --headless click \"More information\"",
        NotTyped("the network"),
    ),
    (
        "telechir approvals show 7KQ4TD",
        Fails(1, "no open question 7KQ4TD"),
    ),
    (
        "telechir approve 7KQ4TD",
        Fails(1, "no open question 7KQ4TD"),
    ),
    (
        "telechir deny 7KQ4TD --because \"use the staging server\"",
        Fails(1, "no open question 7KQ4TD"),
    ),
    (
        "telechir deny 7KQ4TD --because no",
        Fails(1, "no open question 7KQ4TD"),
    ),
    (
        "telechir approvals revoke --session work 1",
        Fails(1, "no session named work"),
    ),
    (
        "telechir approvals revoke --always 1",
        Fails(1, "no choice 1"),
    ),
    ("telechir view", Serves("#ticket=")),
    ("telechir view work", Fails(1, "no session named work")),
    ("telechir view --read-only", Serves("#ticket=")),
    (
        "telechir view --recording ~/recordings/work",
        Serves("#ticket="),
    ),
    (
        "telechir serve --shell --browser --headless",
        Serves("serving the HTTP API on"),
    ),
    (
        "telechir run \"Which news is on top? Save it to news.txt\"",
        Fails(2, "ANTHROPIC_API_KEY"),
    ),
    (
        "telechir run \"Which news is on top?\" --provider openai",
        Fails(2, "OPENAI_API_KEY"),
    ),
    (
        "telechir exec --dialect anthropic-messages --browser=https://example.com --remote=steel",
        Fails(2, "STEEL_API_KEY is not set"),
    ),
    (
        "telechir exec --dialect openai-responses --browser --remote=kernel:SESSION",
        Fails(2, "KERNEL_API_KEY is not set"),
    ),
    (
        "telechir exec --dialect anthropic-messages --shell=agentcore",
        Fails(2, "AWS_ACCESS_KEY_ID is not set"),
    ),
    ("telechir run \"Compute the", Fails(2, "ANTHROPIC_API_KEY")),
    (
        "telechir exec --dialect anthropic-messages --browser=https://example.com --remote=action",
        Fails(2, "ACTION_SERVICE_URL is not set"),
    ),
    (
        "telechir exec --dialect anthropic-messages --browser --remote=action:",
        Fails(1, "cannot be reached"),
    ),
    ("telechir run \"Sort the", Fails(2, "ANTHROPIC_API_KEY")),
    ("telechir run \"Download the", Fails(2, "ANTHROPIC_API_KEY")),
    ("telechir run \"Now draw the", Fails(2, "ANTHROPIC_API_KEY")),
    (
        "telechir run --resume invoices",
        Fails(1, "no run of a model"),
    ),
    ("telechir run \"Now list the", Fails(1, "no run of a model")),
    (
        "telechir exec --dialect anthropic-messages --browser=https://shop.example",
        Fails(1, "shop.example has no address"),
    ),
    (
        "telechir exec --dialect anthropic-messages --browser --cdp http://127.0.0.1:9222",
        NotTyped("a running browser"),
    ),
    (
        "telechir exec --dialect openai-responses --browser --cdp 'wss://connect.example/",
        Fails(2, "the environment variable TOKEN is not set"),
    ),
    (
        "telechir exec --dialect openai-responses --browser --cdp 127.0.0.1:9222",
        NotTyped("a running browser"),
    ),
    (
        "telechir exec --dialect openai-responses --desktop=:0",
        Fails(1, "stdin is empty"),
    ),
    (
        "telechir exec --dialect anthropic-messages --shell=docker",
        NotTyped("a container engine"),
    ),
];

/// What stands in for the names of values in the documents.
const VALUES: [(&str, &str); 6] = [
    ("CODE", "7KQ4TD"),
    ("NAME", "work"),
    ("TEXT", "no"),
    ("NUMBER", "1"),
    ("DIR", "records"),
    ("FILE", "server.toml"),
];

/// The documents with commands.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(root.join("docs")).expect("documents");
    let mut documents: Vec<_> = docs.flatten().map(|entry| entry.path()).collect();
    documents.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    documents.push(root.join("README.md"));
    documents.sort();
    documents
}

/// The `telechir` commands in a document's blocks for a terminal.
fn commands(document: &Path) -> Vec<String> {
    let text = fs::read_to_string(document).expect("a document");
    let mut commands: Vec<String> = Vec::new();
    let (mut language, mut is_open) = (None, false);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("```") {
            language = language.is_none().then_some(name);
            is_open = false;
            continue;
        }
        if !matches!(language, Some("" | "sh")) {
            continue;
        }
        match commands
            .last_mut()
            .filter(|_| is_open || line.trim_start().starts_with("| "))
        {
            Some(command) => write!(command, "\n{line}").expect("a line"),
            None => commands.push(line.strip_prefix("$ ").unwrap_or(line).to_owned()),
        }
        let command = commands.last().expect("a command");
        is_open = command.ends_with('\\') || command.matches('\'').count() % 2 == 1;
    }
    let is_ours =
        |command: &String| command.starts_with("telechir ") || command.contains("\n  | telechir ");
    let ours = commands.iter().filter(|command| is_ours(command));
    ours.map(|command| without_placeholders(command)).collect()
}

/// A command with values in place of their names, and without the parts that are optional and the
/// comment.
fn without_placeholders(command: &str) -> String {
    let mut rest = command.split("  #").next().unwrap_or_default();
    let mut plain = String::new();
    while let Some((before, optional)) = rest.split_once(" [") {
        plain += before;
        rest = optional.split_once(']').expect("a bracket").1;
    }
    plain += rest.trim_end();
    let words = plain.split_inclusive([' ', '\n']).map(|word| {
        let value = VALUES.iter().find(|(name, _)| word.trim_end() == *name);
        value.map_or_else(
            || word.to_owned(),
            |(name, value)| word.replace(name, value),
        )
    });
    let mut typed: String = words.collect();
    // The default port may be in use.
    if typed.starts_with("telechir serve ") {
        typed += " --listen 127.0.0.1:0";
    }
    typed
}

/// A response of a model with a call, in the form of a dialect.
fn response(dialect: &str) -> Value {
    match dialect {
        "openai-responses" => json!({
            "id": "resp_1", "object": "response", "status": "completed", "model": "gpt-5.6-sol",
            "output": [{
                "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "lookup",
                "arguments": "{}", "status": "completed",
            }],
        }),
        _ => json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
            "content": [{
                "type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "true"},
            }],
            "stop_reason": "tool_use", "stop_sequence": null,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }),
    }
}

/// A stream of Anthropic's with one text.
const STREAM: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":1}}

event: message_stop
data: {"type":"message_stop"}

"#;

/// A person's home and the folder in which commands are typed.
struct Terminal {
    telechir: Telechir,
    folder: PathBuf,
}

impl Terminal {
    fn new() -> Self {
        let telechir = Telechir::new();
        let folder = telechir.folder().join("work");
        for name in ["work/invoices", "notes", "project", "run", "tmp"] {
            fs::create_dir_all(telechir.folder().join(name)).expect("a folder");
        }
        // Of a folder that others can open, no session would be in it.
        let private = fs::Permissions::from_mode(0o700);
        fs::set_permissions(telechir.folder().join("run"), private).expect("permissions");
        let terminal = Self { telechir, folder };
        // Sessions that are here are closed at the end.
        let mut sessions = terminal.command("telechir sessions list --json");
        assert_eq!(Ran::of(&mut sessions, "").json(), json!([]));
        let turn = response("anthropic-messages").to_string();
        for (name, text) in [
            ("first.json", turn.as_str()),
            ("second.json", &turn),
            ("history.json", r#"[{"role": "user", "content": "hello"}]"#),
            (
                "request.json",
                r#"{"model": "gpt-5.6-sol", "input": "hello"}"#,
            ),
            ("response.sse", STREAM),
            ("my-policy.toml", include_str!("permissive.toml")),
            ("policy.toml", include_str!("permissive.toml")),
            ("server.toml", "listen = \"127.0.0.1:0\"\nshell = true\n"),
            ("recordings/response__turn.json", &turn),
        ] {
            let path = terminal.folder.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let vectors = crates.join("telechir-providers/tests/vectors/anthropic");
        for (target, name) in [(crates, "crates"), (vectors, "my-vectors")] {
            symlink(target, terminal.folder.join(name)).expect("a link");
        }
        for command in [
            "telechir exec --dialect anthropic-messages --shell --record recording < first.json",
            "telechir tokens new agent",
            "mkdir ~/recordings && cp -r recording ~/recordings/work",
        ] {
            let ran = Ran::of(&mut terminal.command(command), "");
            assert_eq!(ran.code, Some(0), "{ran:?}");
        }
        terminal
    }

    fn command(&self, command: &str) -> Command {
        let binary = Path::new(env!("CARGO_BIN_EXE_telechir"));
        let folder = binary.parent().expect("a folder").display();
        let home = self.telechir.folder();
        let mut bash = Command::new("/bin/bash");
        bash.args(["-c", command])
            .current_dir(&self.folder)
            .env_clear()
            .env("PATH", format!("{folder}:/usr/bin:/bin"))
            .env("HOME", home)
            .env("TMPDIR", home.join("tmp"))
            .env("XDG_RUNTIME_DIR", home.join("run"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        bash
    }

    /// Types a command. Returns what is wrong with it.
    fn typed(&self, command: &str) -> Option<String> {
        if let Some((_, rest)) = command.split_once("--dialect ") {
            let dialect = rest.split_whitespace().next().unwrap_or_default();
            let turn = response(dialect).to_string();
            fs::write(self.folder.join("response.json"), turn).expect("a file");
        }
        let (code, message) = match exception(command) {
            Some(NotTyped(_)) => return None,
            Some(Serves(message)) => return self.served(command, message),
            Some(Fails(code, message)) => (code, message),
            None => (0, ""),
        };
        let ran = Ran::of(&mut self.command(command), "");
        let is_expected = ran.code == Some(code) && ran.stderr.contains(message);
        (!is_expected).then(|| format!("{ran:?}"))
    }

    /// Types a command that runs until it is stopped.
    fn served(&self, command: &str, message: &str) -> Option<String> {
        let mut bash = self.command(&format!("exec {command} 2>&1"));
        let mut child = bash.stdin(Stdio::null()).spawn().expect("it starts");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut text = String::new();
        while !text.contains(message) && output.read_line(&mut text).expect("text") > 0 {}
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let stopped = kill_process(pid.expect("a process"), Signal::TERM);
        child.wait().expect("its end");
        (stopped.is_err() || !text.contains(message)).then_some(text)
    }

    fn close_sessions(&self) {
        let sessions = Ran::of(&mut self.command("telechir sessions list --json"), "").json();
        for session in sessions.as_array().expect("a list") {
            let name = session["name"].as_str().expect("a name");
            let ran = Ran::of(
                &mut self.command(&format!("telechir sessions close {name}")),
                "",
            );
            assert_eq!(ran.code, Some(0), "{ran:?}");
        }
        assert_eventually_blocking!(self.telechir.processes(), |left| left.is_empty());
    }
}

fn exception(command: &str) -> Option<Expected> {
    let is_it = |(beginning, expected): &&(&str, Expected)| match expected {
        // `telechir view` is the beginning of others.
        Serves(_) if !beginning.starts_with("telechir serve") => command == *beginning,
        Fails(..) | Serves(_) | NotTyped(_) => command.starts_with(beginning),
    };
    EXCEPTIONS.iter().find(is_it).map(|(_, expected)| *expected)
}

/// Types the commands of some documents, each document in a home of its own.
fn type_commands(is_chosen: impl Fn(&str) -> bool) {
    require(Component::Sandbox);
    require(Component::Chromium);
    for document in documents() {
        let name = document.file_name().expect("a name").to_string_lossy();
        let commands = commands(&document);
        if commands.is_empty() || !is_chosen(&name) {
            continue;
        }
        let terminal = Terminal::new();
        for command in commands {
            let problem = terminal.typed(&command);
            assert_eq!(problem, None, "{name}: {command}");
        }
        terminal.close_sessions();
    }
}

#[test]
fn the_commands_of_the_readme_work() {
    type_commands(|name| name == "README.md");
}

#[test]
fn the_commands_of_the_documents_before_d_work() {
    type_commands(|name| name < "d" && name != "README.md");
}

#[test]
fn the_commands_of_the_documents_from_d_to_l_work() {
    type_commands(|name| ("d".."m").contains(&name));
}

#[test]
fn the_commands_of_the_documents_from_m_work() {
    type_commands(|name| name >= "m");
}

#[test]
fn few_commands_are_not_typed_and_every_exception_is_a_command() {
    let all: Vec<_> = documents().iter().flat_map(|path| commands(path)).collect();
    assert!(all.len() > 60, "{} commands", all.len());
    let needed = all.iter().filter_map(|command| match exception(command) {
        Some(NotTyped(what)) => Some((what, command)),
        Some(Fails(..) | Serves(_)) | None => None,
    });
    let not_typed: Vec<_> = needed.collect();
    assert!(not_typed.len() <= MAX_NOT_TYPED, "{not_typed:?}");
    for (beginning, _) in EXCEPTIONS {
        let is_used = all.iter().any(|command| command.starts_with(beginning));
        assert!(is_used, "no document has {beginning}");
    }
}
