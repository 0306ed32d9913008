//! Asks the clients that follow a turn for approvals.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use telechir_policy::{ApproveAt, Decision, Interface, Question};
use telechir_runtime::{Answer, Approver};
use tokio::sync::oneshot;

use super::calls::{CallProgress, CallTable};
use crate::OpenApproval;

/// Shows the questions of a session's policy to the clients that follow the turn, and waits for the
/// first answer of any client.
#[derive(Clone, Debug)]
pub struct HostApprover {
    calls: Arc<CallTable>,
    state: Arc<Mutex<ApproverState>>,
}

#[derive(Debug)]
struct ApproverState {
    /// Where the client of the current turn asks the user.
    interface: Interface,
    /// Number of questions so far, from which the next one gets its code.
    questions: u64,
    open: Option<OpenQuestion>,
}

#[derive(Debug)]
struct OpenQuestion {
    approval: Arc<OpenApproval>,
    answer: oneshot::Sender<Decision>,
}

impl HostApprover {
    pub(super) fn new(calls: Arc<CallTable>) -> Self {
        let state = ApproverState {
            interface: Interface::Other,
            questions: 0,
            open: None,
        };
        Self {
            calls,
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Sets where the client of the next turn asks the user.
    pub(super) fn set_interface(&self, interface: Interface) {
        self.lock().interface = interface;
    }

    /// The questions that wait for an answer.
    pub(super) fn open(&self) -> Vec<OpenApproval> {
        let state = self.lock();
        let open = state.open.iter();
        open.map(|open| OpenApproval::clone(&open.approval))
            .collect()
    }

    /// Answers the question with this code. Returns whether it still waited.
    pub(super) fn answer(&self, code: &str, decision: Decision) -> bool {
        let mut state = self.lock();
        let open = state.open.take_if(|open| open.approval.code == code);
        open.is_some_and(|open| open.answer.send(decision).is_ok())
    }

    /// Opens a question of the current turn; none without a turn.
    fn pose(&self, question: &Question) -> Option<(OpenGuard<'_>, oneshot::Receiver<Decision>)> {
        let call = self.calls.current()?;
        let mut state = self.lock();
        state.questions += 1;
        let code = state.questions.to_string();
        let approval = Arc::new(OpenApproval {
            code: code.clone(),
            key: call.key.clone(),
            question: question.clone(),
        });
        let (answer, decision) = oneshot::channel();
        state.open = Some(OpenQuestion {
            approval: Arc::clone(&approval),
            answer,
        });
        call.set(CallProgress::Question(approval));
        let approver = self;
        Some((OpenGuard { approver, code }, decision))
    }

    fn lock(&self) -> MutexGuard<'_, ApproverState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Withdraws a question when it is answered, or nobody waits for the answer any more.
struct OpenGuard<'a> {
    approver: &'a HostApprover,
    code: String,
}

impl Drop for OpenGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.approver.lock();
        state.open.take_if(|open| open.approval.code == self.code);
        drop(state);
        if let Some(call) = self.approver.calls.current() {
            call.set(CallProgress::Started);
        }
    }
}

impl Approver for HostApprover {
    fn can_ask(&self, at: ApproveAt) -> bool {
        at.admits(self.lock().interface)
    }

    async fn decide(&mut self, question: &Question) -> Answer {
        let decision = match self.pose(question) {
            Some((_open, decision)) => decision.await.ok(),
            None => None,
        };
        Answer::from(decision.unwrap_or_else(|| Decision::Deny {
            reason: "This needs the user's approval, and the client is gone.".to_owned(),
        }))
    }
}
