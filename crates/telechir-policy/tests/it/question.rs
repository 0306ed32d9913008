//! Questions: bound to one exact call, rendered from the proposal, decided once.

use serde_json::json;
use telechir_policy::{Decision, Digest, Judge, Judgement, PendingApproval, Policy, ShellProposal};

use crate::screen;
use crate::shell::{SANDBOX, proposal};

fn pending(command: &str) -> PendingApproval<ShellProposal> {
    match Judge::new(Policy::default_policy()).shell(proposal(&[command]), &SANDBOX) {
        Judgement::Ask(pending) => pending,
        Judgement::Allowed(_) | Judgement::Denied(..) => panic!("no question"),
    }
}

#[test]
fn a_yes_holds_for_the_very_call_only() {
    let other = pending("rm b").question().approve();
    let denial = pending("rm a").resolve(other).unwrap_err();
    assert_eq!(
        denial.reason,
        "The approval was for another proposal, so it is not valid."
    );
    let approval = pending("rm a");
    let yes = approval.question().approve();
    assert!(approval.resolve(yes).is_ok());
}

#[test]
fn the_call_id_is_part_of_what_is_approved() {
    let mut again = proposal(&["rm a"]);
    again.call_id = "call_2".into();
    let Judgement::Ask(again) = Judge::new(Policy::default_policy()).shell(again, &SANDBOX) else {
        panic!("no question")
    };
    assert!(again.resolve(pending("rm a").question().approve()).is_err());
}

#[test]
fn a_denial_has_a_reason() {
    let no = Decision::Deny {
        reason: "not today".to_owned(),
    };
    assert_eq!(pending("rm a").resolve(no).unwrap_err().reason, "not today");
    let made_up = Decision::Approve {
        digest: Digest::of_json(&json!("rm a")),
        trusts_content: false,
    };
    assert!(pending("rm a").resolve(made_up).is_err());
}

#[test]
fn hidden_characters_and_blanks_are_shown() {
    let approval = pending("ls\u{1b}[2K\u{202e}");
    let question = approval.question();
    assert_eq!(question.lines, ["$ ls\\u{1b}[2K\\u{202e}"]);
    assert!(question.has_hidden_characters);
    let padded = format!("ls{}; rm -rf x", " ".repeat(400));
    assert_eq!(
        pending(&padded).question().lines,
        ["$ ls⟨400 blanks⟩; rm -rf x"]
    );
}

#[test]
fn letters_that_only_look_alike_are_pointed_out() {
    let approval = pending("\u{441}url x");
    let reasons = approval.question().reasons.join(" ");
    assert!(reasons.contains("similar-looking"), "{reasons}");
}

#[test]
fn a_call_id_cannot_disguise_itself() {
    let mut odd = proposal(&["rm a"]);
    odd.call_id = "x\u{1b}[2K\nApproved".into();
    let Judgement::Ask(odd) = Judge::new(Policy::default_policy()).shell(odd, &SANDBOX) else {
        panic!("no question")
    };
    assert_eq!(odd.question().call_id.as_str(), "x\\u{1b}[2K\\nApproved");
}

#[test]
fn every_step_of_a_batch_is_shown() {
    let steps = [
        json!({ "action": "type", "text": "hi" }),
        json!({ "action": "javascript", "script": "fetch('/')" }),
    ];
    let approval = screen::proposal(&steps);
    let Judgement::Ask(pending) =
        Judge::new(Policy::default_policy()).screen(approval, &screen::facts())
    else {
        panic!("no question")
    };
    let question = pending.question();
    assert_eq!(question.lines.len(), 2);
    assert!(question.lines[0].contains("hi") && question.lines[1].contains("fetch('/')"));
    assert_eq!(question.reasons, ["It runs a script in the page."]);
}

/// The reasons for asking about a command under these rules.
fn reasons(rules: &str, commands: &[&str]) -> Vec<String> {
    let policy = Policy::from_toml(rules, "p.toml").unwrap();
    match Judge::new(policy).shell(proposal(commands), &SANDBOX) {
        Judgement::Ask(pending) => pending.question().reasons.clone(),
        Judgement::Allowed(_) | Judgement::Denied(..) => panic!("no question"),
    }
}

#[test]
fn a_rule_that_only_might_apply_is_not_stated_as_a_fact() {
    let rules = "
        [[shell]]
        name = 'no pushes'
        words = ['git', 'push']
        verdict = 'deny'
        reason = 'It publishes.'

        [[shell]]
        words = ['sort']
        options = ['--output']
        verdict = 'ask'
        reason = 'It writes a file.'
    ";
    for (command, reason) in [
        (
            "echo $HOME",
            "Its effect cannot be determined in advance: it expands something. The rule \"no pushes\" \
             might apply: It publishes.",
        ),
        (
            "env git push",
            "env with these words may do something else than they tell. The rule \"no pushes\" might \
             apply: It publishes.",
        ),
        (
            "sort --outp=x f",
            "sort with these words may do something else than they tell. The rule \"shell rule at \
             p.toml:8\" might apply: It writes a file.",
        ),
        ("sort --output=x f", "It writes a file."),
    ] {
        assert_eq!(reasons(rules, &[command])[0], reason, "{command}");
    }
    let tainted = reasons(rules, &["alias ls=x", "ls"]);
    let reason = "An earlier command may have changed the meaning of ls; restarting the shell resets \
                  that. The rule \"no pushes\" might apply: It publishes.";
    assert!(tainted.iter().any(|other| other == reason), "{tainted:?}");
}

#[test]
fn a_window_that_only_might_receive_input_is_not_stated_as_a_fact() {
    let rules = "
        [[computer]]
        windows = ['code']
        verdict = 'deny'
        reason = 'The editor has a terminal.'
    ";
    let policy = Policy::from_toml(rules, "p.toml").unwrap();
    let mut approval = screen::proposal(&[json!({"action": "type", "text": "x"})]);
    approval.device = telechir_policy::Device::Desktop;
    let facts = telechir_policy::ScreenFacts {
        windows: telechir_policy::ScreenWindows::Unknown,
        ..screen::facts()
    };
    let Judgement::Ask(pending) = Judge::new(policy).screen(approval, &facts) else {
        panic!("no question")
    };
    let reason = "Which window receives its input is uncertain. The rule \"computer rule at p.toml:2\" \
                  might apply: The editor has a terminal.";
    assert_eq!(pending.question().reasons, [reason]);
}

#[test]
fn a_denial_names_the_rule_that_denied() {
    for (name, shown) in [
        ("name = 'no pushes'", "no pushes"),
        ("", "shell rule at p.toml:1"),
    ] {
        let rules = format!("[[shell]]\nwords = ['git']\nverdict = 'deny'\nreason = 'No.'\n{name}");
        let policy = Policy::from_toml(&rules, "p.toml").unwrap();
        let judged = Judge::new(policy).shell(proposal(&["git push"]), &SANDBOX);
        let Judgement::Denied(_, denial) = judged else {
            panic!("{judged:?}")
        };
        assert_eq!(denial.to_string(), format!("No. (policy: {shown})"));
    }
    let denial = pending("rm a").deny("Not today.");
    assert_eq!(denial.to_string(), "Not today.");
}

/// A permit holds for what it was given for: a later judgement may find nothing new.
#[test]
fn a_permit_holds_until_a_later_judgement_finds_something_new() {
    let judged = |rules: &str, commands: &[&str]| {
        let policy = Policy::from_toml(rules, "p.toml").unwrap();
        Judge::new(policy).shell(proposal(commands), &SANDBOX)
    };
    let request = "[[shell]]\nwords = ['make']\nverdict = 'ask'\nreason = 'It builds.'\n";
    let Judgement::Ask(pending) = judged(request, &["make"]) else {
        panic!("no question")
    };
    let digest = pending.question().digest;
    let permit = pending.approve(digest).unwrap();
    assert_eq!(permit.still_permits(&judged(request, &["make"])), Ok(()));
    assert_eq!(permit.still_permits(&judged("", &["ls"])), Ok(()));
    let other = request.replace("It builds.", "It publishes.");
    assert_eq!(
        permit.still_permits(&judged(&other, &["make"])),
        Err("It publishes.".to_owned())
    );
    let denies = "[[shell]]\nname = 'no builds'\nverdict = 'deny'\nreason = 'Not now.'\n";
    assert_eq!(
        permit.still_permits(&judged(denies, &["make"])),
        Err("Not now. (policy: no builds)".to_owned())
    );
}
