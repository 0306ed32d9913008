//! Additional rules never make a verdict milder, except where a rule says so itself.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use telechir_policy::{
    ApproveAt, DisplayOwner, Judge, Judgement, NetworkClient, Policy, Remote, RentedCeiling,
    ResolvedAddress, ScreenFacts, ShippedPolicy, Verdict,
};

use crate::screen;
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

/// Conditions of an exception.
fn exception() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "{ words = ['ls'] }",
        "{ words = ['git', 'push'] }",
        "{ words = ['rm'] }",
        "{ words = ['echo'] }",
        "{ words = ['curl'] }",
        "{ shell = 'sandboxed' }",
        "{ shell = 'host' }",
        "{ redirection = true, words = ['ls'] }",
    ])
}

fn table_default() -> impl Strategy<Value = Verdict> {
    prop::sample::select(vec![Verdict::Ask, Verdict::Deny])
}

/// Rules, with or without a default of their table.
fn policy() -> impl Strategy<Value = Vec<String>> {
    let rules = prop::collection::vec(rule(), 0..4);
    (rules, prop::option::of(table_default())).prop_map(|(rules, default)| {
        let mut texts: Vec<String> = rules.into_iter().map(|(text, _)| text).collect();
        texts.extend(
            default.map(|default| format!("[[shell]]\ndefault = '{default}'\nreason = 'x'\n")),
        );
        texts
    })
}

/// The verdict without the table's default, and whether a rule decided it rather than the built-in
/// default.
fn by_rules(rules: &[String], command: &str) -> (Verdict, bool) {
    let policy = Policy::from_toml(&rules.concat(), "p.toml").unwrap();
    match Judge::new(policy).shell(proposal(&[command]), &SANDBOX) {
        Judgement::Allowed(permit) => (
            Verdict::Allow,
            !permit.rule_reason().rule.starts_with("default: "),
        ),
        Judgement::Ask(pending) => (
            Verdict::Ask,
            !pending.rule_reason().rule.starts_with("default: "),
        ),
        Judgement::Denied(_, denial) => (Verdict::Deny, !denial.rule.starts_with("default: ")),
    }
}

proptest! {
    /// It shrinks its own rule: where that rule alone decides nothing, nothing changes, and where it
    /// restricts, nothing gets stricter. Where it permits, others and the default decide again.
    #[test]
    fn an_exception_changes_its_own_rule_alone(rules in prop::collection::vec(rule(), 0..4), own in rule(), except in exception(), at in 0..COMMANDS.len()) {
        let (text, verdict) = own;
        let others: Vec<String> = rules.into_iter().map(|(text, _)| text).collect();
        let with = |own: String| [others.clone(), vec![own]].concat();
        let excepted = judge(&with(format!("{text}except = [{except}]\n")), COMMANDS[at]);
        let complete = judge(&with(text), COMMANDS[at]);
        let without = judge(&others, COMMANDS[at]);
        if verdict >= Verdict::Ask {
            prop_assert!(without <= excepted && excepted <= complete);
        } else {
            prop_assert!(excepted == complete || excepted == without, "{excepted} {complete} {without}");
        }
    }

    #[test]
    fn a_default_counts_only_where_no_rule_decides(rules in prop::collection::vec(rule(), 0..4), default in table_default(), at in 0..COMMANDS.len()) {
        let texts: Vec<String> = rules.into_iter().map(|(text, _)| text).collect();
        let closed = format!("[[shell]]\ndefault = '{default}'\nreason = 'x'\n");
        let closed = [texts.clone(), vec![closed]].concat();
        let (before, is_by_rule) = by_rules(&texts, COMMANDS[at]);
        let after = judge(&closed, COMMANDS[at]);
        // It never loosens, and changes nothing that certain rules decide.
        prop_assert!(after >= before);
        if is_by_rule && before < Verdict::Ask {
            prop_assert_eq!(after, before);
        }
        if texts.is_empty() {
            prop_assert_eq!(after, before.max(default));
        }
    }

    #[test]
    fn a_rule_that_denies_never_loosens(rules in prop::collection::vec(rule(), 0..4), default in prop::option::of(table_default()), denies in rule(), except in prop::option::of(exception()), at in 0..COMMANDS.len(), a in 0..COMMANDS.len()) {
        let mut texts: Vec<String> = rules.into_iter().map(|(text, _)| text).collect();
        if let Some(default) = default {
            texts.push(format!("[[shell]]\ndefault = '{default}'\nreason = 'x'\n"));
        }
        let line = format!("{}; {}", COMMANDS[at], COMMANDS[a]);
        let before = judge(&texts, &line);
        let (text, verdict) = denies;
        let denies = text.replace(&format!("verdict = '{verdict}'"), "verdict = 'deny'");
        let except = except.map(|except| format!("except = [{except}]\n"));
        texts.push(denies + &except.unwrap_or_default());
        prop_assert!(judge(&texts, &line) >= before);
    }

    /// Neither policy loosens the other, however both are written.
    #[test]
    fn two_policies_together_are_as_strict_as_the_stricter(one in policy(), other in policy(), at in 0..COMMANDS.len(), a in 0..COMMANDS.len()) {
        let line = format!("{}; {}", COMMANDS[at], COMMANDS[a]);
        let read = |rules: &[String]| Policy::from_toml(&rules.concat(), "p.toml").unwrap();
        let both = read(&one).tightened(&read(&other));
        let both = verdict(&Judge::new(both).shell(proposal(&[&line]), &SANDBOX));
        prop_assert_eq!(both, judge(&one, &line).max(judge(&other, &line)));
    }

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

#[test]
fn a_connection_needs_both_policies() {
    let rule = |host: &str| {
        format!("[[network]]\nhost = ['{host}']\nverdict = 'allow'\nreason = 'Needed.'\n")
    };
    let read = |text: &str| Policy::from_toml(text, "p.toml").unwrap();
    let wide = read(&rule("*"));
    let narrow = read(&rule("a.example"));
    let allows = |policy: &Policy, target: &str| {
        let remote = Remote::for_tunnel(target).unwrap();
        let found = [ResolvedAddress {
            address: "93.184.216.34".parse().unwrap(),
            is_this_machine: false,
        }];
        let mut gate = policy.gate(NetworkClient::Shell);
        let verdict = gate.judge(&remote, &found, Duration::ZERO).verdict;
        let is_allowed = verdict < Verdict::Ask;
        assert_eq!(
            gate.refusal_by_name(&remote).is_none(),
            is_allowed,
            "{target}"
        );
        is_allowed
    };
    for both in [
        wide.clone().tightened(&narrow),
        narrow.clone().tightened(&wide),
    ] {
        assert!(allows(&both, "a.example:443"));
        assert!(!allows(&both, "b.example:443"));
        assert!(both.gate(NetworkClient::Shell).is_open());
        assert!(
            !both
                .tightened(&Policy::default_policy())
                .gate(NetworkClient::Shell)
                .is_open()
        );
    }
    let closed = wide.tightened(&ShippedPolicy::Look.policy().unwrap());
    assert!(!closed.gate(NetworkClient::Shell).is_open());
}

#[test]
fn a_question_outside_of_the_sandbox_is_answered_where_its_rule_permits() {
    let rule = |display: &str, verdict: &str, approve: &str| {
        let text = format!(
            "[[computer]]\ndisplay = '{display}'\nverdict = '{verdict}'\napprove = '{approve}'\n\
             reason = 'x'\n"
        );
        Policy::from_toml(&text, "p.toml").unwrap()
    };
    let judge = |policy: Policy, display: DisplayOwner| {
        let facts = ScreenFacts {
            display,
            ..screen::facts()
        };
        let start = screen::proposal(&[json!({"action": "open_app", "name": "mousepad"})]);
        Judge::new(policy).screen(start, &facts)
    };
    let approve = |policy: Policy, display: DisplayOwner| {
        let Judgement::Ask(pending) = judge(policy, display) else {
            panic!("no question")
        };
        pending.question().approve
    };
    let server = rule("existing", "sandbox", "terminal");
    let empty = Policy::default_policy();
    let existing = DisplayOwner::Existing;
    for both in [server.clone().tightened(&empty), empty.tightened(&server)] {
        assert_eq!(approve(both, existing), ApproveAt::Terminal);
    }
    let page = rule("existing", "ask", "page");
    let neither = judge(server.tightened(&page), existing);
    assert_eq!(verdict(&neither), Verdict::Deny);
    // Where it does not ask, it does not say where.
    let both = rule("private", "sandbox", "terminal").tightened(&rule("private", "ask", "page"));
    assert_eq!(approve(both, DisplayOwner::Private), ApproveAt::Page);
}

#[test]
fn what_both_policies_have_beside_rules_is_joined() {
    let read = |text: &str| Policy::from_toml(text, "p.toml").unwrap();
    let trusting =
        read("[trusted]\nhost = ['a.example', 'b.example']\n[approval]\nmin_answer_ms = 9\n");
    let other = read("[trusted]\nhost = ['b.example']\n[approval]\nmin_answer_ms = 5\n");
    let both = trusting.clone().tightened(&other);
    assert_eq!(both.min_answer_ms(), 9);
    let rented = |text: &str| read(&format!("[rented]\n{text}"));
    let (one, other_one) = (
        rented("sessions = 2\nminutes = 90\n"),
        rented("sessions = 5\nminutes = 30\n"),
    );
    let ceiling = |sessions, minutes| RentedCeiling { sessions, minutes };
    let joined = |one: &Policy, other: &Policy| one.clone().tightened(other).rented();
    assert_eq!(joined(&one, &other_one), ceiling(Some(2), Some(30)));
    let sessions_only = rented("sessions = 1\n");
    assert_eq!(joined(&both, &sessions_only), ceiling(Some(1), None));
    assert_eq!(joined(&one, &sessions_only), ceiling(Some(1), Some(90)));
    assert_eq!(joined(&one, &both), ceiling(Some(2), Some(90)));
    assert_ne!(both.digest(), trusting.digest());
    assert_ne!(both.digest(), other.tightened(&trusting).digest());
    let judge = Judge::new(both);
    assert!(judge.trusts_page("https://b.example/"));
    assert!(!judge.trusts_page("https://a.example/"));
    // A limit counts in each of them by itself, whatever its rule is called.
    let limited = read(
        "[[shell]]\nname = 'few'\nwords = ['ls']\nverdict = 'sandbox'\nreason = 'x'\n\
         limit = { count = 2, then = 'deny' }\n",
    );
    let mut judge = Judge::new(limited.clone().tightened(&limited));
    let mut next = || verdict(&judge.shell(proposal(&["ls"]), &SANDBOX));
    assert_eq!(
        [next(), next(), next()],
        [Verdict::Allow, Verdict::Allow, Verdict::Deny]
    );
}
