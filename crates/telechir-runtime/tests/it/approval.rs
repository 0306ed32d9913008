//! Approval: what the user sees, and that no answer means no.

use std::time::Duration;

use telechir_policy::{Decision, Policy, Question};
use telechir_protocol::{ComputerCall, FailureKind, SafetyCheck, SafetySource};
use telechir_runtime::{
    Answer, AnswerOrigin, AnswerWay, Approver, Session, SessionEvent, SessionLimits,
};

use crate::fakes::{
    FakeApprover, FakeScreen, Log, action_json, call, click, commands, desktop, in_shell, log_of,
    on_screen, shell,
};

#[tokio::test]
async fn an_approval_covers_exactly_one_proposal() {
    let (builder, log) = shell(Policy::default_policy());
    let person = FakeApprover {
        approving: true,
        ..FakeApprover::default()
    };
    let mut session = builder.approver(person.clone()).build().unwrap();
    let result = in_shell(&mut session, commands("s1", &["make test"])).await;
    assert_eq!(result.error, None);
    assert_eq!(log_of(&log), ["make test [30000 ms]"]);
    let questions = person.questions.lock().unwrap();
    assert_eq!(
        questions
            .iter()
            .map(|question| question.lines.clone())
            .collect::<Vec<_>>(),
        [["$ make test"]]
    );
}

#[tokio::test]
async fn a_denial_is_reported_to_the_model() {
    let (builder, log) = shell(Policy::default_policy());
    let mut session = builder.approver(FakeApprover::default()).build().unwrap();
    let result = in_shell(&mut session, commands("s1", &["make test"])).await;
    let error = result.error.unwrap();
    assert_eq!(error.kind, FailureKind::Denied);
    assert_eq!(
        error.message,
        "Not executed: I would rather not. make with these words is not on the list of read-only commands."
    );
    assert!(log_of(&log).is_empty());
}

#[tokio::test]
async fn the_model_reads_which_rule_denied() {
    let rules = "
        [[shell]]
        name = 'no builds'
        words = ['make']
        verdict = 'deny'
        reason = 'Builds run elsewhere.'
    ";
    let (builder, _log) = shell(Policy::from_toml(rules, "p.toml").unwrap());
    let mut session = builder.build().unwrap();
    let result = in_shell(&mut session, commands("s1", &["make test"])).await;
    assert_eq!(
        result.error.unwrap().message,
        "Not executed: Builds run elsewhere. (policy: no builds)"
    );
}

#[tokio::test]
async fn a_missing_approver_is_a_no() {
    let (builder, log) = shell(Policy::default_policy());
    let mut session = builder.build().unwrap();
    let error = in_shell(&mut session, commands("s1", &["make"]))
        .await
        .error
        .unwrap();
    assert!(
        error.message.contains("nobody can be asked"),
        "{}",
        error.message
    );
    assert!(log_of(&log).is_empty());
}

struct Asleep;

impl Approver for Asleep {
    async fn decide(&mut self, _question: &Question) -> Answer {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn silence_is_a_no() {
    let (builder, log) = shell(Policy::default_policy());
    let mut session = builder.approver(Asleep).build().unwrap();
    let error = in_shell(&mut session, commands("s1", &["make"]))
        .await
        .error
        .unwrap();
    assert!(
        error.message.contains("No answer within 300 seconds."),
        "{}",
        error.message
    );
    assert!(log_of(&log).is_empty());
}

/// Repeats the approval of the previous question for every question.
#[derive(Default)]
struct Hasty(Option<Decision>);

impl Approver for Hasty {
    async fn decide(&mut self, question: &Question) -> Answer {
        let earlier = self.0.replace(question.approve());
        Answer::from(earlier.unwrap_or_else(|| question.approve()))
    }
}

#[tokio::test]
async fn a_yes_to_another_call_does_not_count() {
    let (builder, log) = shell(Policy::default_policy());
    let mut session = builder.approver(Hasty::default()).build().unwrap();
    in_shell(&mut session, commands("s1", &["make a"])).await;
    let error = in_shell(&mut session, commands("s2", &["make b"]))
        .await
        .error
        .unwrap();
    assert!(
        error.message.contains("for another proposal"),
        "{}",
        error.message
    );
    assert_eq!(log_of(&log).len(), 1);
}

#[tokio::test]
async fn a_provider_safety_check_is_acknowledged_by_the_user_only() {
    let check = SafetyCheck {
        id: "sc_1".to_owned(),
        code: None,
        message: Some("Looks odd".to_owned()),
        source: SafetySource::Openai,
    };
    let questions = || ComputerCall {
        pending_safety_checks: vec![check.clone()],
        ..call("c1", &[click(1, 1)])
    };
    let (builder, log) = desktop(Policy::default_policy());
    let refused = on_screen(&mut builder.build().unwrap(), questions()).await;
    assert_eq!(refused.error.unwrap().kind, FailureKind::Denied);
    assert!(refused.acknowledged_safety_checks.is_empty());
    assert_eq!(log_of(&log), ["capture"]);

    let (builder, log) = desktop(Policy::default_policy());
    let person = FakeApprover {
        approving: true,
        ..FakeApprover::default()
    };
    let agreed = on_screen(&mut builder.approver(person).build().unwrap(), questions()).await;
    assert_eq!(agreed.acknowledged_safety_checks, [check]);
    assert_eq!(log_of(&log), ["click 1,1", "capture"]);
}

#[tokio::test]
async fn an_existing_display_may_be_seen_and_input_needs_approval() {
    let log = Log::default();
    let screen = Box::new(FakeScreen::new(&log));
    let mut session = Session::builder(Policy::default_policy())
        .existing_desktop(screen)
        .build()
        .unwrap();
    assert_eq!(
        on_screen(&mut session, call("c1", &[action_json("screenshot")]))
            .await
            .error,
        None
    );
    let error = on_screen(&mut session, call("c2", &[click(1, 1)]))
        .await
        .error
        .unwrap();
    assert_eq!(error.kind, FailureKind::Denied);
    assert_eq!(log_of(&log), ["capture", "capture"]);
}

#[tokio::test]
async fn a_policy_that_forbids_looking_forbids_the_screenshot_after_an_action_too() {
    let text = "
        [[computer]]
        actions = ['screenshot']
        verdict = 'deny'
        reason = 'Nobody looks.'
    ";
    let (builder, log) = desktop(Policy::from_toml(text, "test").unwrap());
    let mut session = builder.build().unwrap();
    let result = on_screen(&mut session, call("c1", &[click(1, 1)])).await;
    assert_eq!(result.screenshot, None);
    assert_eq!(log_of(&log), ["click 1,1"]);
}

#[tokio::test]
async fn a_question_ends_when_the_turn_is_dropped() {
    let (builder, log) = shell(Policy::default_policy());
    let mut session = builder.approver(Asleep).build().unwrap();
    let call = in_shell(&mut session, commands("s1", &["make"]));
    assert!(
        tokio::time::timeout(Duration::from_millis(50), call)
            .await
            .is_err()
    );
    assert_eq!(
        in_shell(&mut session, commands("s2", &["pwd"])).await.error,
        None
    );
    assert_eq!(log_of(&log), ["pwd [30000 ms]"]);
}

#[tokio::test]
async fn questions_are_limited_per_minute() {
    let (builder, log) = shell(Policy::default_policy());
    let person = FakeApprover {
        approving: true,
        ..FakeApprover::default()
    };
    let limits = SessionLimits {
        max_questions_per_minute: 2,
        ..SessionLimits::default()
    };
    let builder = builder.approver(person.clone()).limits(limits);
    let mut session = builder.build().unwrap();
    for target_of in 0..2 {
        let questions = commands(&format!("s{target_of}"), &["make a"]);
        assert_eq!(in_shell(&mut session, questions).await.error, None);
    }
    let error = in_shell(&mut session, commands("s3", &["make a"])).await;
    let error = error.error.unwrap();
    assert_eq!(error.kind, FailureKind::Denied);
    assert!(error.message.contains("asked 2 times"), "{}", error.message);
    assert_eq!(person.questions.lock().unwrap().len(), 2);
    assert_eq!(log_of(&log).len(), 2);
    let unasked = in_shell(&mut session, commands("s4", &["pwd"])).await;
    assert_eq!(unasked.error, None);
}

/// Has an answer to every question from earlier.
struct Prepared(AnswerOrigin);

impl Approver for Prepared {
    async fn decide(&mut self, _question: &Question) -> Answer {
        panic!("the question was shown")
    }

    fn earlier_answer(&mut self, question: &Question) -> Option<Answer> {
        Some(Answer {
            decision: question.approve(),
            origin: Some(self.0.clone()),
        })
    }
}

#[tokio::test]
async fn an_earlier_answer_is_recorded_and_no_question_is_shown_or_counted() {
    let (builder, log) = shell(Policy::default_policy());
    let origin = AnswerOrigin {
        way: AnswerWay::Command,
        by: "process 7".to_owned(),
        after_ms: 1200,
    };
    let limits = SessionLimits {
        max_questions_per_minute: 0,
        ..SessionLimits::default()
    };
    let approver = Prepared(origin.clone());
    let mut session = builder.approver(approver).limits(limits).build().unwrap();
    let mut events = session.subscribe();
    let result = in_shell(&mut session, commands("s1", &["make a"])).await;
    assert_eq!(result.error, None);
    assert_eq!(log_of(&log).len(), 1);
    session.close().await.unwrap();
    let mut recorded = None;
    while let Some(event) = events.next().await {
        assert!(!matches!(&*event, SessionEvent::QuestionAsked { .. }));
        if let SessionEvent::QuestionAnswered {
            origin, approved, ..
        } = &*event
        {
            recorded = Some((origin.clone(), *approved));
        }
    }
    assert_eq!(recorded, Some((Some(origin), true)));
}

#[tokio::test]
async fn the_question_has_the_minimum_time_of_the_policy() {
    let (builder, _log) = shell(Policy::from_toml("[approval]\nmin_answer_ms = 250", "p").unwrap());
    let person = FakeApprover::default();
    let mut session = builder.approver(person.clone()).build().unwrap();
    in_shell(&mut session, commands("s1", &["make a"])).await;
    assert_eq!(person.questions.lock().unwrap()[0].min_answer_ms, 250);
}
