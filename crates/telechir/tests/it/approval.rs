//! Approval prompts on a terminal: only an explicit yes approves.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use telechir_testkit::gate::{Component, require};

use crate::telechir::Telechir;

/// Runs a call that needs approval and types `answer` at the prompt. Returns the terminal's output
/// and the reply.
fn run_with_answer(command: &str, answer: &str) -> (String, Value) {
    run_with_answers(command, &[("[y/N]", answer)])
}

/// Types each answer once its prompt is on the screen. The workspace is a named one, so commands need
/// approval.
fn run_with_answers(command: &str, answers: &[(&str, &str)]) -> (String, Value) {
    run_all_with_answers(&[command], answers)
}

/// The same for a response with a call for each command.
fn run_all_with_answers(commands: &[&str], answers: &[(&str, &str)]) -> (String, Value) {
    require(Component::Sandbox);
    let telechir = Telechir::new();
    fs::create_dir(telechir.folder().join("work")).expect("the workspace");
    let calls = commands.iter().zip(1..).map(|(command, number)| {
        let id = format!("toolu_{number}");
        json!({"type": "tool_use", "id": id, "name": "bash", "input": {"command": command}})
    });
    let calls: Vec<_> = calls.collect();
    let response = json!({
        "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use",
        "content": calls,
    });
    fs::write(telechir.folder().join("in.json"), response.to_string()).expect("the input");
    let line = format!(
        "{} exec --dialect anthropic-messages --shell --workspace work < in.json > out.json",
        env!("CARGO_BIN_EXE_telechir")
    );
    // `script` gives the run its own terminal; our pipe is its keyboard.
    let mut script = Command::new("/usr/bin/script")
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .current_dir(telechir.folder())
        .env("TMPDIR", telechir.folder())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script runs");
    let mut keyboard = script.stdin.take().expect("a pipe");
    let mut screen = script.stdout.take().expect("a pipe");
    let (mut output, mut seen) = (Vec::new(), 0);
    let mut byte = [0];
    for (prompt, answer) in answers {
        while !String::from_utf8_lossy(&output[seen..]).contains(prompt) {
            let read = screen.read(&mut byte).expect("the terminal");
            assert!(
                read > 0,
                "the run ended without a prompt: {}",
                String::from_utf8_lossy(&output)
            );
            output.extend_from_slice(&byte);
        }
        seen = output.len();
        keyboard.write_all(answer.as_bytes()).expect("typed");
    }
    screen.read_to_end(&mut output).expect("the terminal");
    assert!(
        script.wait().expect("script ends").success(),
        "{}",
        String::from_utf8_lossy(&output)
    );
    telechir.assert_nothing_left();
    let reply = fs::read_to_string(telechir.folder().join("out.json")).expect("a reply");
    (
        String::from_utf8_lossy(&output).into_owned(),
        serde_json::from_str(&reply).expect("JSON"),
    )
}

#[test]
fn a_yes_executes_the_call() {
    let (output, reply) = run_with_answer("echo $((40 + 2)) > made; cat made", "y\n");
    assert!(
        output.contains("echo $((40 + 2)) > made; cat made"),
        "{output}"
    );
    assert!(reply[0]["content"].to_string().contains("42"), "{reply}");
    assert_ne!(reply[0]["is_error"], true);
}

#[test]
fn an_answer_for_the_session_counts_for_the_calls_of_its_shape_in_the_response() {
    let commands = ["touch made", "touch made", "touch made other"];
    let prompt = "[y/N]";
    let (output, reply) = run_all_with_answers(&commands, &[(prompt, "s\n"), (prompt, "n\n")]);
    let failed: Vec<_> = (0..3).map(|call| reply[call]["is_error"] == true).collect();
    assert_eq!(failed, [false, false, true], "{output}");
    assert_eq!(output.matches(prompt).count(), 2, "{output}");
}

#[test]
fn any_other_answer_denies_the_call() {
    for answer in ["n\n", "\n", "\u{4}"] {
        let (_, reply) = run_with_answer("touch made", answer);
        assert_eq!(reply[0]["is_error"], true, "{answer:?}: {reply}");
    }
}

#[test]
fn an_unclear_answer_is_requested_again() {
    let prompt = "[y/N]";
    for (second, is_error) in [("n\n", true), ("y\n", false)] {
        let answers = [(prompt, "yess\n"), (prompt, second)];
        let (output, reply) = run_with_answers("touch made", &answers);
        assert!(output.contains("Not answered"), "{output}");
        assert_eq!(reply[0]["is_error"] == true, is_error, "{reply}");
    }
}

#[test]
fn the_prompt_escapes_invisible_characters() {
    let (output, reply) = run_with_answer("touch a\u{1b}[2K\u{1b}[1Gls\u{202e}b", "n\n");
    assert!(output.contains(r"\u{1b}[2K"), "{output}");
    assert!(
        !output.contains("\u{1b}[2K") && !output.contains('\u{202e}'),
        "{output:?}"
    );
    assert_eq!(reply[0]["is_error"], true);
}

#[test]
fn a_command_that_does_not_fit_cannot_be_approved_before_all_of_it_was_shown() {
    let command = format!(
        "echo start\n{}touch made; echo end",
        "echo filler\n".repeat(40)
    );
    let unseen = "[v/N]";
    let (output, reply) = run_with_answers(&command, &[(unseen, "y\n"), (unseen, "n\n")]);
    assert!(output.contains("$ echo start"), "the beginning: {output}");
    assert!(output.contains("touch made; echo end"), "the end: {output}");
    assert!(output.contains("left out"), "{output}");
    assert!(output.contains("v shows all of it"), "{output}");
    assert_eq!(reply[0]["is_error"], true);
    let more = "Enter shows more";
    let opened = [
        (unseen, "v\n"),
        (more, "\n"),
        (more, "\n"),
        ("[y/N]", "y\n"),
    ];
    let (output, reply) = run_with_answers(&command, &opened);
    assert!(output.matches("echo filler").count() > 40, "{output}");
    assert!(reply[0]["content"].to_string().contains("end"), "{reply}");
    let (_, reply) = run_with_answers(
        &command,
        &[
            (unseen, "v\n"),
            (more, "q\n"),
            (unseen, "y\n"),
            (unseen, "n\n"),
        ],
    );
    assert_eq!(reply[0]["is_error"], true, "a part was never shown");
}
