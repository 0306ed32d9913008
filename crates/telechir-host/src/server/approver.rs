//! The approval queue as the approver of a session: its questions are progress of the current turn.

use std::collections::VecDeque;
use std::sync::Arc;

use telechir_policy::{ApproveAt, Interface, Question};
use telechir_runtime::{Answer, AnswerWay, Approver, SessionEvent};

use super::calls::{CallProgress, CallTable};
use super::control::ControlSlot;
use crate::TurnKey;
use crate::approvals::{
    ApprovalCode, ApprovalQueue, CallerReply, CallerWay, CommandAnswer, LateAnswer, OperatorAnswer,
    PeerProcess,
};

/// Asks the clients that follow a turn, and whoever answers the queue.
#[derive(Clone, Debug)]
pub struct HostApprover {
    calls: Arc<CallTable>,
    queue: ApprovalQueue,
    /// Where answers are recorded that no call waits for.
    control: ControlSlot,
}

impl HostApprover {
    pub(super) fn new(calls: Arc<CallTable>, queue: ApprovalQueue, control: ControlSlot) -> Self {
        Self {
            calls,
            queue,
            control,
        }
    }

    /// The questions of the session.
    pub(super) fn queue(&self) -> &ApprovalQueue {
        &self.queue
    }

    /// Sets where the client of the next turn asks the user.
    pub(super) fn set_interface(&self, interface: Interface) {
        let way = match interface {
            Interface::Terminal => AnswerWay::Terminal,
            Interface::Page | Interface::Other => AnswerWay::Elicitation,
        };
        self.queue.set_caller(Some(CallerWay { interface, way }));
    }

    /// Takes the reply of the client of the current turn.
    ///
    /// # Errors
    /// With a sentence, if none of these turns is the current one, or the process may not answer.
    pub(super) fn caller_replied(
        &self,
        code: &ApprovalCode,
        reply: CallerReply,
        peer: &PeerProcess,
        turns: &VecDeque<TurnKey>,
    ) -> Result<(), String> {
        let current = self.calls.current();
        if !current.is_some_and(|call| turns.contains(&call.key)) {
            return Err("the question is not one of this client's turn".to_owned());
        }
        self.queue.caller_replied(code, reply, peer)
    }

    /// Takes the answer of a command in another terminal.
    ///
    /// # Errors
    /// With a sentence, if it does not count.
    pub(super) fn answer(
        &self,
        code: &ApprovalCode,
        answer: CommandAnswer,
        peer: &PeerProcess,
    ) -> Result<(), String> {
        let late = self.queue.answer(code, answer, peer)?;
        self.record(late);
        Ok(())
    }

    /// Takes the answer of an operator of the HTTP API, whose token was found.
    ///
    /// # Errors
    /// With a sentence, if it does not count.
    pub(super) fn answer_as_operator(
        &self,
        code: &ApprovalCode,
        answer: OperatorAnswer,
        peer: &PeerProcess,
        by: String,
    ) -> Result<(), String> {
        let late = self.queue.answer_as_operator(code, answer, peer, by)?;
        self.record(late);
        Ok(())
    }

    /// Records an answer that no call waited for.
    fn record(&self, late: Option<LateAnswer>) {
        if let (Some(late), Some(control)) = (late, self.control.get()) {
            let (approved, reason) = late.outcome();
            control.events.emit(SessionEvent::QuestionAnswered {
                call_id: late.call_id,
                approved,
                reason,
                origin: late.answer.origin,
            });
        }
    }
}

/// Shows a question as progress of the current turn, until it waits no longer.
struct ShownQuestion<'a>(&'a HostApprover);

impl ShownQuestion<'_> {
    fn set(&self, progress: CallProgress) {
        if let Some(call) = self.0.calls.current() {
            call.set(progress);
        }
    }
}

impl Drop for ShownQuestion<'_> {
    fn drop(&mut self) {
        self.set(CallProgress::Started);
    }
}

impl Approver for HostApprover {
    async fn decide(&mut self, question: &Question) -> Answer {
        let shown = ShownQuestion(self);
        let mut queue = self.queue.clone();
        let mut changes = queue.changes();
        let mut deciding = std::pin::pin!(queue.decide(question));
        let mut is_shown = false;
        loop {
            tokio::select! {
                biased;
                answer = &mut deciding => return answer,
                // The queue exists as long as it decides.
                _changed = changes.changed(), if !is_shown => {
                    if let Some(open) = self.queue.waiting() {
                        is_shown = true;
                        shown.set(CallProgress::Question(Arc::new(open)));
                    }
                }
            }
        }
    }

    fn earlier_answer(&mut self, question: &Question) -> Option<Answer> {
        self.queue.earlier_answer(question)
    }

    fn can_ask(&self, at: ApproveAt) -> bool {
        self.queue.can_ask(at)
    }
}
