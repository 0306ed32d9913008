//! The queue between a call that waits and the people who can answer.

use std::os::unix::net::UnixStream;
use std::time::Duration;

use telechir_policy::ApproveAt;
use tokio::task::JoinHandle;

use super::queue::tests::question;
use super::*;

const TERMINAL: CallerWay = CallerWay {
    interface: Interface::Terminal,
    way: AnswerWay::Terminal,
};
const CLIENT: CallerWay = CallerWay {
    interface: Interface::Other,
    way: AnswerWay::Elicitation,
};

struct Fixture {
    queue: ApprovalQueue,
    unsandboxed: UnsandboxedDevices,
    folder: tempfile::TempDir,
}

impl Fixture {
    fn new(caller: Option<CallerWay>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let unsandboxed = UnsandboxedDevices::of(folder.path()).unwrap();
        let queue = ApprovalQueue::new(
            Duration::from_secs(300),
            unsandboxed.clone(),
            Some(StandingChoices {
                file: ChoiceFile::new(folder.path().join("own/choices.json")),
                devices: "--shell".to_owned(),
            }),
        );
        queue.set_caller(caller);
        Self {
            queue,
            unsandboxed,
            folder,
        }
    }

    /// Asks a question and returns the call, and the question as clients see it.
    async fn ask(&self, question: &Question) -> (JoinHandle<Answer>, OpenApproval) {
        let (mut approver, question) = (self.queue.clone(), question.clone());
        let mut changes = self.queue.changes();
        let call = tokio::spawn(async move { approver.decide(&question).await });
        loop {
            if let Some(open) = self.queue.waiting() {
                return (call, open);
            }
            changes.changed().await.unwrap();
        }
    }

    /// Why the reply does not count; none if it does.
    fn reply(&self, code: &ApprovalCode, reply: CallerReply) -> Option<String> {
        self.queue.take_reply(code, reply).err()
    }

    fn host_shell(&self) -> UnsandboxedDevice {
        self.unsandboxed.show_host_shell().unwrap()
    }
}

fn decided(decision: Decision) -> CallerReply {
    CallerReply::Decided {
        decision,
        scope: AnswerScope::Once,
        by: "a client".to_owned(),
    }
}

fn reason(answer: &Answer) -> String {
    match &answer.decision {
        Decision::Deny { reason } => reason.clone(),
        Decision::Approve { .. } => panic!("approved"),
    }
}

#[tokio::test]
async fn the_caller_answers_its_own_question() {
    for (caller, way) in [
        (TERMINAL, AnswerWay::Terminal),
        (CLIENT, AnswerWay::Elicitation),
    ] {
        let fixture = Fixture::new(Some(caller));
        let (call, open) = fixture.ask(&question("c1", "rm a")).await;
        assert!(open.open_to_caller && open.is_waiting);
        assert_eq!(fixture.queue.list(), std::slice::from_ref(&open));
        let reply = decided(open.question.approve());
        fixture.reply(&open.code, reply);
        let answer = call.await.unwrap();
        assert_eq!(answer.decision, open.question.approve());
        let origin = answer.origin.unwrap();
        assert_eq!((origin.way, origin.by.as_str()), (way, "a client"));
        assert_eq!(fixture.queue.waiting(), None);
        assert!(fixture.queue.list().is_empty());
    }
}

#[tokio::test]
async fn a_closed_way_leaves_the_question_to_others() {
    let fixture = Fixture::new(Some(CLIENT));
    let (call, open) = fixture.ask(&question("c1", "rm a")).await;
    fixture.reply(&open.code, CallerReply::Closed);
    let still = fixture.queue.find(&open.code).unwrap();
    assert!(still.is_waiting && !still.open_to_caller);
    // What the client sends after that does not count.
    let late = decided(open.question.approve());
    fixture.reply(&open.code, late);
    assert!(fixture.queue.find(&open.code).is_some());
    assert!(!call.is_finished());
    call.abort();
}

#[tokio::test]
async fn a_closed_way_beside_a_shell_on_the_host_is_a_no() {
    let fixture = Fixture::new(Some(CLIENT));
    let _shell = fixture.host_shell();
    let (call, open) = fixture.ask(&question("c1", "rm a")).await;
    let closed = open.closed_to_commands.clone().unwrap();
    assert!(closed.contains("--shell=host"), "{closed}");
    fixture.reply(&open.code, CallerReply::Declined);
    let reason = reason(&call.await.unwrap());
    assert!(reason.contains("possibly without showing"), "{reason}");
    assert!(reason.contains("--shell=host"), "{reason}");
    assert_eq!(fixture.queue.find(&open.code), None);
}

#[tokio::test]
async fn a_client_does_not_get_what_only_a_terminal_may_answer() {
    let fixture = Fixture::new(Some(CLIENT));
    let at_terminal = Question {
        approve: ApproveAt::Terminal,
        ..question("c1", "rm a")
    };
    let (call, open) = fixture.ask(&at_terminal).await;
    assert!(!open.open_to_caller);
    assert_eq!(open.closed_to_commands, None);
    let late = decided(open.question.approve());
    fixture.reply(&open.code, late);
    assert!(
        fixture.queue.find(&open.code).is_some(),
        "it does not count"
    );
    call.abort();
}

#[tokio::test]
async fn a_question_that_nobody_can_answer_is_a_no() {
    let fixture = Fixture::new(None);
    let at_page = Question {
        approve: ApproveAt::Page,
        ..question("c1", "rm a")
    };
    let mut approver = fixture.queue.clone();
    assert!(!approver.can_ask(ApproveAt::Page));
    assert!(approver.can_ask(ApproveAt::Terminal) && approver.can_ask(ApproveAt::Any));
    let reason = reason(&approver.decide(&at_page).await);
    assert!(reason.contains("a web page of telechir"), "{reason}");
    let _shell = fixture.host_shell();
    let plain = question("c2", "rm a");
    let answer = approver.decide(&plain).await;
    assert!(matches!(answer.decision, Decision::Deny { .. }));
}

#[tokio::test]
async fn a_parked_question_answers_its_call_with_the_code() {
    let fixture = Fixture::new(Some(CLIENT));
    let (call, open) = fixture.ask(&question("c1", "rm a")).await;
    fixture.reply(&open.code, CallerReply::Parked);
    let reason = reason(&call.await.unwrap());
    let command = format!("`telechir approve {}`", open.code);
    assert!(reason.contains(&command), "{reason}");
    assert!(reason.contains("nobody has answered yet"), "{reason}");
    let parked = fixture.queue.find(&open.code).unwrap();
    assert!(!parked.is_waiting && !parked.open_to_caller);
    assert_eq!(fixture.queue.waiting(), None);
}

#[tokio::test]
async fn what_cannot_be_approved_later_is_not_parked() {
    let hidden = Question {
        action: None,
        ..question("c1", "rm a")
    };
    let fixture = Fixture::new(Some(CLIENT));
    let (call, open) = fixture.ask(&hidden).await;
    fixture.reply(&open.code, CallerReply::Parked);
    let text = reason(&call.await.unwrap());
    assert!(text.contains("hidden input"), "{text}");
    assert_eq!(fixture.queue.find(&open.code), None);

    let _shell = fixture.host_shell();
    let (call, open) = fixture.ask(&question("c2", "rm a")).await;
    fixture.reply(&open.code, CallerReply::Parked);
    let text = reason(&call.await.unwrap());
    assert!(text.contains("--shell=host"), "{text}");
    assert!(!text.contains("telechir approve"), "{text}");
    assert_eq!(fixture.queue.find(&open.code), None);
}

#[tokio::test]
async fn a_reply_to_another_question_changes_nothing() {
    let fixture = Fixture::new(Some(CLIENT));
    let (call, open) = fixture.ask(&question("c1", "rm a")).await;
    let other = ApprovalCode::random().unwrap();
    for reply in [
        decided(open.question.approve()),
        CallerReply::Closed,
        CallerReply::Declined,
        CallerReply::Parked,
    ] {
        fixture.reply(&other, reply);
        let open = fixture.queue.find(&open.code).unwrap();
        assert!(open.is_waiting && open.open_to_caller);
    }
    call.abort();
}

#[tokio::test]
async fn a_cancelled_call_withdraws_its_question() {
    let fixture = Fixture::new(Some(CLIENT));
    let (call, open) = fixture.ask(&question("c1", "rm a")).await;
    let mut changes = fixture.queue.changes();
    call.abort();
    changes.changed().await.unwrap();
    assert_eq!(fixture.queue.find(&open.code), None);
    let late = decided(open.question.approve());
    fixture.reply(&open.code, late);
    assert_eq!(fixture.queue.waiting(), None);
}

#[tokio::test]
async fn a_lost_caller_leaves_the_question_to_others() {
    let fixture = Fixture::new(Some(TERMINAL));
    let (call, open) = fixture.ask(&question("c1", "rm a")).await;
    fixture.queue.set_caller(None);
    let still = fixture.queue.find(&open.code).unwrap();
    assert!(still.is_waiting && !still.open_to_caller);
    call.abort();
}

#[tokio::test]
async fn a_client_cannot_have_its_answer_remembered() {
    for (caller, count) in [(CLIENT, 0), (TERMINAL, 1)] {
        let fixture = Fixture::new(Some(caller));
        let (call, open) = fixture.ask(&question("c1", "make")).await;
        let reply = CallerReply::Decided {
            decision: open.question.approve(),
            scope: AnswerScope::Session,
            by: "a client".to_owned(),
        };
        fixture.reply(&open.code, reply);
        assert_eq!(call.await.unwrap().decision, open.question.approve());
        assert_eq!(fixture.queue.remembered().len(), count, "{caller:?}");
    }
}

#[tokio::test]
async fn an_approval_that_came_too_fast_is_requested_again_at_a_terminal_only() {
    for (caller, is_open) in [(CLIENT, false), (TERMINAL, true)] {
        let fixture = Fixture::new(Some(caller));
        let slow = Question {
            min_answer_ms: 60_000,
            ..question("c1", "rm a")
        };
        let (call, open) = fixture.ask(&slow).await;
        let reply = decided(open.question.approve());
        let refusal = fixture.reply(&open.code, reply).unwrap();
        assert!(refusal.contains("at least 60000 ms"), "{refusal}");
        let open = fixture.queue.find(&open.code).unwrap();
        assert!(open.is_waiting);
        assert_eq!(open.open_to_caller, is_open, "{caller:?}");
        call.abort();
    }
}

fn command(decision: Decision) -> CommandAnswer {
    CommandAnswer {
        decision,
        scope: AnswerScope::Once,
    }
}

#[tokio::test]
async fn a_command_needs_a_terminal_to_approve_and_none_to_deny() {
    let fixture = Fixture::new(Some(CLIENT));
    let (by, terminal) = ("process 7".to_owned(), Some("/dev/pts/3".to_owned()));
    let (call, open) = fixture.ask(&question("c1", "rm a")).await;
    let approval = command(open.question.approve());
    let answer = |answer, terminal| {
        let queue = &fixture.queue;
        queue.answer_from(&open.code, answer, terminal, by.clone())
    };
    let refusal = answer(approval.clone(), None).unwrap_err();
    assert!(refusal.contains("only at a terminal"), "{refusal}");
    assert!(!call.is_finished());
    assert_eq!(answer(approval, terminal), Ok(None));
    assert_eq!(call.await.unwrap().decision, open.question.approve());

    let (call, open) = fixture.ask(&question("c2", "rm a")).await;
    let reason = "Not today.".to_owned();
    let denial = command(Decision::Deny { reason });
    let denied = fixture
        .queue
        .answer_from(&open.code, denial.clone(), None, by);
    assert_eq!(denied, Ok(None));
    let answer = call.await.unwrap();
    assert_eq!(answer.decision, denial.decision);
    assert_eq!(answer.origin.unwrap().way, AnswerWay::Command);
}

#[tokio::test]
async fn no_command_answers_beside_a_shell_on_the_host() {
    let fixture = Fixture::new(Some(CLIENT));
    let terminal = || Some("/dev/pts/3".to_owned());
    let (call, open) = fixture.ask(&question("c1", "rm a")).await;
    let shell = fixture.host_shell();
    let answer = || {
        let approval = command(open.question.approve());
        let by = "process 7".to_owned();
        fixture
            .queue
            .answer_from(&open.code, approval, terminal(), by)
    };
    let refusal = answer().unwrap_err();
    assert!(refusal.contains("--shell=host"), "{refusal}");
    let reason = "Not today.".to_owned();
    let denial = command(Decision::Deny { reason });
    let by = "process 7".to_owned();
    let refusal = fixture.queue.answer_from(&open.code, denial, None, by);
    assert!(refusal.unwrap_err().contains("--shell=host"));
    drop(shell);
    assert_eq!(answer(), Ok(None));
    assert_eq!(call.await.unwrap().decision, open.question.approve());
}

#[tokio::test]
async fn an_answer_after_its_call_is_reported_for_the_recording() {
    let fixture = Fixture::new(Some(CLIENT));
    let (call, open) = fixture.ask(&question("c1", "rm a")).await;
    fixture.reply(&open.code, CallerReply::Parked);
    call.await.unwrap();
    let terminal = Some("/dev/pts/3".to_owned());
    let approval = command(open.question.approve());
    let by = "process 7".to_owned();
    let late = fixture
        .queue
        .answer_from(&open.code, approval, terminal, by);
    let late = late.unwrap().expect("a late answer");
    assert_eq!(late.call_id.as_str(), "c1");
    assert_eq!(late.answer.origin.unwrap().way, AnswerWay::Command);
    let mut approver = fixture.queue.clone();
    let again = question("c2", "rm a");
    let used = approver.earlier_answer(&again).unwrap();
    assert_eq!(used.decision, again.approve());
    assert_eq!(approver.earlier_answer(&question("c3", "rm a")), None);
}

#[tokio::test]
async fn a_process_that_may_not_answer_is_refused_before_anything_else() {
    let fixture = Fixture::new(Some(CLIENT));
    let (call, open) = fixture.ask(&question("c1", "rm a")).await;
    let (one, _other) = UnixStream::pair().unwrap();
    let stranger = PeerProcess::of(&one).unwrap().of_other_user();
    let reason = "Not today.".to_owned();
    let denial = command(Decision::Deny { reason });
    let refusal = fixture.queue.answer(&open.code, denial, &stranger);
    assert!(refusal.unwrap_err().contains("another user"));
    assert!(!call.is_finished());
    call.abort();
}

#[tokio::test]
async fn a_caller_without_a_terminal_cannot_answer_as_one() {
    let (one, _other) = UnixStream::pair().unwrap();
    let strangers = [
        PeerProcess::of(&one).unwrap().of_other_user(),
        PeerProcess::of(&one).unwrap().without_terminal(),
    ];
    for stranger in strangers {
        let fixture = Fixture::new(Some(TERMINAL));
        let (call, open) = fixture.ask(&question("c1", "rm a")).await;
        let reply = decided(open.question.approve());
        let refusal = fixture.queue.caller_replied(&open.code, reply, &stranger);
        assert!(refusal.is_err());
        let open = fixture.queue.find(&open.code).unwrap();
        assert!(open.is_waiting && !open.open_to_caller);
        call.abort();
    }
}

#[tokio::test]
async fn a_choice_for_all_sessions_is_taken_at_a_terminal_only() {
    for (caller, count) in [(CLIENT, 0), (TERMINAL, 1)] {
        let fixture = Fixture::new(Some(caller));
        let (call, open) = fixture.ask(&question("c1", "make")).await;
        assert!(open.can_be_standing);
        let reply = CallerReply::Decided {
            decision: open.question.approve(),
            scope: AnswerScope::Always,
            by: "a client".to_owned(),
        };
        assert_eq!(fixture.reply(&open.code, reply), None);
        assert_eq!(call.await.unwrap().decision, open.question.approve());
        let mut next = fixture.queue.clone();
        let again = question("c2", "make");
        let earlier = next.earlier_answer(&again).map(|answer| answer.decision);
        assert_eq!(earlier.is_some(), count == 1, "{caller:?}");
        assert_eq!(fixture.queue.remembered().len(), 0, "not the session's");
    }
    let fixture = Fixture::new(None);
    let (call, open) = fixture.ask(&question("c1", "rm a")).await;
    let reason = "Never.".to_owned();
    let answer = CommandAnswer {
        decision: Decision::Deny { reason },
        scope: AnswerScope::Always,
    };
    let by = "process 7".to_owned();
    let taken = fixture.queue.answer_from(&open.code, answer, None, by);
    assert_eq!(taken, Ok(None));
    assert!(matches!(
        call.await.unwrap().decision,
        Decision::Deny { .. }
    ));
    let again = question("c2", "rm a");
    assert_eq!(fixture.queue.clone().earlier_answer(&again), None);
}

#[tokio::test]
async fn with_a_broken_file_of_choices_nothing_remembered_counts() {
    let fixture = Fixture::new(Some(TERMINAL));
    let always = |scope| CommandAnswer {
        decision: question("c1", "make").approve(),
        scope,
    };
    let terminal = || Some("/dev/pts/3".to_owned());
    let answer = |code: &ApprovalCode, scope| {
        let by = "process 7".to_owned();
        fixture
            .queue
            .answer_from(code, always(scope), terminal(), by)
    };
    let (call, open) = fixture.ask(&question("c1", "make")).await;
    assert_eq!(answer(&open.code, AnswerScope::Session), Ok(None));
    call.await.unwrap();
    let mut queue = fixture.queue.clone();
    assert!(queue.earlier_answer(&question("c2", "make")).is_some());
    let folder = fixture.folder.path().join("own");
    telechir_process::make_private_dir(&folder).unwrap();
    std::fs::write(folder.join("choices.json"), "{").unwrap();
    assert_eq!(queue.earlier_answer(&question("c3", "make")), None);
    let (call, open) = fixture.ask(&question("c1", "make")).await;
    let problem = open.problem.unwrap();
    assert!(problem.contains("choices.json"), "{problem}");
    let refusal = answer(&open.code, AnswerScope::Always).unwrap_err();
    assert!(refusal.contains("choices.json"), "{refusal}");
    assert!(!call.is_finished(), "the question is still open");
    assert_eq!(answer(&open.code, AnswerScope::Once), Ok(None));
    call.await.unwrap();
}
