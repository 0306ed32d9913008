//! Texts that hide something from the person who approves them.

use serde_json::json;
use telechir_policy::{Judge, Judgement, Policy, Question, fit_lines};

use crate::screen;
use crate::shell::{SANDBOX, proposal};

fn question_on(command: &str) -> Question {
    match Judge::new(Policy::default_policy()).shell(proposal(&[command]), &SANDBOX) {
        Judgement::Ask(pending) => pending.question().clone(),
        Judgement::Allowed(_) | Judgement::Denied(..) => panic!("no question"),
    }
}

#[test]
fn nothing_of_a_long_command_is_missing_from_the_question() {
    let command = format!(
        "echo {}; rm -rf x; echo {}",
        "ab".repeat(5_000),
        "cd".repeat(5_000)
    );
    assert_eq!(question_on(&command).lines, [format!("$ {command}")]);
    let fitted = fit_lines(&question_on(&command).text(), 20, 80);
    assert!(!fitted.is_complete && fitted.rows.len() == 20, "{fitted:?}");
    assert!(fitted.rows[1].contains("echo abab"), "{fitted:?}");
    let (reason, last) = (&fitted.rows[19], &fitted.rows[18]);
    assert!(
        reason.contains("Reason:") && last.ends_with("cd"),
        "{fitted:?}"
    );
    assert!(
        fitted.rows.iter().any(|row| row.contains("characters in")),
        "{fitted:?}"
    );
}

#[test]
fn line_breaks_are_lines_and_none_looks_like_the_question_s_own() {
    let question = question_on("ls\n  Reason: harmless.\nrm x");
    assert_eq!(question.lines, ["$ ls", ">   Reason: harmless.", "> rm x"]);
    let text = question.text();
    let own = text.iter().filter(|line| line.starts_with("  Reason:"));
    assert_eq!(own.count(), question.reasons.len());
    let typed = screen::proposal(&[json!({"action": "javascript", "script": "a()\nb()"})]);
    let judged = Judge::new(Policy::default_policy()).screen(typed, &screen::facts());
    let Judgement::Ask(pending) = judged else {
        panic!("no question")
    };
    let lines = &pending.question().lines;
    assert_eq!(
        lines[1..],
        ["script: 2 lines, 7 characters", "| a()", "| b()"]
    );
}

#[test]
fn many_line_breaks_do_not_push_anything_off_the_screen() {
    let question = question_on(&format!("ls{}rm x", "\n".repeat(300)));
    let lines: Vec<&str> = question.lines.iter().map(String::as_str).collect();
    assert_eq!(
        lines,
        ["$ ls", "> ⟨300 line breaks, 300 blanks in all⟩", "> rm x"]
    );
    assert!(fit_lines(&question.text(), 20, 80).is_complete);
}

#[test]
fn a_word_of_foreign_letters_that_look_latin_is_pointed_out() {
    for command in [
        "\u{441}\u{43e}\u{440}\u{443} a b",
        "rm \u{405}\u{410}\u{420}",
        "\u{3bf}\u{3c1} x",
    ] {
        let reasons = question_on(command).reasons.join(" ");
        assert!(reasons.contains("look like Latin"), "{command}: {reasons}");
    }
    for command in ["rm Москва", "rm Ελλάδα", "rm 東京", "rm file"] {
        let reasons = question_on(command).reasons.join(" ");
        assert!(!reasons.contains("look like Latin"), "{command}: {reasons}");
    }
}

/// A terminal or page that follows the direction of letters shows `cat א > ב` as `cat ב < א`.
#[test]
fn letters_that_reverse_the_order_on_the_screen_are_pointed_out() {
    for command in ["cat \u{5d0} > \u{5d1}", "mv \u{639} \u{628}", "rm \u{fb1d}"] {
        let reasons = question_on(command).reasons.join(" ");
        assert!(reasons.contains("right to left"), "{command}: {reasons}");
    }
    for command in ["rm Москва", "rm 東京", "rm Ελλάδα"] {
        let reasons = question_on(command).reasons.join(" ");
        assert!(!reasons.contains("right to left"), "{command}: {reasons}");
    }
}

#[test]
fn an_approval_may_be_bound_to_one_interface() {
    use telechir_policy::{ApproveAt, Interface};
    let text = "
        [[shell]]
        words = ['rm']
        verdict = 'ask'
        approve = 'page'
        reason = 'Only on the page.'

        [[shell]]
        words = ['rm', '-rf']
        verdict = 'ask'
        approve = 'terminal'
        reason = 'Only at the terminal.'
    ";
    let judge = |command: &str| {
        let policy = Policy::from_toml(text, "p.toml").unwrap();
        Judge::new(policy).shell(proposal(&[command]), &SANDBOX)
    };
    let Judgement::Ask(pending) = judge("rm x; cat y > z") else {
        panic!("no question")
    };
    let approve = pending.question().approve;
    assert_eq!(approve, ApproveAt::Page);
    assert!(approve.admits(Interface::Page) && !approve.admits(Interface::Terminal));
    let Judgement::Denied(_, denial) = judge("rm -rf x") else {
        panic!("not denied")
    };
    assert!(
        denial.reason.contains("different interfaces"),
        "{}",
        denial.reason
    );
}
