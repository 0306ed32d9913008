//! A person at a terminal is asked, and only a clear yes is one.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use telechir_testkit::gate::{Part, require};

use crate::telechir::Telechir;

/// Runs a call that has to be asked about, with `answer` typed once the question is shown.
/// Returns what the terminal showed and the reply.
fn ask(command: &str, answer: &str) -> (String, Value) {
    require(Part::Sandbox);
    let telechir = Telechir::new();
    let response = json!({
        "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use",
        "content": [{"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": command}}],
    });
    fs::write(telechir.folder().join("in.json"), response.to_string()).expect("the input");
    let line = format!(
        "{} exec --dialect anthropic-messages --shell < in.json > out.json",
        env!("CARGO_BIN_EXE_telechir")
    );
    // `script` gives the run a terminal of its own, whose keyboard is our pipe.
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
    let mut shown = Vec::new();
    let mut byte = [0];
    while !String::from_utf8_lossy(&shown).contains("[y/N]") {
        let read = screen.read(&mut byte).expect("the terminal");
        assert!(
            read > 0,
            "it ended without a question: {}",
            String::from_utf8_lossy(&shown)
        );
        shown.extend_from_slice(&byte);
    }
    keyboard.write_all(answer.as_bytes()).expect("typed");
    screen.read_to_end(&mut shown).expect("the terminal");
    assert!(
        script.wait().expect("script ends").success(),
        "{}",
        String::from_utf8_lossy(&shown)
    );
    telechir.assert_nothing_left();
    let reply = fs::read_to_string(telechir.folder().join("out.json")).expect("a reply");
    (
        String::from_utf8_lossy(&shown).into_owned(),
        serde_json::from_str(&reply).expect("JSON"),
    )
}

#[test]
fn a_yes_runs_it() {
    let (shown, reply) = ask("echo $((40 + 2)) > made; cat made", "y\n");
    assert!(
        shown.contains("echo $((40 + 2)) > made; cat made"),
        "{shown}"
    );
    assert!(reply[0]["content"].to_string().contains("42"), "{reply}");
    assert_ne!(reply[0]["is_error"], true);
}

#[test]
fn anything_else_is_a_no() {
    for answer in ["n\n", "\n", "yess\n", "\u{4}"] {
        let (_, reply) = ask("touch made", answer);
        assert_eq!(reply[0]["is_error"], true, "{answer:?}: {reply}");
    }
}

#[test]
fn what_is_shown_hides_nothing() {
    let (shown, reply) = ask("touch a\u{1b}[2K\u{1b}[1Gls\u{202e}b", "n\n");
    assert!(shown.contains(r"\u{1b}[2K"), "{shown}");
    assert!(
        !shown.contains("\u{1b}[2K") && !shown.contains('\u{202e}'),
        "{shown:?}"
    );
    assert_eq!(reply[0]["is_error"], true);
}
