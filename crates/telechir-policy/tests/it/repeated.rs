//! What questions about repeated calls have in common: the action's digest and its shape.

use serde_json::{Map, Value, json};
use telechir_policy::{
    ApprovalShape, DisplayOwner, Judge, Judgement, Policy, Proposal, Question, RequiredApprovals,
    ScreenFacts, ScreenProposal, ShellProposal, ShellTask,
};
use telechir_protocol::{SafetyCheck, SafetySource, ShellAction};

use crate::screen;
use crate::shell::{SANDBOX, proposal};

#[track_caller]
fn question_of<P: Proposal>(judgement: Judgement<P>) -> Question {
    match judgement {
        Judgement::Ask(pending) => pending.question().clone(),
        Judgement::Allowed(_) | Judgement::Denied(..) => panic!("no question"),
    }
}

fn on_command(proposal: ShellProposal) -> Question {
    question_of(Judge::new(Policy::default_policy()).shell(proposal, &SANDBOX))
}

fn on_screen(proposal: ScreenProposal) -> Question {
    let facts = ScreenFacts {
        display: DisplayOwner::Existing,
        ..screen::facts()
    };
    question_of(Judge::new(Policy::default_policy()).screen(proposal, &facts))
}

fn check(id: &str, code: &str) -> SafetyCheck {
    SafetyCheck {
        id: id.to_owned(),
        code: Some(code.to_owned()),
        message: None,
        source: SafetySource::Openai,
    }
}

#[test]
fn a_repeated_action_has_the_same_digest_under_another_id() {
    let again = ShellProposal {
        call_id: "call_2".into(),
        ..proposal(&["rm a"])
    };
    let (first, again) = (on_command(proposal(&["rm a"])), on_command(again));
    assert!(first.action.is_some());
    assert_eq!(first.action, again.action);
    assert_ne!(
        first.digest, again.digest,
        "an approval counts for one call"
    );
}

#[test]
fn any_change_of_the_action_is_another_digest() {
    let rm = || proposal(&["rm a"]);
    let mut env = Map::new();
    env.insert("A".to_owned(), Value::from("b"));
    let other_task = ShellTask::Start(vec![telechir_protocol::Command::Line("rm a".to_owned())]);
    let changed = [
        proposal(&["rm b"]),
        proposal(&["rm a", "rm a"]),
        ShellProposal {
            cwd: Some("/w".to_owned()),
            ..rm()
        },
        ShellProposal { env, ..rm() },
        ShellProposal {
            task: other_task,
            ..rm()
        },
    ];
    for other in changed {
        let label = format!("{other:?}");
        assert_ne!(on_command(rm()).action, on_command(other).action, "{label}");
    }
}

#[test]
fn checks_are_compared_by_what_they_are_about() {
    let click = |checks: &[SafetyCheck]| {
        let click = json!({"action": "click", "coordinate": [1, 2]});
        on_screen(ScreenProposal {
            safety_checks: checks.to_vec(),
            ..screen::proposal(&[click])
        })
    };
    let first = click(&[check("sc_1", "malicious")]);
    assert_eq!(first.action, click(&[check("sc_2", "malicious")]).action);
    assert_ne!(first.action, click(&[check("sc_1", "other")]).action);
    assert_ne!(first.action, click(&[]).action);
}

#[test]
fn hidden_input_has_no_digest_because_it_is_only_counted() {
    let send = |is_hidden| {
        let input = ShellAction::SendText("secret".to_owned());
        let task = ShellTask::Send {
            input,
            job: None,
            is_hidden,
        };
        on_command(ShellProposal {
            task,
            ..proposal(&[])
        })
    };
    assert_eq!(send(true).action, None);
    assert!(send(false).action.is_some());
}

#[test]
fn a_command_is_remembered_by_its_words() {
    let shape = |line: &str| on_command(proposal(&[line])).shape;
    let made = shape("make  'all' x").expect("a shape");
    assert_eq!(made.parts, ["make all x"]);
    assert_eq!(shape("make 'a b'").expect("a shape").parts, ["make 'a b'"]);
    assert!(made.covers(&shape("make all \"x\"").expect("a shape")));
    assert!(!made.covers(&shape("make all").expect("a shape")));
    assert!(!made.covers(&shape("make all x y").expect("a shape")));
    for line in [
        "make $X",
        "make; make",
        "make && rm a",
        "make > a",
        "cat a | sh",
        "echo $(ls)",
    ] {
        assert_eq!(shape(line), None, "{line}");
    }
    let elsewhere = ShellProposal {
        cwd: Some("/w".to_owned()),
        ..proposal(&["make"])
    };
    assert_eq!(on_command(elsewhere).shape, None);
    assert_eq!(on_command(proposal(&["make", "make"])).shape, None);
}

#[test]
fn a_question_has_all_parts_that_may_have_been_denied() {
    let shape = |parts: &[&str]| ApprovalShape {
        parts: parts.iter().map(|part| (*part).to_owned()).collect(),
        reasons: Vec::new(),
    };
    let denied = shape(&["rm a"]);
    let run = |lines: &[&str]| on_command(proposal(lines)).contained;
    for lines in [
        &["rm a"][..],
        &["make; rm a"],
        &["make", "rm a"],
        &["cat b | sh -c 'rm a'"],
    ] {
        assert!(run(lines).contain(&denied), "{lines:?}");
    }
    assert!(!run(&["make; rm b"]).contain(&denied));
    let rm = || telechir_protocol::Command::Line("make && rm a".to_owned());
    let send = |is_hidden| ShellTask::Send {
        input: ShellAction::SendText("rm a\n".to_owned()),
        job: None,
        is_hidden,
    };
    for (task, contains) in [
        (ShellTask::Start(vec![rm()]), true),
        (send(false), true),
        (send(true), false),
    ] {
        let question = on_command(ShellProposal {
            task,
            cwd: Some("/w".to_owned()),
            ..proposal(&[])
        });
        assert_eq!(question.contained.contain(&denied), contains);
    }
    let screen = |actions: &[Value]| on_screen(screen::proposal(actions)).contained;
    let click = json!({"action": "click", "coordinate": [1, 2]});
    let mixed = screen(&[
        click,
        json!({"action": "navigate", "url": "https://a.example/x"}),
        json!({"action": "navigate", "url": "about:blank"}),
    ]);
    assert!(mixed.contain(&shape(&["open https://a.example"])));
    assert!(!mixed.contain(&shape(&["open https://b.example"])));
    assert!(!mixed.contain(&shape(&[])));
}

#[test]
fn pages_are_remembered_by_origin_and_actions_by_kind() {
    let shape = |actions: &[Value]| on_screen(screen::proposal(actions)).shape;
    let open = |url: &str| shape(&[json!({"action": "navigate", "url": url})]).expect("a shape");
    let page = open("https://a.example/x?y=1");
    assert_eq!(page.parts, ["open https://a.example"]);
    let click = |x| json!({"action": "click", "coordinate": [x, 2]});
    let both = shape(&[click(1), json!({"action": "type", "text": "x"}), click(3)]);
    let both = both.expect("a shape");
    assert_eq!(both.parts, ["click on the browser", "type on the browser"]);
    assert!(both.covers(&shape(&[click(9)]).expect("a shape")));
    assert!(!page.covers(&both));
}

#[test]
fn a_new_reason_is_not_covered() {
    let shape = |parts: &[&str], reasons: &[&str]| {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        ApprovalShape {
            parts: owned(parts),
            reasons: owned(reasons),
        }
    };
    let approved = shape(&["a"], &["r", "s"]);
    assert!(approved.covers(&shape(&["a"], &["s"])));
    assert!(!approved.covers(&shape(&["a"], &["s", "t"])));
    assert!(!approved.covers(&shape(&["b"], &["r"])));
    assert!(!approved.covers(&shape(&[], &["r"])));
}

#[test]
fn questions_with_a_ground_of_their_own_are_never_remembered() {
    let plain = on_command(proposal(&["make"]));
    assert!(plain.session_shape().is_some());
    let with_check = Question {
        safety_checks: vec![check("s", "c")],
        ..plain.clone()
    };
    let hidden = Question {
        has_hidden_characters: true,
        ..plain.clone()
    };
    let untrusted = Question {
        untrusted_source: Some("a page".to_owned()),
        ..plain.clone()
    };
    let at_page = Question {
        approve: telechir_policy::ApproveAt::Page,
        ..plain.clone()
    };
    let shapeless = Question {
        shape: None,
        ..plain
    };
    for question in [with_check, hidden, untrusted, at_page, shapeless] {
        assert_eq!(question.session_shape(), None, "{question:?}");
    }
}

#[test]
fn a_rule_an_approval_mode_and_a_providers_check_are_one_question() {
    let rule = "[[computer]]\nactions = ['click']\nverdict = 'ask'\nreason = 'Clicks are asked.'";
    let required = RequiredApprovals {
        computer: true,
        ..RequiredApprovals::default()
    };
    let policy = Policy::from_toml(rule, "p").unwrap().requiring(required);
    let click = json!({"action": "click", "coordinate": [1, 2]});
    let proposal = ScreenProposal {
        safety_checks: vec![check("sc_1", "malicious")],
        ..screen::proposal(&[click])
    };
    let question = question_of(Judge::new(policy).screen(proposal, &screen::facts()));
    let text = question.text().join("\n");
    for reason in [
        "Clicks are asked.",
        "approval_mode",
        "The provider's malicious",
    ] {
        assert!(text.contains(reason), "{reason}: {text}");
    }
}

#[test]
fn the_file_can_demand_a_minimum_time_for_a_yes() {
    let policy = |text| Policy::from_toml(text, "p");
    let limited = policy("[approval]\nmin_answer_ms = 300").unwrap();
    assert_eq!(limited.min_answer_ms(), 300);
    assert_eq!(policy("").unwrap().min_answer_ms(), 0);
    assert!(policy("[approval]\nmin_answer = 300").is_err());
}

#[test]
fn the_file_can_limit_what_is_rented() {
    let policy = |text: &str| Policy::from_toml(text, "p");
    let rented = policy("[rented]\nsessions = 2\nminutes = 90")
        .unwrap()
        .rented();
    assert_eq!((rented.sessions, rented.minutes), (Some(2), Some(90)));
    let rented = policy("").unwrap().rented();
    assert_eq!((rented.sessions, rented.minutes), (None, None));
    for wrong in ["hours = 1", "minutes = -1", "sessions = 'two'"] {
        let error = policy(&format!("[rented]\n{wrong}")).unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
    }
}
