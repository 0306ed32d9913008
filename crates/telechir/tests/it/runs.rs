//! `run` with a model over HTTP: what goes to stdout, to the model and into the recording, and how a
//! killed run continues.

mod in_session;
pub(crate) mod model;
mod report;
mod resume;
mod view;

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use crate::telechir::{Ran, Telechir};
use model::{Model, bash, message, responses, text_and_bash};

const KEY: (&str, &str) = ("ANTHROPIC_API_KEY", "sk-ant-0123456789");

/// The command of a run with a shell, with its policy.
fn command(telechir: &Telechir, model: &Model, more: &[&str]) -> Command {
    let (policy, base_url) = (telechir.permissive_policy(), model.base_url());
    let mut arguments = vec![
        "run",
        "--shell",
        "--policy",
        &policy,
        "--base-url",
        &base_url,
    ];
    arguments.extend(more);
    let mut command = telechir.command(&arguments);
    command.env(KEY.0, KEY.1).stdin(Stdio::piped());
    command
}

/// A new task.
fn task(telechir: &Telechir, model: &Model, more: &[&str]) -> Ran {
    let mut arguments = vec![
        "List it.",
        "--provider",
        "anthropic",
        "--model",
        "claude-opus-5-5",
    ];
    arguments.extend(more);
    let ran = Ran::of(&mut command(telechir, model, &arguments), "");
    telechir.assert_nothing_left();
    ran
}

/// A model that runs one command and then says what it printed.
fn one_command() -> Model {
    Model::start(|request| match responses(request) {
        0 => bash("t1", "echo seven-owls"),
        _ => message("There are seven owls."),
    })
}

fn lines(text: &str) -> Vec<Value> {
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a JSON line"))
        .collect()
}

#[test]
fn the_last_message_alone_is_on_stdout() {
    require(Component::Sandbox);
    let (telechir, model) = (Telechir::new(), one_command());
    let ran = task(&telechir, &model, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.stdout, "There are seven owls.\n");
    assert!(ran.stderr.contains("echo seven-owls"), "{}", ran.stderr);
}

#[test]
fn json_prints_every_event_as_a_line() {
    require(Component::Sandbox);
    let (telechir, model) = (Telechir::new(), one_command());
    let ran = task(&telechir, &model, &["--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let lines = lines(&ran.stdout);
    let names: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["event"].as_str())
        .collect();
    assert_eq!(names.len(), lines.len(), "{names:?}");
    for name in [
        "task_started",
        "action_finished",
        "assistant_message",
        "task_ended",
    ] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    assert_eq!(names.last(), Some(&"session_closed"));
    let end = lines.iter().find(|line| line["event"] == "task_ended");
    let end = end.expect("the end");
    assert_eq!(
        (&end["reason"], &end["text"], &end["steps"]),
        (&json!("done"), &json!("There are seven owls."), &json!(1))
    );
}

#[test]
fn ctrl_c_ends_a_run_whose_events_nobody_reads() {
    require(Component::Sandbox);
    let telechir = Telechir::new();
    // More than a pipe holds.
    let words = "word\n".repeat(40_000);
    let command_line = "echo > mark; sleep 1000";
    let model = Model::start(move |_| text_and_bash(&words, "t1", command_line));
    let workspace = telechir.folder().join("place");
    fs::create_dir(&workspace).expect("a workspace");
    let workspace_flag = workspace.to_string_lossy();
    let model_flags = ["--provider", "anthropic", "--model", "claude-opus-5-5"];
    let mut flags = vec!["Wait.", "--json", "--workspace", &workspace_flag];
    flags.extend(model_flags);
    let mut child = command(&telechir, &model, &flags)
        .spawn()
        .expect("the binary starts");
    assert_eventually_blocking!(workspace.join("mark").exists(), "the command starts");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    let ended = assert_eventually_blocking!(
        child.try_wait().expect("a status"),
        |status| status.is_some(),
        "the run ends"
    );
    assert_eq!(ended.and_then(|status| status.code()), Some(130));
    telechir.assert_nothing_left();
}

#[test]
fn ctrl_c_names_the_command_with_its_duration_and_the_task_has_an_end() {
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let model = Model::start(|_| bash("t1", "sleep 1.2; echo > mark; sleep 1000"));
    let workspace = telechir.folder().join("place");
    fs::create_dir(&workspace).expect("a workspace");
    let workspace_flag = workspace.to_string_lossy();
    let model_flags = ["--provider", "anthropic", "--model", "claude-opus-5-5"];
    let mut flags = vec!["Wait.", "--json", "--workspace", &workspace_flag];
    flags.extend(model_flags);
    let child = command(&telechir, &model, &flags)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    assert_eventually_blocking!(workspace.join("mark").exists(), "the command goes on");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    let events = lines(&String::from_utf8_lossy(&output.stdout));
    let named = |name: &str| events.iter().find(|line| line["event"] == name);
    let action = named("action_finished").expect("the end of the action");
    assert!(action["ms"].as_u64() > Some(1000), "{action}");
    let task = named("task_ended").expect("the end of the task");
    assert_eq!(task["reason"], "cancelled");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let seconds = action["ms"].as_u64().unwrap_or_default() / 1000;
    let stopped = format!("stopped by a signal after {seconds}.");
    assert!(stderr.contains(&stopped), "{stderr}");
    telechir.assert_nothing_left();
}

#[test]
fn at_the_step_limit_the_model_gets_no_further_request() {
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let model = Model::start(|request| bash(&format!("t{}", responses(request)), "true"));
    let ran = task(&telechir, &model, &["--max-steps", "2"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(1), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("--max-steps"), "{}", ran.stderr);
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn the_system_instructions_describe_the_session_and_can_be_replaced() {
    require(Component::Sandbox);
    let (telechir, model) = (Telechir::new(), Model::start(|_| message("Done.")));
    let workspace = telechir.folder().join("place");
    fs::create_dir(&workspace).expect("a workspace");
    let file = telechir.folder().join("own.txt");
    fs::write(&file, "Answer in verse.\n").expect("a file");
    let (workspace, file) = (workspace.to_string_lossy(), file.to_string_lossy());
    task(&telechir, &model, &["--workspace", &workspace]);
    task(&telechir, &model, &["--system", &file]);
    task(&telechir, &model, &["--system-append", &file]);
    let system = |at: usize| {
        let requests = model.requests();
        requests[at]["system"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let own = system(0);
    for stated in [&*workspace, "Shell", "in a sandbox", "refusal is final"] {
        assert!(own.contains(stated), "{stated} in {own}");
    }
    // It has neither a desktop nor a browser.
    for other in ["Desktop", "Browser", "open_app", "element"] {
        assert!(!own.contains(other), "{other} in {own}");
    }
    assert_eq!(system(1), "Answer in verse.");
    let both = system(2);
    assert!(
        both.contains("refusal is final") && both.ends_with("Answer in verse."),
        "{both}"
    );
}

#[test]
fn mistakes_are_one_clear_message() {
    let telechir = Telechir::new();
    let run = |more: &[&str], variables: &[(&str, &str)]| {
        let mut arguments = vec!["run", "--shell"];
        arguments.extend(more);
        Ran::of(
            telechir.command(&arguments).envs(variables.iter().copied()),
            "",
        )
    };
    let anthropic = ["--provider", "anthropic", "--model", "claude-opus-5-5"];
    let with = |first: &[&'static str], rest: &[&'static str]| [first, rest].concat();
    run(&with(&["  "], &anthropic), &[KEY]).fails(2, &["the task is empty"]);
    let unnamed = ["Do it.", "--provider", "anthropic", "--model", " "];
    run(&unnamed, &[KEY]).fails(2, &["--model is empty"]);
    let google = [
        "Do it.",
        "--provider",
        "google",
        "--model",
        "gemini-3.8-flash",
    ];
    let keys = [("GEMINI_API_KEY", "one-key"), ("GOOGLE_API_KEY", "other")];
    run(&google, &keys).fails(2, &["GEMINI_API_KEY and GOOGLE_API_KEY", "unset one"]);
    for (given, expected) in [
        ("nonsense", "not a valid URL"),
        ("http://[", "not a valid URL"),
    ] {
        let variables = [KEY, ("ANTHROPIC_BASE_URL", given)];
        let ran = run(&with(&["Do it."], &anthropic), &variables);
        ran.fails(2, &["ANTHROPIC_BASE_URL", given, expected]);
    }
    let missing = with(&["Do it.", "--system", "missing.txt"], &anthropic);
    run(&missing, &[KEY]).fails(2, &["--system", "missing.txt"]);
    let resume = ["--record", "nowhere", "--resume", "r1"];
    run(&resume, &[KEY]).fails(1, &["nowhere", "not found"]);
}

#[test]
fn an_unknown_model_is_named() {
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let model = Model::start(|_| {
        let error = json!({"type": "not_found_error", "message": "model: claude-opus-5-5"});
        (404, json!({"type": "error", "error": error}))
    });
    let ran = task(&telechir, &model, &[]);
    assert_eq!((ran.code, &*ran.stdout), (Some(1), ""), "{}", ran.stderr);
    let last = ran.stderr.lines().last().unwrap_or_default();
    assert!(
        last.contains("check --model claude-opus-5-5 and the base URL (--base-url)"),
        "{last}"
    );
}
