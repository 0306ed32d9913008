//! The approval queue: the one list of a session's questions, and the ways in which they are answered.
//!
//! `queue`: what counts, as plain values. `code`: the names of questions. `peer`: which processes may
//! answer. `surroundings`: what the sessions of this user drive, beside which nobody can be told apart.

mod code;
mod peer;
mod queue;
mod surroundings;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use telechir_policy::{ApproveAt, Decision, Interface, Question};
use telechir_protocol::CallId;
use telechir_runtime::{Answer, AnswerWay, Approver};
use tokio::sync::{oneshot, watch};

use queue::{AnswerRefusal, GivenAnswer, OpenQuestion, Queue, Settled, millis};

pub use code::ApprovalCode;
pub use peer::{PeerProcess, PeerRefusal};
pub use queue::RememberedApproval;
pub use surroundings::{SurroundingMark, Surroundings};

/// A question that waits for an answer, as clients show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenApproval {
    /// Names the question among all sessions of the user.
    pub code: ApprovalCode,
    /// The question with everything that a person must see.
    pub question: Question,
    /// Milliseconds since it appeared.
    pub age_ms: u64,
    /// Milliseconds until it is withdrawn.
    pub expires_in_ms: u64,
    /// Whether its call waits for the answer. Otherwise the next call with the same action uses it.
    pub is_waiting: bool,
    /// Whether the caller may ask its user. If not, only others can answer.
    pub open_to_caller: bool,
    /// Why `telechir approve` does not count for this question; absent if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_to_commands: Option<String>,
}

/// The reply of the client whose call waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallerReply {
    /// The user of the client decided.
    Decided {
        /// The decision on exactly this question.
        decision: Decision,
        /// Whether an approval counts for the rest of the session.
        #[serde(default)]
        remembers: bool,
        /// Who decided, such as the name of the client.
        by: String,
    },
    /// Nobody can be asked there.
    Closed,
    /// The client reported something else than a yes, possibly without showing the question.
    Declined,
    /// The call waits no longer. The question stays open for others.
    Parked,
}

/// Where the client whose call is executed asks its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerWay {
    /// What a rule's `approve` is compared with.
    pub interface: Interface,
    /// The way as it is recorded.
    pub way: AnswerWay,
}

/// An answer with a command of telechir in another terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandAnswer {
    /// The decision on exactly this question.
    pub decision: Decision,
    /// Whether an approval counts for the rest of the session.
    #[serde(default)]
    pub remembers: bool,
}

/// What a session knows about a code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundApproval {
    /// The open question with this code.
    pub open: Option<OpenApproval>,
    /// How the question was settled that had this code.
    pub settled: Option<String>,
}

/// An answer that was settled when no call waited for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateAnswer {
    /// Id of the call that had ended.
    pub call_id: CallId,
    /// The answer, which the next call with the same action uses.
    pub answer: Answer,
}

impl LateAnswer {
    /// Whether it approves, and the reason of a denial, escaped.
    pub(crate) fn outcome(&self) -> (bool, Option<String>) {
        match &self.answer.decision {
            Decision::Approve { .. } => (true, None),
            Decision::Deny { reason } => (false, Some(telechir_policy::escape(reason))),
        }
    }
}

/// The questions of one session. Clones share them; one of them is the session's approver.
#[derive(Clone, Debug)]
pub struct ApprovalQueue {
    shared: Arc<Shared>,
    /// How long a question stays open.
    open_time: Duration,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Changes when a question begins or ceases to wait.
    changes: watch::Sender<()>,
    surroundings: Surroundings,
}

#[derive(Debug, Default)]
struct State {
    queue: Queue,
    waiting: Option<WaitingCall>,
    caller: Option<CallerWay>,
}

/// The call that waits. A session executes one at a time.
#[derive(Debug)]
struct WaitingCall {
    code: ApprovalCode,
    settle: oneshot::Sender<Answer>,
    /// Whether the caller can still answer.
    open_to_caller: bool,
    /// Whether the caller answered for its user, which may have seen nothing.
    was_declined: bool,
}

impl ApprovalQueue {
    /// Creates the queue of a session whose questions stay open this long.
    pub fn new(open_time: Duration, surroundings: Surroundings) -> Self {
        let shared = Shared {
            state: Mutex::default(),
            changes: watch::Sender::new(()),
            surroundings,
        };
        Self {
            shared: Arc::new(shared),
            open_time,
        }
    }

    /// Asks the caller of the next call on this way; none if it has none, or is gone. A question that
    /// waits is then closed to the earlier caller.
    pub fn set_caller(&self, caller: Option<CallerWay>) {
        self.lock().caller = caller;
        let code = self.lock().waiting.as_ref().map(|call| call.code.clone());
        if let Some(code) = code {
            self.close_caller(&code, false);
        }
    }

    /// Changes whenever a question begins or ceases to wait.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.shared.changes.subscribe()
    }

    /// The question that the running call waits for.
    pub fn waiting(&self) -> Option<OpenApproval> {
        let code = self.lock().waiting.as_ref()?.code.clone();
        self.find(&code)
    }

    /// The open questions, the oldest first.
    pub fn list(&self) -> Vec<OpenApproval> {
        let now = Instant::now();
        let mut state = self.lock();
        let open: Vec<_> = state.queue.open(now).cloned().collect();
        open.iter()
            .map(|open| self.describe(&state, open, now))
            .collect()
    }

    /// How a question was settled that is no longer open; none if nothing is known about it.
    pub fn settled(&self, code: &ApprovalCode) -> Option<String> {
        self.lock().queue.settled(code).map(str::to_owned)
    }

    /// The open question with this code.
    pub fn find(&self, code: &ApprovalCode) -> Option<OpenApproval> {
        let now = Instant::now();
        let mut state = self.lock();
        let open = state.queue.find(code, now)?.clone();
        Some(self.describe(&state, &open, now))
    }

    /// Takes the reply of the client whose call waits for this question; `peer` is the process that
    /// sent it. A reply to another question changes nothing.
    ///
    /// # Errors
    /// With a sentence, if the process may not answer; then the client's way is closed.
    pub fn caller_replied(
        &self,
        code: &ApprovalCode,
        reply: CallerReply,
        peer: &PeerProcess,
    ) -> Result<(), String> {
        if !matches!(reply, CallerReply::Decided { .. }) {
            self.take_reply(code, reply);
            return Ok(());
        }
        let is_terminal = self.lock().caller.map(|caller| caller.way) == Some(AnswerWay::Terminal);
        let checked =
            self.check(peer)
                .and_then(|()| match is_terminal && peer.terminal().is_none() {
                    true => {
                        Err("the caller has no terminal at which its user could answer".to_owned())
                    }
                    false => Ok(()),
                });
        match checked {
            Ok(()) => self.take_reply(code, reply),
            Err(_) => self.close_caller(code, true),
        }
        checked
    }

    /// Takes the reply of a process that may answer.
    fn take_reply(&self, code: &ApprovalCode, reply: CallerReply) {
        match reply {
            CallerReply::Decided {
                decision,
                remembers,
                by,
            } => self.caller_decided(code, decision, remembers, &by),
            CallerReply::Closed => self.close_caller(code, false),
            CallerReply::Declined => self.close_caller(code, true),
            CallerReply::Parked => self.park(code),
        }
    }

    /// Takes the answer of a person at a command. Who may answer is checked here: `peer` is the process
    /// that sent it.
    ///
    /// # Errors
    /// With a sentence for the person, if the answer does not count.
    pub fn answer(
        &self,
        code: &ApprovalCode,
        answer: CommandAnswer,
        peer: &PeerProcess,
    ) -> Result<Option<LateAnswer>, String> {
        self.check(peer)?;
        self.answer_from(code, answer, peer.terminal(), peer.to_string())
    }

    /// Takes the answer of a process that may answer.
    fn answer_from(
        &self,
        code: &ApprovalCode,
        answer: CommandAnswer,
        terminal: Option<String>,
        by: String,
    ) -> Result<Option<LateAnswer>, String> {
        if let Some(why) = self.shared.surroundings.closed_to_commands() {
            return Err(why);
        }
        let is_approval = matches!(answer.decision, Decision::Approve { .. });
        if is_approval && terminal.is_none() {
            return Err(
                "an approval counts only at a terminal, where a person reads the question; run the \
                 command in one"
                    .to_owned(),
            );
        }
        let given = GivenAnswer {
            decision: answer.decision,
            interface: terminal.map_or(Interface::Other, |_| Interface::Terminal),
            way: AnswerWay::Command,
            by,
            remembers: answer.remembers,
        };
        self.settle(code, given)
            .map_err(|refusal| refusal.to_string())
    }

    /// Whether a process may answer questions.
    ///
    /// # Errors
    /// With a sentence for the person who answers there.
    pub fn check(&self, peer: &PeerProcess) -> Result<(), String> {
        let checked = peer.check(&self.shared.surroundings);
        checked.map_err(|refusal| refusal.to_string())
    }

    /// The approvals for the rest of the session.
    pub fn remembered(&self) -> Vec<RememberedApproval> {
        self.lock().queue.remembered().to_vec()
    }

    /// Ends an approval for the rest of the session. False if there is none with this number.
    pub fn revoke(&self, number: u64) -> bool {
        self.lock().queue.revoke(number)
    }

    /// Ends every approval that was given for later calls, as a new policy requires.
    pub fn revoke_all(&self) {
        self.lock().queue.revoke_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn describe(&self, state: &State, open: &OpenQuestion, now: Instant) -> OpenApproval {
        let waiting = state.waiting.as_ref();
        let waiting = waiting.filter(|call| call.code == open.code);
        OpenApproval {
            code: open.code.clone(),
            question: open.question.clone(),
            age_ms: millis(now.saturating_duration_since(open.opened_at)),
            expires_in_ms: millis(open.expires_at.saturating_duration_since(now)),
            is_waiting: waiting.is_some(),
            open_to_caller: waiting.is_some_and(|call| call.open_to_caller),
            closed_to_commands: self.closed_to_commands(open.question.approve),
        }
    }

    /// Why commands in other terminals do not count.
    fn closed_to_commands(&self, approve: ApproveAt) -> Option<String> {
        if !approve.admits(Interface::Terminal) {
            return Some(format!("the policy wants this approved at {approve}"));
        }
        self.shared.surroundings.closed_to_commands()
    }

    fn caller_decided(&self, code: &ApprovalCode, decision: Decision, remembers: bool, by: &str) {
        let caller = self.lock().caller;
        let is_open = |call: &WaitingCall| call.code == *code && call.open_to_caller;
        let (Some(caller), true) = (caller, self.lock().waiting.as_ref().is_some_and(is_open))
        else {
            return;
        };
        let given = GivenAnswer {
            decision,
            interface: caller.interface,
            way: caller.way,
            by: telechir_policy::escape(by),
            // A client reports what its user chose; only a terminal shows what would be remembered.
            remembers: remembers && caller.way == AnswerWay::Terminal,
        };
        match self.settle(code, given) {
            Ok(_) => {}
            Err(refusal) => {
                tracing::warn!(%refusal, "the answer of the caller does not count");
                self.close_caller(code, true);
            }
        }
    }

    fn settle(
        &self,
        code: &ApprovalCode,
        given: GivenAnswer,
    ) -> Result<Option<LateAnswer>, AnswerRefusal> {
        let mut state = self.lock();
        let now = Instant::now();
        let call_id = state.queue.find(code, now);
        let call_id = call_id.map(|open| open.question.call_id.clone());
        let settled = state.queue.answer(code, given, now)?;
        let late = match settled {
            Settled::Waiting(answer) => {
                state.release(code, answer);
                None
            }
            Settled::Retained(answer) => call_id.map(|call_id| LateAnswer { call_id, answer }),
        };
        drop(state);
        self.shared.changes.send_replace(());
        Ok(late)
    }

    /// Closes the caller's way. Without another one the question is denied.
    fn close_caller(&self, code: &ApprovalCode, was_declined: bool) {
        let mut state = self.lock();
        let Some(call) = state.waiting.as_mut().filter(|call| call.code == *code) else {
            return;
        };
        call.open_to_caller = false;
        call.was_declined |= was_declined;
        let was_declined = call.was_declined;
        let now = Instant::now();
        let approve = state.queue.find(code, now);
        let approve = approve.map_or(ApproveAt::Nowhere, |open| open.question.approve);
        if let Some(why) = self.closed_to_commands(approve) {
            let reason = format!("{}, and {why}.", unanswered(was_declined));
            state.queue.withdraw(code);
            state.release(code, Answer::from(Decision::Deny { reason }));
        }
        drop(state);
        self.shared.changes.send_replace(());
    }

    /// Answers the call and leaves the question open for others.
    fn park(&self, code: &ApprovalCode) {
        let mut state = self.lock();
        let Some(call) = state.waiting.as_ref().filter(|call| call.code == *code) else {
            return;
        };
        let was_declined = call.was_declined;
        let now = Instant::now();
        let open = state.queue.find(code, now).cloned();
        let closed = open.as_ref().and_then(|open| {
            let has_digest = open.question.action.is_some();
            let no_repeat = "hidden input cannot be approved for a later call".to_owned();
            self.closed_to_commands(open.question.approve)
                .or_else(|| (!has_digest).then_some(no_repeat))
        });
        let reason = match (open, closed) {
            (Some(open), None) => {
                state.queue.park(code);
                let left = open.expires_at.saturating_duration_since(now).as_secs();
                format!(
                    "{}. The user can approve it within {left} s with `telechir approve {code}` in a \
                     terminal; then send the same call again: the approval counts once, for ten minutes.",
                    unanswered(was_declined)
                )
            }
            (_, why) => {
                state.queue.withdraw(code);
                let why = why.map(|why| format!(", and {why}")).unwrap_or_default();
                format!("{}{why}.", unanswered(was_declined))
            }
        };
        state.release(code, Answer::from(Decision::Deny { reason }));
        drop(state);
        self.shared.changes.send_replace(());
    }
}

/// Why a call has no answer, without the end of the sentence.
fn unanswered(was_declined: bool) -> &'static str {
    match was_declined {
        true => {
            "It needs the user's approval; the client answered no, possibly without showing the question"
        }
        false => "It needs the user's approval, and nobody has answered yet",
    }
}

impl State {
    /// Answers the call that waits for this question.
    fn release(&mut self, code: &ApprovalCode, answer: Answer) {
        if let Some(call) = self.waiting.take_if(|call| call.code == *code) {
            // The call may be cancelled at this moment.
            let _cancelled = call.settle.send(answer);
        }
    }
}

/// Withdraws a question whose call is cancelled or out of time.
struct WaitGuard<'a> {
    queue: &'a ApprovalQueue,
    code: ApprovalCode,
}

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        if state
            .waiting
            .take_if(|call| call.code == self.code)
            .is_some()
        {
            state.queue.withdraw(&self.code);
            drop(state);
            self.queue.shared.changes.send_replace(());
        }
    }
}

impl Approver for ApprovalQueue {
    async fn decide(&mut self, question: &Question) -> Answer {
        let Ok(code) = ApprovalCode::random() else {
            let reason = "It needs the user's approval, and the system has no random numbers.";
            return Answer::from(Decision::Deny {
                reason: reason.to_owned(),
            });
        };
        let (settle, answered) = oneshot::channel();
        let open_to_caller = {
            let mut state = self.lock();
            let caller = state.caller;
            let open_to_caller = caller.is_some_and(|way| question.approve.admits(way.interface));
            let now = Instant::now();
            state
                .queue
                .ask(code.clone(), question.clone(), now, self.open_time);
            state.waiting = Some(WaitingCall {
                code: code.clone(),
                settle,
                open_to_caller,
                was_declined: false,
            });
            open_to_caller
        };
        let guard = WaitGuard {
            queue: self,
            code: code.clone(),
        };
        if open_to_caller {
            self.shared.changes.send_replace(());
        } else {
            self.close_caller(&code, false);
        }
        let answer = answered.await;
        drop(guard);
        answer.unwrap_or_else(|_| {
            Answer::from(Decision::Deny {
                reason: "The question was withdrawn.".to_owned(),
            })
        })
    }

    fn earlier_answer(&mut self, question: &Question) -> Option<Answer> {
        self.lock().queue.earlier_answer(question, Instant::now())
    }

    fn can_ask(&self, at: ApproveAt) -> bool {
        let caller = self.lock().caller;
        caller.is_some_and(|way| at.admits(way.interface)) || at.admits(Interface::Terminal)
    }
}

#[cfg(test)]
mod tests;
