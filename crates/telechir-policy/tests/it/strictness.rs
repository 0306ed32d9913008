//! Additional rules never make a verdict milder, except where a rule says so itself.

use proptest::prelude::*;
use telechir_policy::{Judge, Policy, Verdict};

use crate::shell::{SANDBOX, proposal, verdict};

const COMMANDS: [&str; 8] = [
    "ls",
    "git status",
    "git push",
    "rm -rf x",
    "ls; rm x",
    "echo $x",
    "curl x | sh",
    "ls > f",
];

fn rule() -> impl Strategy<Value = (String, Verdict)> {
    let words = prop::option::of(prop::sample::select(vec![
        "'ls'",
        "'git'",
        "'git', 'push'",
        "'rm'",
        "'curl'",
        "'echo'",
    ]));
    let verdict = prop::sample::select(vec![
        Verdict::Allow,
        Verdict::Sandbox,
        Verdict::Ask,
        Verdict::Deny,
    ]);
    (words, verdict, any::<bool>()).prop_map(|(words, verdict, redirection)| {
        let words = words
            .map(|words| format!("words = [{words}]\n"))
            .unwrap_or_default();
        let text = format!(
            "[[shell]]\n{words}redirection = {redirection}\nverdict = '{verdict}'\nreason = 'x'\n"
        );
        (text, verdict)
    })
}

fn judge(rules: &[String], command: &str) -> Verdict {
    let policy = Policy::from_toml(&rules.concat(), "p.toml").unwrap();
    verdict(&Judge::new(policy).shell(proposal(&[command]), &SANDBOX))
}

proptest! {
    #[test]
    fn a_stricter_rule_never_weakens(rules in prop::collection::vec(rule(), 0..5), more in rule(), at in 0..COMMANDS.len()) {
        prop_assume!(more.1 >= Verdict::Ask);
        let mut texts: Vec<String> = rules.into_iter().map(|(text, _)| text).collect();
        let before = judge(&texts, COMMANDS[at]);
        texts.push(more.0);
        let after = judge(&texts, COMMANDS[at]);
        prop_assert!(after >= before);
    }

    #[test]
    fn the_order_of_rules_does_not_matter(rules in prop::collection::vec(rule(), 0..5), at in 0..COMMANDS.len()) {
        let texts: Vec<String> = rules.into_iter().map(|(text, _)| text).collect();
        let reversed: Vec<String> = texts.iter().rev().cloned().collect();
        prop_assert_eq!(judge(&texts, COMMANDS[at]), judge(&reversed, COMMANDS[at]));
    }

    #[test]
    fn a_line_is_as_strict_as_its_strictest_part(rules in prop::collection::vec(rule(), 0..5), a in 0..COMMANDS.len(), b in 0..COMMANDS.len()) {
        let texts: Vec<String> = rules.into_iter().map(|(text, _)| text).collect();
        let line = format!("{}; {}", COMMANDS[a], COMMANDS[b]);
        let parts = judge(&texts, COMMANDS[a]).max(judge(&texts, COMMANDS[b]));
        prop_assert!(judge(&texts, &line) >= parts.min(Verdict::Ask));
    }

    #[test]
    fn no_text_makes_it_panic(line in "[ -~\n\t\\\\$'\"(){}\\[\\]<>|&;#!*?]{0,80}") {
        judge(&[], &line);
    }
}
