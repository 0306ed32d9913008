//! A labelled corpus: nothing that acts runs unasked, and little that only looks is asked about.
//!
//! Beside it stands a judge of the usual sort, which looks for words in the text. Its table is in
//! `docs/shell-reading.md`; this test keeps that true.

use std::fs;
use std::path::Path;

use telechir_policy::{Judge, Policy, Verdict};

use super::shell::{SANDBOX, proposal, verdict};

const CORPUS: &str = include_str!("../corpus/commands.tsv");

struct Case {
    acts: bool,
    command: String,
}

fn cases() -> Vec<Case> {
    let lines = CORPUS.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (label, command) = line.split_once('\t').unwrap();
            assert!(["looks", "acts"].contains(&label), "{line}");
            Case {
                acts: label == "acts",
                command: serde_json::from_str(command).unwrap(),
            }
        })
        .collect()
}

fn we_ask(command: &str) -> bool {
    let judgement = Judge::new(Policy::default_policy()).shell(proposal(&[command]), &SANDBOX);
    verdict(&judgement) != Verdict::Allow
}

/// Words and places whose appearance anywhere counts as dangerous, after descriptions of judges
/// that search the text of a command.
fn words_are_found(command: &str) -> bool {
    const WORDS: [&str; 22] = [
        "rm", "rmdir", "del", "erase", "format", "mkfs", "dd", "shutdown", "reboot", "halt",
        "kill", "killall", "pkill", "fdisk", "shred", "truncate", "chown", "sudo", "passwd",
        "drop", "iptables", "crontab",
    ];
    const PLACES: [&str; 6] = [
        "/root",
        "/boot",
        "/etc/passwd",
        "/etc/shadow",
        "/dev/sd",
        "~/.ssh",
    ];
    let words = |text: &str| {
        text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .any(|word| WORDS.contains(&word))
    };
    command.trim().is_empty()
        || words(command)
        || PLACES.iter().any(|place| command.contains(place))
}

#[derive(Default)]
struct Score {
    asked_acts: usize,
    acts: usize,
    asked_looks: usize,
    looks: usize,
}

impl Score {
    fn of(asks: fn(&str) -> bool) -> Self {
        let mut score = Self::default();
        for case in cases() {
            let asked = usize::from(asks(&case.command));
            if case.acts {
                score.acts += 1;
                score.asked_acts += asked;
            } else {
                score.looks += 1;
                score.asked_looks += asked;
            }
        }
        score
    }

    fn row(&self, name: &str) -> String {
        let percent =
            |part: usize, whole: usize| format!("{:.1} %", 100.0 * part as f64 / whole as f64);
        format!(
            "| {name} | {} | {} | {} of {} | {} of {} |",
            percent(self.asked_acts, self.asked_acts + self.asked_looks),
            percent(self.asked_acts, self.acts),
            self.acts - self.asked_acts,
            self.acts,
            self.asked_looks,
            self.looks,
        )
    }
}

#[test]
fn nothing_that_acts_runs_unasked() {
    let run: Vec<String> = cases()
        .into_iter()
        .filter(|case| case.acts && !we_ask(&case.command))
        .map(|case| case.command)
        .collect();
    assert!(run.is_empty(), "{run:#?}");
}

#[test]
fn what_only_looks_is_seldom_asked_about() {
    let asked: Vec<String> = cases()
        .into_iter()
        .filter(|case| !case.acts && we_ask(&case.command))
        .map(|case| case.command)
        .collect();
    let looks = cases().iter().filter(|case| !case.acts).count();
    assert!(
        asked.len() * 20 <= looks,
        "{} of {looks}: {asked:#?}",
        asked.len()
    );
}

#[test]
fn the_corpus_is_large_and_its_table_is_true() {
    assert!(cases().len() >= 300, "{}", cases().len());
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/shell-reading.md");
    let page = fs::read_to_string(page).unwrap();
    let rows = [
        Score::of(we_ask).row("telechir, default policy"),
        Score::of(words_are_found).row("words in the text"),
    ];
    for row in rows {
        assert!(
            page.contains(&row),
            "docs/shell-reading.md lacks the row\n{row}"
        );
    }
}
