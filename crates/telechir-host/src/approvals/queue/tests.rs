//! Which answers count, for which question, and for how long.

use std::time::Duration;

use proptest::prelude::*;
use telechir_policy::{
    ApproveAt, ContainedParts, Digest, Judge, Judgement, Policy, ShellFacts, ShellProposal,
    ShellReach, ShellTask,
};
use telechir_protocol::{Command, SafetyCheck, SafetySource};

use super::*;

pub(crate) fn question(call: &str, command: &str) -> Question {
    let digest = |text: &str| Digest::of_json(&text.into());
    Question {
        call_id: call.into(),
        digest: digest(&format!("{call} {command}")),
        action: Some(digest(command)),
        shape: Some(ApprovalShape {
            parts: vec![command.to_owned()],
            reasons: vec!["It writes.".to_owned()],
        }),
        contained: contained(command),
        lines: vec![format!("$ {command}")],
        reasons: vec!["It writes.".to_owned()],
        has_hidden_characters: false,
        approve: ApproveAt::Any,
        untrusted_source: None,
        safety_checks: Vec::new(),
        min_answer_ms: 0,
    }
}

/// The parts of a command line, as the judge finds them.
pub(crate) fn contained(line: &str) -> ContainedParts {
    let proposal = ShellProposal {
        call_id: "c".into(),
        task: ShellTask::Run(vec![Command::Line(line.to_owned())]),
        cwd: None,
        env: serde_json::Map::new(),
    };
    let facts = ShellFacts {
        is_sandboxed: false,
        is_tainted: false,
        reach: ShellReach::Something,
        is_untrusted: false,
        now: Duration::ZERO,
    };
    match Judge::new(Policy::default_policy()).shell(proposal, &facts) {
        Judgement::Ask(pending) => pending.question().contained.clone(),
        Judgement::Allowed(_) | Judgement::Denied(..) => panic!("no question: {line}"),
    }
}

fn code(text: &str) -> ApprovalCode {
    text.parse().unwrap()
}

fn yes(question: &Question) -> GivenAnswer {
    GivenAnswer {
        decision: question.approve(),
        interface: Interface::Terminal,
        way: AnswerWay::Command,
        by: "process 7".to_owned(),
        scope: AnswerScope::Once,
    }
}

fn no(question: &Question) -> GivenAnswer {
    GivenAnswer {
        decision: Decision::Deny {
            reason: "Not today.".to_owned(),
        },
        ..yes(question)
    }
}

const OPEN: Duration = Duration::from_secs(300);

/// A queue with one question, at a moment.
fn opened(question: &Question) -> (Queue, ApprovalCode, Instant) {
    let (mut queue, code, now) = (Queue::default(), code("222222"), Instant::now());
    queue.ask(code.clone(), question.clone(), now, OPEN);
    (queue, code, now)
}

/// Parks the question and answers it.
fn answered_late(question: &Question, given: GivenAnswer) -> (Queue, Instant) {
    let (mut queue, code, now) = opened(question);
    assert!(queue.park(&code));
    let settled = queue.answer(&code, given, now).unwrap();
    assert!(matches!(settled, Settled::Retained(_)));
    (queue, now)
}

#[test]
fn the_first_answer_wins_and_is_recorded_with_its_origin() {
    let question = question("c1", "rm a");
    let (mut queue, code, now) = opened(&question);
    let later = now + Duration::from_millis(1_500);
    let settled = queue.answer(&code, yes(&question), later).unwrap();
    let origin = AnswerOrigin {
        way: AnswerWay::Command,
        by: "process 7".to_owned(),
        after_ms: 1_500,
    };
    let answer = Answer {
        decision: question.approve(),
        origin: Some(origin),
    };
    assert_eq!(settled, Settled::Waiting(answer));
    let second = queue.answer(&code, no(&question), later).unwrap_err();
    assert_eq!(
        second.to_string(),
        "the question is already settled: approved by telechir approve or deny (process 7), after \
         1500 ms"
    );
    assert_eq!(queue.open(later).count(), 0);
}

#[test]
fn an_unknown_code_is_named_as_such() {
    let question = question("c1", "rm a");
    let (mut queue, _, now) = opened(&question);
    let refusal = queue.answer(&code("333333"), yes(&question), now);
    assert_eq!(refusal, Err(AnswerRefusal::Unknown));
}

#[test]
fn an_approval_counts_for_the_question_that_was_shown() {
    let (mut queue, code, now) = opened(&question("c1", "rm a"));
    let other = yes(&question("c1", "rm b"));
    let refusal = queue.answer(&code, other, now);
    assert_eq!(refusal, Err(AnswerRefusal::OtherQuestion));
    assert_eq!(queue.open(now).count(), 1, "it is still open");
}

#[test]
fn a_rule_decides_where_an_approval_counts() {
    use ApproveAt::{Any, Nowhere, Page, Terminal};
    for (approve, interface, counts) in [
        (Any, Interface::Other, true),
        (Terminal, Interface::Terminal, true),
        (Terminal, Interface::Other, false),
        (Page, Interface::Page, true),
        (Page, Interface::Terminal, false),
        (Nowhere, Interface::Terminal, false),
    ] {
        let question = Question {
            approve,
            ..question("c1", "rm a")
        };
        let (mut queue, code, now) = opened(&question);
        let given = GivenAnswer {
            interface,
            ..yes(&question)
        };
        let settled = queue.answer(&code, given, now);
        assert_eq!(settled.is_ok(), counts, "{approve:?} {interface:?}");
        if !counts {
            let text = settled.unwrap_err().to_string();
            assert!(text.contains(&approve.to_string()), "{text}");
            let denial = GivenAnswer {
                interface,
                ..no(&question)
            };
            assert!(queue.answer(&code, denial, now).is_ok(), "a no counts");
        }
    }
}

#[test]
fn a_yes_before_the_minimum_time_does_not_count() {
    let question = Question {
        min_answer_ms: 300,
        ..question("c1", "rm a")
    };
    let at = |ms| Duration::from_millis(ms);
    let (mut queue, code, now) = opened(&question);
    let refusal = queue.answer(&code, yes(&question), now + at(299));
    assert_eq!(refusal, Err(AnswerRefusal::TooFast(299, 300)));
    assert!(queue.answer(&code, yes(&question), now + at(300)).is_ok());
    let (mut queue, code, now) = opened(&question);
    assert!(queue.answer(&code, no(&question), now + at(2)).is_ok());
}

#[test]
fn a_question_expires() {
    let question = question("c1", "rm a");
    let (mut queue, code, now) = opened(&question);
    let almost = now + OPEN - Duration::from_millis(1);
    assert!(queue.find(&code, almost).is_some());
    let refusal = queue.answer(&code, yes(&question), now + OPEN).unwrap_err();
    let text = refusal.to_string();
    assert!(text.contains("nobody answered in time"), "{text}");
}

#[test]
fn a_withdrawn_question_takes_no_answer() {
    let question = question("c1", "rm a");
    let (mut queue, code, now) = opened(&question);
    queue.withdraw(&code);
    let refusal = queue.answer(&code, yes(&question), now).unwrap_err();
    assert!(refusal.to_string().contains("ended before"), "{refusal}");
    assert!(!queue.park(&code));
}

#[test]
fn a_late_yes_counts_once_for_the_same_action() {
    let first = question("c1", "rm a");
    let (mut queue, now) = answered_late(&first, yes(&first));
    let again = question("c2", "rm a");
    let answer = queue.earlier_answer(&again, now).unwrap();
    assert_eq!(answer.decision, again.approve(), "of this call");
    assert_eq!(answer.origin.unwrap().way, AnswerWay::Command);
    assert_eq!(queue.earlier_answer(&question("c3", "rm a"), now), None);
}

#[test]
fn a_late_no_is_reported_to_the_next_call() {
    let first = question("c1", "rm a");
    let (mut queue, now) = answered_late(&first, no(&first));
    let answer = queue.earlier_answer(&question("c2", "rm a"), now);
    assert_eq!(answer.unwrap().decision, no(&first).decision);
    assert_eq!(queue.earlier_answer(&question("c3", "rm a"), now), None);
}

#[test]
fn an_answer_in_time_is_no_late_one() {
    let first = question("c1", "rm a");
    let (mut queue, code, now) = opened(&first);
    queue.answer(&code, yes(&first), now).unwrap();
    assert_eq!(queue.earlier_answer(&question("c2", "rm a"), now), None);
}

#[test]
fn a_late_yes_counts_for_ten_minutes() {
    let first = question("c1", "rm a");
    let again = question("c2", "rm a");
    let (mut queue, now) = answered_late(&first, yes(&first));
    assert_eq!(queue.earlier_answer(&again, now + RETENTION), None);
    let (mut queue, now) = answered_late(&first, yes(&first));
    let almost = now + RETENTION - Duration::from_millis(1);
    assert!(queue.earlier_answer(&again, almost).is_some());
}

#[test]
fn any_change_is_a_new_question() {
    let check = |id: &str, message: &str| SafetyCheck {
        id: id.to_owned(),
        code: Some("c".to_owned()),
        message: Some(message.to_owned()),
        source: SafetySource::Openai,
    };
    let first = Question {
        safety_checks: vec![check("s1", "m")],
        ..question("c1", "rm a")
    };
    let same = Question {
        safety_checks: vec![check("s2", "m")],
        ..question("c2", "rm a")
    };
    let digest = |text: &str| Some(Digest::of_json(&text.into()));
    let changed = [
        Question {
            action: digest("rm b"),
            ..same.clone()
        },
        Question {
            action: None,
            ..same.clone()
        },
        Question {
            lines: vec!["$ rm b".to_owned()],
            ..same.clone()
        },
        Question {
            reasons: vec!["Another.".to_owned()],
            ..same.clone()
        },
        Question {
            approve: ApproveAt::Terminal,
            ..same.clone()
        },
        Question {
            untrusted_source: Some("a page".to_owned()),
            ..same.clone()
        },
        Question {
            safety_checks: vec![check("s1", "other")],
            ..same.clone()
        },
    ];
    let (mut queue, now) = answered_late(&first, yes(&first));
    for other in changed {
        assert_eq!(queue.earlier_answer(&other, now), None, "{other:?}");
    }
    assert!(queue.earlier_answer(&same, now).is_some());
    let hidden = Question {
        action: None,
        ..first
    };
    let (mut queue, now) = answered_late(&hidden, yes(&hidden));
    assert_eq!(queue.earlier_answer(&hidden, now), None, "hidden input");
}

#[test]
fn an_approval_for_the_session_covers_its_shape_until_it_is_revoked() {
    let first = question("c1", "make");
    let (mut queue, code, now) = opened(&first);
    let given = GivenAnswer {
        scope: AnswerScope::Session,
        ..yes(&first)
    };
    queue.answer(&code, given, now).unwrap();
    let remembered = queue.remembered().to_vec();
    assert_eq!(remembered.len(), 1);
    for _ in 0..2 {
        let again = question("c2", "make");
        let answer = queue.earlier_answer(&again, now).unwrap();
        assert_eq!(answer.decision, again.approve());
        assert_eq!(answer.origin.unwrap().way, AnswerWay::Remembered);
    }
    assert_eq!(queue.earlier_answer(&question("c3", "make b"), now), None);
    assert!(!queue.revoke(remembered[0].number + 1));
    assert!(queue.revoke(remembered[0].number));
    assert_eq!(queue.earlier_answer(&question("c4", "make"), now), None);
}

#[test]
fn only_an_explicit_choice_is_remembered() {
    let first = question("c1", "make");
    let (mut queue, code, now) = opened(&first);
    queue.answer(&code, yes(&first), now).unwrap();
    assert!(queue.remembered().is_empty());
    let (mut queue, code, now) = opened(&first);
    let denial = GivenAnswer {
        scope: AnswerScope::Session,
        ..no(&first)
    };
    queue.answer(&code, denial, now).unwrap();
    assert!(queue.remembered().is_empty(), "a no is not remembered");
}

#[test]
fn a_question_with_a_ground_of_its_own_cannot_be_remembered_nor_covered() {
    let plain = question("c1", "make");
    let untrusted = Question {
        untrusted_source: Some("a page".to_owned()),
        ..plain.clone()
    };
    let remembers = |question: &Question| GivenAnswer {
        scope: AnswerScope::Session,
        ..yes(question)
    };
    let (mut queue, code, now) = opened(&untrusted);
    let refusal = queue.answer(&code, remembers(&untrusted), now);
    assert_eq!(refusal, Err(AnswerRefusal::OnceOnly));
    let (mut queue, code, now) = opened(&plain);
    queue.answer(&code, remembers(&plain), now).unwrap();
    assert_eq!(queue.earlier_answer(&untrusted, now), None);
}

#[test]
fn a_new_policy_ends_all_earlier_answers() {
    let first = question("c1", "make");
    let given = GivenAnswer {
        scope: AnswerScope::Session,
        ..yes(&first)
    };
    let (mut queue, now) = answered_late(&first, given);
    queue.revoke_all();
    assert_eq!(queue.earlier_answer(&question("c2", "make"), now), None);
}

#[test]
fn questions_whose_calls_have_ended_are_limited() {
    let (mut queue, now) = (Queue::default(), Instant::now());
    let codes: Vec<_> = (0..=MAX_PARKED)
        .map(|_| ApprovalCode::random().unwrap())
        .collect();
    for (at, code) in codes.iter().enumerate() {
        let question = question(&at.to_string(), "rm a");
        queue.ask(code.clone(), question, now, OPEN);
        queue.park(code);
    }
    assert_eq!(queue.open(now).count(), MAX_PARKED);
    assert!(queue.find(&codes[0], now).is_none(), "the oldest is gone");
    assert!(queue.find(&codes[1], now).is_some());
}

proptest! {
    /// Whatever happens in which order: each question gets at most one answer, and an approval is
    /// used at most once, by a call of its own action, within its time.
    #[test]
    fn every_approval_is_used_at_most_once(steps in proptest::collection::vec((0_u8..5, 0_usize..3, 0_u64..200), 1..60)) {
        let (mut queue, mut now) = (Queue::default(), Instant::now());
        let mut open: Vec<(ApprovalCode, Question, usize, bool)> = Vec::new();
        let mut given = [0_usize; 3];
        let mut used = [0_usize; 3];
        for (at, (step, command, seconds)) in steps.into_iter().enumerate() {
            now += Duration::from_secs(seconds);
            let repeated = question(&format!("c{at}"), &format!("rm {command}"));
            match step {
                0 => {
                    let code = ApprovalCode::random().unwrap();
                    queue.ask(code.clone(), repeated.clone(), now, OPEN);
                    open.push((code, repeated, command, false));
                }
                1 => if let Some(last) = open.last_mut() {
                    last.3 |= queue.park(&last.0);
                },
                2 => for (code, question, command, is_parked) in &open {
                    if queue.answer(code, yes(question), now).is_ok() && *is_parked {
                        given[*command] += 1;
                    }
                    prop_assert!(queue.answer(code, yes(question), now).is_err());
                },
                3 => if let Some((code, ..)) = open.last() {
                    queue.withdraw(code);
                },
                _ => if let Some(answer) = queue.earlier_answer(&repeated, now) {
                    prop_assert_eq!(answer.decision, repeated.approve());
                    used[command] += 1;
                },
            }
            for command in 0..3 {
                prop_assert!(used[command] <= given[command]);
            }
        }
    }
}
