//! Everything that the reader calls certain is exactly what bash does.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::{Command as Process, Stdio};

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use telechir_policy::{CommandReading, read_command};
use telechir_protocol::Command;

/// No piece is the name of a builtin or program, so bash finds nothing to run and reports the
/// words.
const PIECES: [&str; 40] = [
    "pw", "wx", "n", "x9", "zz", " ", " ", " ", "\t", "\n", ";", "&&", "||", "|", "'", "\"", "\\",
    "\\\\", "\\ ", "\\'", "\\\"", "'a b'", "\"a b\"", "\"\\$x\"", "'$x'", "#", " # ", "$x", "=",
    "-", "--pw", "{a,b}", "*", "!", "~", "%", "+", "é", "\"\\n\"", "''",
];

/// Reads scripts that end in a zero byte and writes, for each, every list of words it would run,
/// with words and lists ended by control characters that no script contains.
const HARNESS: &str = r#"
    command_not_found_handle() { printf '%s\2' "$@"; printf '\3'; return $((RANDOM % 2)); }
    while IFS= read -r -d '' script; do
        ( eval "$script" ) 2>/dev/null >"$OUT" <<< ''
        cat_out=$(<"$OUT"); printf '%s\4' "$cat_out"
    done
"#;

fn scripts(count: usize) -> Vec<String> {
    let script = prop::collection::vec(prop::sample::select(PIECES.to_vec()), 1..14);
    let mut runner = TestRunner::default();
    (0..count)
        .map(|_| script.new_tree(&mut runner).unwrap().current().concat())
        .collect()
}

#[expect(clippy::disallowed_methods, reason = "bash is the reference")]
fn run_by_bash(folder: &Path, scripts: &[String]) -> Vec<HashSet<Vec<String>>> {
    let input = folder.join("scripts");
    fs::write(
        &input,
        scripts
            .iter()
            .map(|script| format!("{script}\0"))
            .collect::<String>(),
    )
    .unwrap();
    let output = Process::new("/bin/bash")
        .args(["--norc", "--noprofile", "-c", HARNESS])
        .env_clear()
        .env("PATH", "/nonexistent")
        .env("LC_ALL", "C.UTF-8")
        .env("OUT", folder.join("out"))
        .current_dir(folder)
        .stdin(fs::File::open(&input).unwrap())
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let words = |list: &str| list.split_terminator('\u{2}').map(str::to_owned).collect();
    let ran = |script: &str| script.split_terminator('\u{3}').map(words).collect();
    output.split_terminator('\u{4}').map(ran).collect()
}

#[test]
fn bash_runs_nothing_that_was_not_read() {
    let read = |script: String| match read_command(&Command::Line(script.clone())) {
        CommandReading::Known(commands) => Some((
            script,
            commands
                .into_iter()
                .map(|command| command.words)
                .collect::<HashSet<_>>(),
        )),
        CommandReading::Unknown(_) | CommandReading::TooLong => None,
    };
    let (scripts, read): (Vec<String>, Vec<_>) = scripts(6000).into_iter().filter_map(read).unzip();
    assert!(
        scripts.len() > 300,
        "only {} scripts were read",
        scripts.len()
    );
    let folder = tempfile::tempdir().unwrap();
    let ran = run_by_bash(folder.path(), &scripts);
    assert_eq!(ran.len(), scripts.len());
    let mut seen = 0;
    for ((script, read), ran) in scripts.iter().zip(&read).zip(&ran) {
        seen += ran.len();
        assert!(
            ran.is_subset(read),
            "{script:?}: read {read:?}, bash ran {ran:?}"
        );
    }
    assert!(seen > 300, "bash ran {seen} commands only");
}
