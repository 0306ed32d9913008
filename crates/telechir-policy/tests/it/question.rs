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
