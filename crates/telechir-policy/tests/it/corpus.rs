//! A labelled corpus: nothing that acts runs unasked, and little that only looks is asked about.
//!
//! Beside it stands a judge of the usual sort, which looks for words in the text. Its table is in
//! `docs/shell-reading.md`; this test keeps that true.

use std::fs;
use std::path::Path;

use telechir_policy::{Judge, Policy, ShellFacts, Verdict};

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

/// In the sandbox with a workspace that somebody named.
fn telechir_needs_approval(command: &str) -> bool {
    needs_approval(command, &SANDBOX)
}

fn needs_approval(command: &str, facts: &ShellFacts) -> bool {
    let judgement = Judge::new(Policy::default_policy()).shell(proposal(&[command]), facts);
    verdict(&judgement) != Verdict::Allow
}

/// Words and places whose appearance anywhere counts as dangerous, after descriptions of judges
/// that search the text of a command.
fn contains_listed_words(command: &str) -> bool {
    const WORDS: [&str; 22] = [
        "rm", "rmdir", "del", "erase", "format", "mkfs", "dd", "shutdown", "reboot", "halt",
        "kill", "killall", "pkill", "fdisk", "shred", "truncate", "chown", "sudo", "passwd",
        "drop", "iptables", "crontab",
    ];
    const SCHEMES: [&str; 6] = [
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
        || SCHEMES
            .iter()
            .any(|target_suffix| command.contains(target_suffix))
}

#[derive(Default)]
struct Score {
    acts_with_approval: usize,
    acts: usize,
    reads_with_approval: usize,
    looks: usize,
}

impl Score {
    fn of(needs_approval: fn(&str) -> bool) -> Self {
        let mut score = Self::default();
        for case in cases() {
            let approval = usize::from(needs_approval(&case.command));
            if case.acts {
                score.acts += 1;
                score.acts_with_approval += approval;
            } else {
                score.looks += 1;
                score.reads_with_approval += approval;
            }
        }
        score
    }

    fn row(&self, name: &str) -> String {
        let percent =
            |part: usize, all: usize| format!("{:.1} %", 100.0 * part as f64 / all as f64);
        format!(
            "| {name} | {} | {} | {} of {} | {} of {} |",
            percent(
                self.acts_with_approval,
                self.acts_with_approval + self.reads_with_approval
            ),
            percent(self.acts_with_approval, self.acts),
            self.acts - self.acts_with_approval,
            self.acts,
            self.reads_with_approval,
            self.looks,
        )
    }
}

#[test]
fn nothing_that_acts_runs_unasked() {
    let run: Vec<String> = cases()
        .into_iter()
        .filter(|case| case.acts && !telechir_needs_approval(&case.command))
        .map(|case| case.command)
        .collect();
    assert!(run.is_empty(), "{run:#?}");
}

#[test]
fn nothing_at_all_runs_unasked_on_the_host() {
    let host = ShellFacts {
        is_sandboxed: false,
        ..SANDBOX
    };
    let run: Vec<String> = cases()
        .into_iter()
        .map(|case| case.command)
        .filter(|command| !needs_approval(command, &host))
        .collect();
    assert!(run.is_empty(), "{run:#?}");
}

/// After an approved command that changed the shell, no word has its old meaning.
#[test]
fn nothing_runs_unasked_in_a_changed_shell() {
    let changed = ShellFacts {
        is_tainted: true,
        ..SANDBOX
    };
    let run: Vec<String> = cases()
        .into_iter()
        .map(|case| case.command)
        .filter(|command| !needs_approval(command, &changed))
        .collect();
    assert!(run.is_empty(), "{run:#?}");
}

#[test]
fn read_only_commands_rarely_need_approval() {
    let approval: Vec<String> = cases()
        .into_iter()
        .filter(|case| !case.acts && telechir_needs_approval(&case.command))
        .map(|case| case.command)
        .collect();
    let looks = cases().iter().filter(|case| !case.acts).count();
    assert!(
        approval.len() * 20 <= looks,
        "{} of {looks}: {approval:#?}",
        approval.len()
    );
}

#[test]
fn the_corpus_is_large_and_its_table_is_true() {
    assert!(cases().len() >= 1_224, "{}", cases().len());
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/shell-reading.md");
    let page = fs::read_to_string(page).unwrap();
    let rows = [
        Score::of(telechir_needs_approval).row("telechir, default policy"),
        Score::of(contains_listed_words).row("words in the text"),
    ];
    for row in rows {
        assert!(
            page.contains(&row),
            "docs/shell-reading.md lacks the row\n{row}"
        );
    }
}
