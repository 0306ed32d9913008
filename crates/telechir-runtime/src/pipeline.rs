//! The walk of a turn, top to bottom: announce, judge, ask, map, act, observe, close, answer.

mod batch;
mod screen;
mod shell;
mod step;

use std::time::Instant;

use telechir_policy::{
    Denial, Judgement, Permitted, Proposal, Question, Verdict, escape, summarize, summarize_command,
};
use telechir_protocol::{
    AnsweredTurn, CallId, Content, EditCall, EditResult, Failure, FailureKind, FunctionCall,
    FunctionResult, Meta, ModelTurn, ShellAction, ToolCall, ToolResult,
};

use crate::approver::BoxApprover;
use crate::recorder::{OpenTurn, Recorder, millis};
use crate::{CallKind, Limits, RuntimeError, Session, SessionEvent};
use batch::Batch;

/// Carries out a turn's calls in their order and joins each with its one result.
pub(crate) async fn carry_out(
    session: &mut Session,
    turn: ModelTurn,
) -> Result<AnsweredTurn, RuntimeError> {
    recover(session).await;
    let calls = turn.calls();
    let open = OpenTurn::begin(&session.recorder, calls.len()).await?;
    session.is_in_turn = true;
    let mut batch = Batch::of(&calls, session.observe);
    let mut results = Vec::with_capacity(calls.len());
    for (place, call) in calls.iter().enumerate() {
        results.push(answer(session, open.number, place, call, &mut batch).await?);
    }
    session.is_in_turn = false;
    let answered = turn.answer(results)?;
    open.end();
    Ok(answered)
}

/// A turn that was dropped may have left keys and buttons pressed, and a command running.
pub(crate) async fn recover(session: &mut Session) {
    if !std::mem::take(&mut session.is_in_turn) {
        return;
    }
    for screen in &mut session.screens {
        if let Err(error) = screen.release(&session.limits).await {
            let message = format!("After a stopped turn: failed to {error}.");
            session.recorder.announce(SessionEvent::Warning { message });
        }
    }
    if let Some(shell) = &mut session.shell
        && let Err(error) = shell.end_command(&session.limits).await
    {
        let message = format!("After a stopped turn: failed to {error}.");
        session.recorder.announce(SessionEvent::Warning { message });
    }
}

/// Announces a call, carries it out, keeps and announces its result.
async fn answer(
    session: &mut Session,
    turn: u64,
    place: usize,
    call: &ToolCall,
    batch: &mut Batch,
) -> Result<ToolResult, RuntimeError> {
    let began = Instant::now();
    let call_id = call.call_id().cloned().unwrap_or_else(|| CallId::new(""));
    let (kind, content, steps) = described(call);
    session.recorder.call(&content).await?;
    session.recorder.announce(SessionEvent::CallReceived {
        call_id: call_id.clone(),
        kind,
        steps,
    });
    let result = match call {
        ToolCall::Computer(call) => {
            ToolResult::Computer(screen::answer(session, turn, place, call, batch).await?)
        }
        ToolCall::Shell(call) => ToolResult::Shell(shell::answer(session, turn, call).await?),
        ToolCall::Edit(call) => ToolResult::Edit(edit(call)),
        ToolCall::Function(call) => ToolResult::Function(function(session, call)),
    };
    session
        .recorder
        .answer(&result.clone().into_content())
        .await?;
    let failure = failure(&result).cloned();
    session.recorder.announce(SessionEvent::CallAnswered {
        call_id,
        failure,
        ms: millis(began.elapsed()),
    });
    Ok(result)
}

fn described(call: &ToolCall) -> (CallKind, Content, Vec<String>) {
    match call {
        ToolCall::Computer(call) => {
            let steps = call.actions.iter().map(summarize).collect();
            (
                CallKind::Computer,
                Content::ComputerCall(call.clone()),
                steps,
            )
        }
        ToolCall::Shell(call) => {
            let steps = if call.action == ShellAction::Execute {
                call.commands.iter().map(summarize_command).collect()
            } else {
                vec![escape(call.action.name())]
            };
            (CallKind::Shell, Content::ShellCall(call.clone()), steps)
        }
        ToolCall::Edit(call) => {
            let steps = call
                .operations
                .iter()
                .map(|operation| escape(&operation.name))
                .collect();
            (CallKind::Edit, Content::EditCall(call.clone()), steps)
        }
        ToolCall::Function(call) => (
            CallKind::Function,
            Content::FunctionCall(call.clone()),
            vec![escape(&call.name)],
        ),
    }
}

fn failure(result: &ToolResult) -> Option<&Failure> {
    match result {
        ToolResult::Computer(result) => result.error.as_ref(),
        ToolResult::Shell(result) => result.error.as_ref(),
        ToolResult::Edit(result) => result.error.as_ref(),
        ToolResult::Function(result) => result.error.as_ref(),
    }
}

/// No editor is part of a session yet, and saying so is better than a wrong edit.
fn edit(call: &EditCall) -> EditResult {
    let failure = match &call.exception {
        Some(exception) => not_understood(exception),
        None => Failure::new(
            FailureKind::Unsupported,
            "This session has no file editor; use shell commands to read and change files.",
        ),
    };
    let (call_id, meta) = (call.call_id.clone(), Meta::default());
    EditResult {
        call_id,
        text: None,
        error: Some(failure),
        meta,
    }
}

fn function(session: &Session, call: &FunctionCall) -> FunctionResult {
    let failure = match &call.exception {
        Some(exception) => not_understood(exception),
        None => {
            let devices: Vec<_> = session
                .devices()
                .iter()
                .map(|device| device.name())
                .collect();
            let has = if devices.is_empty() {
                "nothing".to_owned()
            } else {
                devices.join(", ")
            };
            let name = escape(&call.name);
            let message = format!("{name:?} is not a tool of this session, which has: {has}.");
            Failure::new(FailureKind::Unsupported, message)
        }
    };
    FunctionResult {
        call_id: call.call_id.clone(),
        name: Some(call.name.clone()),
        items: Vec::new(),
        result: None,
        error: Some(failure),
        meta: Meta::default(),
    }
}

/// What a call is answered with that the dialect could not read.
fn not_understood(exception: &str) -> Failure {
    let message = format!("The call was not understood and nothing was done: {exception}");
    Failure::new(FailureKind::InvalidInput, message)
}

/// What is needed to bring a judgement to its end.
struct Desk<'a> {
    recorder: &'a Recorder,
    approver: &'a mut BoxApprover,
    limits: &'a Limits,
}

impl Desk<'_> {
    /// Brings a judgement to a permission or a refusal; a person is asked where it says so.
    async fn settle<P: Proposal>(
        &mut self,
        judgement: Judgement<P>,
        steps: Vec<String>,
    ) -> Result<Permitted<P>, Failure> {
        match judgement {
            Judgement::Allowed(permit) => {
                let (call_id, ground) = (permit.proposal().call_id().clone(), permit.ground());
                self.judged(call_id, ground.verdict, &ground.rule, &ground.reason);
                Ok(permit)
            }
            Judgement::Ask(pending) => {
                let (call_id, ground) = (pending.call_id().clone(), pending.ground().clone());
                let question = pending.question().clone();
                self.judged(call_id.clone(), Verdict::Ask, &ground.rule, &ground.reason);
                let decision = self.ask(&call_id, &question, steps).await;
                let settled = pending.settle(decision);
                self.recorder.announce(SessionEvent::QuestionAnswered {
                    call_id,
                    approved: settled.is_ok(),
                    reason: settled.as_ref().err().map(|denial| escape(&denial.reason)),
                });
                settled.map_err(|denial| refused(&denial, &question.reasons))
            }
            Judgement::Denied(call_id, denial) => {
                self.judged(call_id, Verdict::Deny, &denial.rule, &denial.reason);
                Err(refused(&denial, &[]))
            }
        }
    }

    fn judged(&self, call_id: CallId, verdict: Verdict, rule: &str, reason: &str) {
        let (rule, reason) = (rule.to_owned(), escape(reason));
        self.recorder.announce(SessionEvent::CallJudged {
            call_id,
            verdict,
            rule,
            reason,
        });
    }

    /// Silence is a no.
    async fn ask(
        &mut self,
        call_id: &CallId,
        question: &Question,
        steps: Vec<String>,
    ) -> telechir_policy::Decision {
        self.recorder.announce(SessionEvent::QuestionAsked {
            call_id: call_id.clone(),
            digest: question.digest,
            steps,
            reasons: question.reasons.clone(),
        });
        let limit = self.limits.approval;
        match tokio::time::timeout(limit, self.approver.decide(question)).await {
            Ok(decision) => decision,
            Err(_) => telechir_policy::Decision::Deny {
                reason: format!("Nobody answered within {} seconds.", limit.as_secs()),
            },
        }
    }
}

/// A refusal in the model's words: what was not done and why.
fn refused(denial: &Denial, reasons: &[String]) -> Failure {
    let mut message = format!("Not carried out: {}", denial.reason);
    for reason in reasons.iter().filter(|reason| **reason != denial.reason) {
        message.push(' ');
        message.push_str(reason);
    }
    Failure::new(FailureKind::Denied, message)
}
