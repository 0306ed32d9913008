//! Commands that do more than their first words say.

use telechir_policy::{Judge, Policy, ShellFacts, ShellReach, Tainting, Verdict};
use telechir_protocol::Command;

use crate::shell::{SANDBOX, judge};

fn policy(text: &str) -> Policy {
    Policy::from_toml(text, "p.toml").unwrap()
}

/// The rule of the README.
const README: &str = include_str!("../../../../../README.md");

fn shipped_rule() -> Policy {
    let start = README.find("[[shell]]").unwrap();
    let end = start + README[start..].find("```").unwrap();
    policy(&README[start..end])
}

#[test]
fn a_builtin_that_runs_commands_in_the_shell_taints_it() {
    let rule = policy("[[shell]]\nwords = ['jobs']\nverdict = 'sandbox'\nreason = 'Only a list.'");
    for change in [
        "jobs -x eval 'alias ls=pwn'",
        "jobs -x . ./f",
        "jobs -lx eval x",
        "compgen -C pwn",
        "complete -C pwn ls",
        "compopt -o default ls",
        "mapfile -C pwn -c 1 a",
        "readarray -C pwn a",
        "fc -s",
        "history -s 'alias ls=pwn'",
        "history -r f",
        "unset -f ls",
        "trap pwn DEBUG",
        "enable -n ls",
        "hash -p /x ls",
        "bind -x x",
        "wait -p PATH",
        "printf -v PATH x",
        "read PATH",
        "getopts a PATH",
        "command -p eval x",
        "builtin eval x",
    ] {
        let command = Command::Line(change.to_owned());
        assert_eq!(Judge::tainting(&command), Tainting::Tainted, "{change}");
        assert_ne!(
            judge(&rule, &[change, "ls"], &SANDBOX),
            Verdict::Allow,
            "{change}"
        );
    }
    let list = Command::Line("jobs -l".to_owned());
    assert_eq!(Judge::tainting(&list), Tainting::Clean);
}

#[test]
fn the_readme_s_rule_lets_no_option_write_or_run_anything() {
    let shipped = shipped_rule();
    assert_eq!(judge(&shipped, &["git status"], &SANDBOX), Verdict::Allow);
    for attack in [
        "git diff --no-index --output=/w/x a b",
        "git diff --no-index --output /w/x a b",
        "git diff --output=x",
        "git diff --out=x",
        "git log --output=x",
        "git log -p --ext-diff",
        "git diff --ext-diff",
        "git log --textconv -p",
        "git -c core.fsmonitor=pwn status",
        "git -C /elsewhere status",
        "git --git-dir=/w/evil status",
        "git --exec-path=/w log",
        "git -p log",
        "git diff -O/x",
        "git diff -- --output=x",
        "git status > x",
        "git log +x",
    ] {
        assert_eq!(
            judge(&shipped, &[attack], &SANDBOX),
            Verdict::Ask,
            "{attack}"
        );
    }
}

#[test]
fn a_denied_subcommand_is_found_behind_options() {
    let rules = policy(
        "
        [[shell]]
        words = ['git']
        verdict = 'sandbox'
        reason = 'Work on the code.'

        [[shell]]
        words = ['git', ['push', 'fetch']]
        verdict = 'deny'
        reason = 'Not to the network.'
        ",
    );
    for (command, wanted) in [
        ("git log", Verdict::Allow),
        ("git push", Verdict::Deny),
        ("/usr/bin/git push", Verdict::Deny),
        ("git -C . push", Verdict::Ask),
        ("git -c a=b push", Verdict::Ask),
        ("git --no-pager push", Verdict::Ask),
        ("git -p -C x fetch origin", Verdict::Ask),
        ("/usr/bin/git -C . push", Verdict::Ask),
        ("git log push", Verdict::Allow),
    ] {
        assert_eq!(judge(&rules, &[command], &SANDBOX), wanted, "{command}");
    }
}

#[test]
fn a_stopped_option_is_found_in_every_spelling() {
    let rules = policy(
        "
        [[shell]]
        words = ['sort']
        verdict = 'sandbox'
        reason = 'It sorts.'

        [[shell]]
        words = ['sort']
        options = ['-o', '--output', '--compress-program']
        verdict = 'deny'
        reason = 'They write files and run programs.'
        examples.match = ['sort -o f f', 'sort --output=f f']
        examples.not_match = ['sort f']
        ",
    );
    assert_eq!(judge(&rules, &["sort -rn f"], &SANDBOX), Verdict::Allow);
    for (command, wanted) in [
        ("sort f -o f", Verdict::Deny),
        ("sort --output=f f", Verdict::Deny),
        ("sort --outp f f", Verdict::Ask),
        ("sort --comp=pwn f", Verdict::Ask),
        ("sort -ro f f", Verdict::Ask),
        ("sort -of f", Verdict::Ask),
    ] {
        assert_eq!(judge(&rules, &[command], &SANDBOX), wanted, "{command}");
    }
}

#[test]
fn a_shell_that_reaches_nothing_of_anybody_runs_unasked_and_only_that() {
    let private = ShellFacts {
        reach: ShellReach::Nothing,
        ..SANDBOX
    };
    let default = Policy::default_policy();
    for command in ["rm -rf x", "echo $(date) > f", "make", "eval x"] {
        assert_eq!(
            judge(&default, &[command], &private),
            Verdict::Allow,
            "{command}"
        );
        assert_eq!(
            judge(&default, &[command], &SANDBOX),
            Verdict::Ask,
            "{command}"
        );
        let host = ShellFacts {
            is_sandboxed: false,
            ..private.clone()
        };
        assert_eq!(
            judge(&default, &[command], &host),
            Verdict::Ask,
            "{command}"
        );
    }
    let requests = policy("[[shell]]\ndefault = 'ask'\nreason = 'A person watches.'");
    assert_eq!(judge(&requests, &["rm x"], &private), Verdict::Ask);
    let denies = policy("[[shell]]\nwords = ['rm']\nverdict = 'deny'\nreason = 'Keep all.'");
    assert_eq!(judge(&denies, &["rm x"], &private), Verdict::Deny);
    assert_eq!(judge(&denies, &["$x"], &private), Verdict::Ask);
    assert_eq!(judge(&denies, &["make"], &private), Verdict::Allow);
    let long = "x".repeat(2 << 20);
    assert_eq!(judge(&default, &[&long], &private), Verdict::Deny);
}

#[test]
fn a_known_long_option_does_not_hide_an_unknown_one_behind_it() {
    let policy = Policy::default_policy();
    for (line, wanted) in [
        ("grep --color=never -n x f", Verdict::Allow),
        ("grep --color=never -f list f", Verdict::Ask),
        ("grep --color=never --file=list f", Verdict::Ask),
        ("grep -- -f f", Verdict::Allow),
        ("date --utc -s 0", Verdict::Ask),
    ] {
        assert_eq!(judge(&policy, &[line], &SANDBOX), wanted, "{line}");
    }
}
