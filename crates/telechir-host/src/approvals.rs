//! The approval queue: the one list of a session's questions, and the ways in which they are answered.
//!
//! `queue`: what counts, as plain values. `code`: the names of questions. `choices`: the user's answers
//! for all sessions. `peer`: which processes may answer. `unsandboxed`: what the sessions of this user drive, beside which nobody can be told apart.

mod choices;
mod code;
mod peer;
mod queue;
mod unsandboxed;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use telechir_policy::{ApproveAt, Decision, Digest, Interface, Question};
use telechir_protocol::CallId;
use telechir_runtime::{Answer, AnswerOrigin, AnswerWay, Approver};
use tokio::sync::{oneshot, watch};

use crate::tokens::{BearerToken, Role, TokenFile};
use queue::{AnswerRefusal, GivenAnswer, OpenQuestion, Queue, Settled, millis};

pub use choices::{ChoiceFile, StandingChoice, StandingDecision};
pub use code::ApprovalCode;
pub use peer::{PeerProcess, PeerRefusal};
pub use queue::RememberedApproval;

pub use unsandboxed::{UnsandboxedDevice, UnsandboxedDevices};

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
    /// Whether an answer at a terminal can count in all sessions.
    #[serde(default)]
    pub can_be_standing: bool,
    /// Why no remembered choice counts; absent if they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// For which calls an answer counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerScope {
    /// The one that was asked about.
    #[default]
    Once,
    /// Calls of its shape for the rest of the session; approvals only.
    Session,
    /// Calls of its shape in all sessions, until it is revoked.
    Always,
}

/// Where the user's choices for all sessions are, and what tells this session from others.
#[derive(Clone, Debug)]
pub struct StandingChoices {
    /// The file of all choices.
    pub file: ChoiceFile,
    /// The devices of the session, as flags: an approval counts for the same ones only.
    pub devices: String,
}

/// The reply of the client whose call waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallerReply {
    /// The user of the client decided.
    Decided {
        /// The decision on exactly this question.
        decision: Decision,
        /// For which calls it counts; only a terminal can answer for more than this one.
        #[serde(default)]
        scope: AnswerScope,
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
    /// For which calls it counts; only a terminal can answer for more than this one.
    #[serde(default)]
    pub scope: AnswerScope,
}

/// An answer over the HTTP API. The session host checks the token itself, so that no other program can
/// answer in its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorAnswer {
    /// The decision on exactly this question.
    pub decision: Decision,
    /// For which calls it counts; never for all sessions.
    #[serde(default)]
    pub scope: AnswerScope,
    /// Digest of the question that was answered; another one is refused.
    pub digest: Digest,
    /// The token of an operator.
    pub token: BearerToken,
}

impl OperatorAnswer {
    /// The operator whose token this is.
    pub(crate) fn principal(&self, tokens: Option<&TokenFile>) -> Result<String, String> {
        operator_of(&self.token, tokens)
    }
}

/// The operator whose token this is.
pub(crate) fn operator_of(
    token: &BearerToken,
    tokens: Option<&TokenFile>,
) -> Result<String, String> {
    let found = tokens.map_or(Ok(None), |tokens| tokens.find(token));
    let found = found.map_err(|e| e.to_string())?;
    let operator = found.filter(|record| record.role == Role::Operator);
    let operator = operator.ok_or("the request has no valid token of an operator")?;
    Ok(operator.principal())
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
    unsandboxed: UnsandboxedDevices,
    standing: Option<StandingChoices>,
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
    pub fn new(
        open_time: Duration,
        unsandboxed: UnsandboxedDevices,
        standing: Option<StandingChoices>,
    ) -> Self {
        let shared = Shared {
            state: Mutex::default(),
            changes: watch::Sender::new(()),
            unsandboxed,
            standing,
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
    /// With a sentence, if the answer does not count. At a terminal the client may then ask again if
    /// the question is still open to it; every other way is closed.
    pub fn caller_replied(
        &self,
        code: &ApprovalCode,
        reply: CallerReply,
        peer: &PeerProcess,
    ) -> Result<(), String> {
        if !matches!(reply, CallerReply::Decided { .. }) {
            return self.take_reply(code, reply);
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
        if let Err(why) = checked {
            self.close_caller(code, true);
            return Err(why);
        }
        self.take_reply(code, reply)
    }

    /// Takes the reply of a process that may answer.
    pub(crate) fn take_reply(&self, code: &ApprovalCode, reply: CallerReply) -> Result<(), String> {
        match reply {
            CallerReply::Decided {
                decision,
                scope,
                by,
            } => return self.caller_decided(code, decision, scope, &by),
            CallerReply::Closed => self.close_caller(code, false),
            CallerReply::Declined => self.close_caller(code, true),
            CallerReply::Parked => self.park(code),
        }
        Ok(())
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
        if let Some(why) = self.shared.unsandboxed.closed_to_commands() {
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
            scope: match terminal {
                Some(_) => answer.scope,
                None => AnswerScope::Once,
            },
            interface: terminal.map_or(Interface::Other, |_| Interface::Terminal),
            way: AnswerWay::Command,
            by,
        };
        self.settle(code, given)
            .map_err(|refusal| refusal.to_string())
    }

    /// Takes the answer of an operator of the HTTP API, whose token was found; `peer` is the server.
    ///
    /// # Errors
    /// With a sentence for the operator, if the answer does not count.
    pub fn answer_as_operator(
        &self,
        code: &ApprovalCode,
        answer: OperatorAnswer,
        peer: &PeerProcess,
        by: String,
    ) -> Result<Option<LateAnswer>, String> {
        self.check_operator(peer)?;
        let open = self.find(code);
        if open.is_some_and(|open| open.question.digest != answer.digest) {
            return Err(
                "`digest` is not that of this question; read the question again".to_owned(),
            );
        }
        let given = GivenAnswer {
            decision: answer.decision,
            interface: Interface::Other,
            way: AnswerWay::Http,
            by,
            scope: match answer.scope {
                AnswerScope::Session => AnswerScope::Session,
                AnswerScope::Once | AnswerScope::Always => AnswerScope::Once,
            },
        };
        self.settle(code, given)
            .map_err(|refusal| refusal.to_string())
    }

    /// Whether a process may answer questions.
    ///
    /// # Errors
    /// With a sentence for the person who answers there.
    pub fn check(&self, peer: &PeerProcess) -> Result<(), String> {
        let checked = peer.check(&self.shared.unsandboxed);
        checked.map_err(|refusal| refusal.to_string())
    }

    /// Whether an operator at this server may act as a person: under the same conditions as their
    /// answers count.
    ///
    /// # Errors
    /// With a sentence for the person.
    pub fn check_operator(&self, server: &PeerProcess) -> Result<(), String> {
        self.check(server)?;
        match self.shared.unsandboxed.closed_to_commands() {
            Some(why) => Err(why),
            None => Ok(()),
        }
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
            can_be_standing: self.shared.standing.is_some() && open.question.shape.is_some(),
            problem: self.standing_problem(),
        }
    }

    /// Why the user's choices for all sessions do not count.
    fn standing_problem(&self) -> Option<String> {
        let standing = self.shared.standing.as_ref()?;
        standing.file.choices().err()
    }

    /// Why commands in other terminals do not count.
    fn closed_to_commands(&self, approve: ApproveAt) -> Option<String> {
        if !approve.admits(Interface::Terminal) {
            return Some(format!("the policy wants this approved at {approve}"));
        }
        self.shared.unsandboxed.closed_to_commands()
    }

    fn caller_decided(
        &self,
        code: &ApprovalCode,
        decision: Decision,
        scope: AnswerScope,
        by: &str,
    ) -> Result<(), String> {
        let caller = self.lock().caller;
        let is_open = |call: &WaitingCall| call.code == *code && call.open_to_caller;
        let (Some(caller), true) = (caller, self.lock().waiting.as_ref().is_some_and(is_open))
        else {
            return Err("the question is not open to this client any more".to_owned());
        };
        let is_terminal = caller.way == AnswerWay::Terminal;
        let given = GivenAnswer {
            decision,
            interface: caller.interface,
            way: caller.way,
            by: telechir_policy::escape(by),
            // A client reports what its user chose; only a terminal shows what would be remembered.
            scope: if is_terminal {
                scope
            } else {
                AnswerScope::Once
            },
        };
        let Err(refusal) = self.settle(code, given) else {
            return Ok(());
        };
        // Whoever sits at a terminal reads the reason and answers again.
        if !(is_terminal && refusal.may_be_mended()) {
            self.close_caller(code, true);
        }
        Err(refusal.to_string())
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
        self.remember_always(&mut state.queue, code, &given, now)?;
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

    /// Writes an answer that counts and is for all sessions to the user's file.
    fn remember_always(
        &self,
        queue: &mut Queue,
        code: &ApprovalCode,
        given: &GivenAnswer,
        now: Instant,
    ) -> Result<(), AnswerRefusal> {
        if given.scope != AnswerScope::Always {
            return Ok(());
        }
        let question = queue.check(code, given, now)?;
        let (decision, shape) = match given.decision {
            Decision::Approve { .. } => (StandingDecision::Allow, question.session_shape()),
            Decision::Deny { .. } => (StandingDecision::Deny, question.shape.as_ref()),
        };
        let (Some(standing), Some(shape)) = (&self.shared.standing, shape) else {
            return Err(AnswerRefusal::OnceOnly);
        };
        let by = format!("{}, {}", given.way, given.by);
        let added = standing
            .file
            .add(decision, shape.clone(), &standing.devices, &by);
        added.map(drop).map_err(AnswerRefusal::NotRemembered)
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

/// The answer that the user chose for all calls like this one.
fn standing_answer(choice: &StandingChoice, question: &Question) -> Answer {
    let decision = match choice.decision {
        StandingDecision::Allow => question.approve(),
        StandingDecision::Deny => Decision::Deny {
            reason: format!(
                "The user denied such calls in all sessions: {}.",
                choice.shape
            ),
        },
    };
    Answer {
        decision,
        origin: Some(AnswerOrigin {
            way: AnswerWay::Remembered,
            by: format!("{}, number {} of all sessions", choice.by, choice.number),
            after_ms: 0,
        }),
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
        let standing = self.shared.standing.as_ref();
        let found = standing.map(|standing| standing.file.find(question, &standing.devices));
        let choice = found.unwrap_or(Ok(None));
        let now = Instant::now();
        let mut state = self.lock();
        let queue = &mut state.queue;
        match choice {
            // What the file would deny is unknown: only the answer to this very call counts.
            Err(problem) => {
                tracing::warn!(problem, "remembered choices do not count");
                queue.retained_answer(question, now)
            }
            Ok(Some(choice)) if choice.decision == StandingDecision::Deny => {
                Some(standing_answer(&choice, question))
            }
            Ok(choice) => queue
                .earlier_answer(question, now)
                .or_else(|| Some(standing_answer(&choice?, question))),
        }
    }

    fn can_ask(&self, at: ApproveAt) -> bool {
        let caller = self.lock().caller;
        caller.is_some_and(|way| at.admits(way.interface)) || at.admits(Interface::Terminal)
    }
}

#[cfg(test)]
pub(crate) use queue::tests::question;

#[cfg(test)]
mod tests;
