//! Mistakes at the command line, each with its exit code and its complete message. The messages are
//! in a file, to be read as a person would: what was expected, what was found, what to do.

use std::fs;

use telechir_testkit::assert_eventually_blocking;

use crate::sessions::SessionFixture;
use crate::telechir::Ran;

/// Commands, each behind `$ `, with its exit code and its message.
const MISTAKES: &str = include_str!("mistakes.txt");

/// Policies with one mistake each.
const POLICIES: [(&str, &str); 4] = [
    (
        "typo.toml",
        "[[shell]]\nwords = ['ls']\nverdikt = 'deny'\nreason = 'x'\n",
    ),
    (
        "value.toml",
        "[[url]]\nhost = ['a.example']\nport = '443'\nverdict = 'deny'\nreason = 'x'\n",
    ),
    (
        "chord.toml",
        "[[keys]]\nchords = ['ctrl+Entr']\nverdict = 'deny'\nreason = 'x'\n",
    ),
    (
        "verdict.toml",
        "[[edit]]\npaths = ['src/**']\nreason = 'x'\n",
    ),
];

/// Words of a command line; those in single quotes may contain spaces.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('\'') {
            Some(quoted) => quoted.split_once('\'').expect("a closing quote"),
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        words.push(word);
        rest = after.trim_start();
    }
    words
}

/// The exit code and the message of one command.
fn message(fixture: &SessionFixture, line: &str) -> String {
    let (line, input) = line.split_once(" < ").unwrap_or((line, ""));
    let mut command = fixture.command(&words(line));
    command.current_dir(fixture.telechir.folder());
    let ran = Ran::of(&mut command, input);
    assert_eq!(ran.stdout, "", "{line}");
    let folder = fixture.telechir.folder().to_string_lossy().into_owned();
    let code = ran.code.expect("an exit code");
    format!(
        "exit code {code}\n{}",
        ran.stderr.replace(&folder, "FOLDER")
    )
}

#[test]
fn every_mistake_has_its_message() {
    let fixture = SessionFixture::new();
    for (name, text) in POLICIES {
        fs::write(fixture.file(name), text).expect("a policy");
    }
    let mut actual = String::new();
    let mut count = 0;
    for line in MISTAKES.lines().filter_map(|line| line.strip_prefix("$ ")) {
        count += 1;
        actual.push_str(&format!("$ {line}\n{}\n", message(&fixture, line)));
    }
    assert!(count >= 60, "{count} mistakes");
    // What was printed: to be read, and then to replace the file.
    let printed = concat!(env!("CARGO_TARGET_TMPDIR"), "/mistakes.txt");
    fs::write(printed, &actual).expect("a file");
    assert!(
        actual == MISTAKES,
        "the messages differ from those in mistakes.txt; compare with {printed}"
    );
    assert_eventually_blocking!(fixture.nothing_left(), "no mistake starts anything");
}

#[test]
fn no_help_text_is_wider_than_eighty_columns() {
    let fixture = SessionFixture::new();
    let help = |arguments: &[&str]| Ran::of(&mut fixture.command(arguments), "").stdout;
    let all = help(&["--help"]);
    let commands = all
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"));
    let names = commands.skip(1).take_while(|line| !line.is_empty());
    let names: Vec<&str> = names
        // Others continue the text of a command.
        .filter_map(|line| {
            line.strip_prefix("  ")
                .filter(|rest| !rest.starts_with(' '))
        })
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(names.contains(&"do") && names.contains(&"exec"), "{all}");
    for name in names {
        let text = help(&[name, "--help"]);
        assert!(text.contains("Usage: telechir"), "{name}: {text}");
        // Examples may be longer: a command that is broken cannot be copied.
        let own = text.split("Examples:").next().unwrap_or_default();
        let wide = own.lines().find(|line| line.chars().count() > 80);
        assert_eq!(wide, None, "{name}");
    }
    let exec = help(&["exec", "--help"]);
    for heading in [
        "Devices:",
        "Desktop:",
        "Browser:",
        "Shell:",
        "Policy and recording:",
    ] {
        assert!(exec.contains(heading), "{heading} is not in {exec}");
    }
}

#[test]
fn completions_and_manual_pages_are_generated() {
    let fixture = SessionFixture::new();
    let generated = |arguments: &[&str]| {
        let ran = Ran::of(&mut fixture.command(arguments), "");
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.stdout
    };
    for shell in ["bash", "zsh", "fish"] {
        let text = generated(&["generate", "completions", shell]);
        assert!(
            text.contains("--approval-timeout") || text.contains("approval-timeout"),
            "{shell}"
        );
    }
    assert!(generated(&["generate", "man"]).contains(".TH telechir 1"));
    let page = generated(&["generate", "man", "exec"]);
    assert!(
        page.contains("telechir\\-exec") && page.contains("\\-\\-dialect"),
        "{page}"
    );
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let fixture = SessionFixture::new();
    let response = r#"{"type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"}"#;
    let mut decode = fixture.command(&["decode", "--dialect", "anthropic-messages"]);
    let ran = Ran::of(&mut decode, &format!("\u{feff}{response}"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_reader_that_closes_the_output_ends_the_command_silently() {
    let fixture = SessionFixture::new();
    let mut command = fixture.command(&["generate", "man"]);
    let mut child = command.spawn().expect("it starts");
    // Closed before anything can be written.
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(141));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
