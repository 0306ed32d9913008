//! The questions of a session as plain values: who may answer, which answer counts, and which ones
//! count for a later call. Reads no clock and waits for nothing.

use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use telechir_policy::{ApprovalShape, Decision, Interface, Question};
use telechir_runtime::{Answer, AnswerOrigin, AnswerWay};

use super::{AnswerScope, ApprovalCode};

/// How long an answer counts that came when its call no longer waited.
const RETENTION: Duration = Duration::from_secs(600);
/// Maximum number of questions whose calls wait no longer; the oldest is withdrawn.
const MAX_PARKED: usize = 32;
/// Number of answered questions that are remembered for those who answer later.
const MAX_SETTLED: usize = 64;
/// Maximum number of approvals for the rest of the session.
const MAX_REMEMBERED: usize = 256;

/// An answer as a person gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GivenAnswer {
    pub(super) decision: Decision,
    /// What the policy's `approve` is compared with.
    pub(super) interface: Interface,
    pub(super) way: AnswerWay,
    /// Who gave it, escaped.
    pub(super) by: String,
    /// For which calls it counts.
    pub(super) scope: AnswerScope,
}

/// Why an answer does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AnswerRefusal {
    /// No open question has this code.
    Unknown,
    /// Somebody was faster; how.
    Settled(String),
    /// The rule wants another interface.
    Elsewhere(String),
    /// The approval is of another question.
    OtherQuestion,
    /// The approval came faster than anybody reads: after so many milliseconds instead of these.
    TooFast(u64, u64),
    /// This question needs an answer of its own each time.
    OnceOnly,
    /// The user's file of choices could not be used.
    NotRemembered(String),
}

impl AnswerRefusal {
    /// Whether another answer of the same person can count.
    pub(super) fn may_be_mended(&self) -> bool {
        match self {
            Self::TooFast(..) | Self::OnceOnly | Self::NotRemembered(_) => true,
            Self::Unknown | Self::Settled(_) | Self::Elsewhere(_) | Self::OtherQuestion => false,
        }
    }
}

impl fmt::Display for AnswerRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("no open question has this code"),
            Self::Settled(how) => write!(f, "the question is already settled: {how}"),
            Self::Elsewhere(at) => write!(f, "the policy wants this approved at {at}"),
            Self::OtherQuestion => f.write_str("the approval is of another question"),
            Self::TooFast(after, min) => write!(
                f,
                "the approval came after {after} ms, and the policy wants at least {min} ms"
            ),
            Self::OnceOnly => {
                f.write_str("this question needs an answer each time, so none is remembered")
            }
            Self::NotRemembered(why) => f.write_str(why),
        }
    }
}

/// Who carries the answer of an accepted decision.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// The call waits for it.
    Waiting(Answer),
    /// The call has ended; a later call with the same action uses the answer once.
    Retained(Answer),
}

/// A question that can be answered.
#[derive(Clone, Debug)]
pub(super) struct OpenQuestion {
    pub(super) code: ApprovalCode,
    pub(super) question: Question,
    pub(super) opened_at: Instant,
    pub(super) expires_at: Instant,
    /// Whether its call waits for the answer.
    pub(super) is_waiting: bool,
}

/// An answer whose call had ended.
#[derive(Debug)]
struct RetainedAnswer {
    question: Question,
    answer: Answer,
    expires_at: Instant,
}

/// An approval for the rest of the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RememberedApproval {
    /// Names it in `approvals revoke`.
    pub number: u64,
    /// The calls that it covers.
    pub shape: ApprovalShape,
    /// Who gave it, escaped.
    pub by: String,
}

/// The questions of a session and the answers that still count.
#[derive(Debug, Default)]
pub(super) struct Queue {
    open: VecDeque<OpenQuestion>,
    /// Questions that are no longer open, with how they were settled.
    settled: VecDeque<(ApprovalCode, String)>,
    retained: Vec<RetainedAnswer>,
    remembered: Vec<RememberedApproval>,
    last_number: u64,
}

impl Queue {
    /// Adds a question whose call waits.
    pub(super) fn ask(
        &mut self,
        code: ApprovalCode,
        question: Question,
        now: Instant,
        open: Duration,
    ) {
        self.expire(now);
        self.open.push_back(OpenQuestion {
            code,
            question,
            opened_at: now,
            expires_at: now + open,
            is_waiting: true,
        });
    }

    /// The open questions, the oldest first.
    pub(super) fn open(&mut self, now: Instant) -> impl Iterator<Item = &OpenQuestion> {
        self.expire(now);
        self.open.iter()
    }

    pub(super) fn find(&mut self, code: &ApprovalCode, now: Instant) -> Option<&OpenQuestion> {
        self.expire(now);
        self.open.iter().find(|open| open.code == *code)
    }

    /// Settles a question. The first answer that counts wins.
    ///
    /// # Errors
    /// If the answer does not count; then nothing has changed.
    pub(super) fn answer(
        &mut self,
        code: &ApprovalCode,
        given: GivenAnswer,
        now: Instant,
    ) -> Result<Settled, AnswerRefusal> {
        self.check(code, &given, now)?;
        let index = self.open.iter().position(|open| open.code == *code);
        let Some(open) = index.and_then(|index| self.open.remove(index)) else {
            return Err(AnswerRefusal::Unknown);
        };
        let after_ms = millis(now.saturating_duration_since(open.opened_at));
        let is_approval = matches!(given.decision, Decision::Approve { .. });
        let outcome = if is_approval { "approved" } else { "denied" };
        let origin = AnswerOrigin {
            way: given.way,
            by: given.by,
            after_ms,
        };
        self.note_settled(open.code, format!("{outcome} {origin}"));
        if let (true, true, Some(shape)) = (
            given.scope == AnswerScope::Session,
            is_approval,
            open.question.session_shape(),
        ) {
            self.remember(shape.clone(), origin.by.clone());
        }
        let answer = Answer {
            decision: given.decision,
            origin: Some(origin),
        };
        if open.is_waiting {
            return Ok(Settled::Waiting(answer));
        }
        self.retained.push(RetainedAnswer {
            question: open.question,
            answer: answer.clone(),
            expires_at: now + RETENTION,
        });
        Ok(Settled::Retained(answer))
    }

    /// The question that this answer counts for.
    ///
    /// # Errors
    /// If the answer does not count.
    pub(super) fn check(
        &mut self,
        code: &ApprovalCode,
        given: &GivenAnswer,
        now: Instant,
    ) -> Result<&Question, AnswerRefusal> {
        self.expire(now);
        let Some(open) = self.open.iter().find(|open| open.code == *code) else {
            let how = self.settled(code).map(str::to_owned);
            return Err(how.map_or(AnswerRefusal::Unknown, AnswerRefusal::Settled));
        };
        check(
            open,
            given,
            millis(now.saturating_duration_since(open.opened_at)),
        )?;
        Ok(&open.question)
    }

    /// How a question was settled, if it is not too long ago.
    pub(super) fn settled(&self, code: &ApprovalCode) -> Option<&str> {
        let mut settled = self.settled.iter().rev();
        let found = settled.find(|(settled, _)| settled == code);
        found.map(|(_, how)| how.as_str())
    }

    /// Leaves a question open whose call waits no longer. False if it is not open.
    pub(super) fn park(&mut self, code: &ApprovalCode) -> bool {
        let found = self.open.iter_mut().find(|open| open.code == *code);
        let is_open = found.map(|open| open.is_waiting = false).is_some();
        let parked = |open: &OpenQuestion| !open.is_waiting;
        while self.open.iter().filter(|open| parked(open)).count() > MAX_PARKED {
            let oldest = self.open.iter().position(parked);
            let oldest = oldest.and_then(|index| self.open.remove(index));
            if let Some(oldest) = oldest {
                self.note_settled(oldest.code, "withdrawn for newer ones".to_owned());
            }
        }
        is_open
    }

    /// Ends a question whose call has ended.
    pub(super) fn withdraw(&mut self, code: &ApprovalCode) {
        let index = self.open.iter().position(|open| open.code == *code);
        if let Some(open) = index.and_then(|index| self.open.remove(index)) {
            self.note_settled(open.code, "the call ended before".to_owned());
        }
    }

    /// The answer to this question that came when its call no longer waited. It is then used up.
    pub(super) fn retained_answer(&mut self, question: &Question, now: Instant) -> Option<Answer> {
        self.expire(now);
        let is_same = |retained: &RetainedAnswer| is_same_action(&retained.question, question);
        let index = self.retained.iter().position(is_same)?;
        let retained = self.retained.remove(index).answer;
        Some(Answer {
            decision: for_question(retained.decision, question),
            origin: retained.origin,
        })
    }

    /// The answer to this question that was given earlier. A retained one is then used up.
    pub(super) fn earlier_answer(&mut self, question: &Question, now: Instant) -> Option<Answer> {
        if let Some(retained) = self.retained_answer(question, now) {
            return Some(retained);
        }
        let shape = question.session_shape()?;
        let mut remembered = self.remembered.iter();
        let rule = remembered.find(|rule| rule.shape.covers(shape))?;
        Some(Answer {
            decision: question.approve(),
            origin: Some(AnswerOrigin {
                way: AnswerWay::Remembered,
                by: format!("{}, number {}", rule.by, rule.number),
                after_ms: 0,
            }),
        })
    }

    /// The approvals for the rest of the session.
    pub(super) fn remembered(&self) -> &[RememberedApproval] {
        &self.remembered
    }

    /// Ends an approval for the rest of the session. False if there is none with this number.
    pub(super) fn revoke(&mut self, number: u64) -> bool {
        let before = self.remembered.len();
        self.remembered.retain(|rule| rule.number != number);
        self.remembered.len() < before
    }

    /// Ends every answer that was given for later calls.
    pub(super) fn revoke_all(&mut self) {
        self.remembered.clear();
        self.retained.clear();
    }

    fn remember(&mut self, shape: ApprovalShape, by: String) {
        if self.remembered.len() >= MAX_REMEMBERED {
            self.remembered.remove(0);
        }
        self.last_number += 1;
        self.remembered.push(RememberedApproval {
            number: self.last_number,
            shape,
            by,
        });
    }

    fn expire(&mut self, now: Instant) {
        self.retained.retain(|answer| now < answer.expires_at);
        while let Some(index) = self.open.iter().position(|open| now >= open.expires_at) {
            if let Some(open) = self.open.remove(index) {
                self.note_settled(open.code, "nobody answered in time".to_owned());
            }
        }
    }

    fn note_settled(&mut self, code: ApprovalCode, how: String) {
        if self.settled.len() >= MAX_SETTLED {
            self.settled.pop_front();
        }
        self.settled.push_back((code, how));
    }
}

/// Whether an answer counts for a question.
fn check(open: &OpenQuestion, given: &GivenAnswer, after_ms: u64) -> Result<(), AnswerRefusal> {
    let question = &open.question;
    // A denial counts from everywhere.
    let Decision::Approve { digest, .. } = &given.decision else {
        return match (given.scope, &question.shape) {
            (AnswerScope::Always, None) => Err(AnswerRefusal::OnceOnly),
            _ => Ok(()),
        };
    };
    if !question.approve.admits(given.interface) {
        return Err(AnswerRefusal::Elsewhere(question.approve.to_string()));
    }
    if *digest != question.digest {
        return Err(AnswerRefusal::OtherQuestion);
    }
    if after_ms < question.min_answer_ms {
        return Err(AnswerRefusal::TooFast(after_ms, question.min_answer_ms));
    }
    if given.scope != AnswerScope::Once && question.session_shape().is_none() {
        return Err(AnswerRefusal::OnceOnly);
    }
    Ok(())
}

/// Whether two questions are about the same action for the same reasons, in calls with different
/// ids. Actions that cannot be compared are never the same.
fn is_same_action(one: &Question, other: &Question) -> bool {
    let checks = |question: &Question| -> Vec<_> {
        let checks = question.safety_checks.iter();
        let of =
            |check: &telechir_protocol::SafetyCheck| (check.code.clone(), check.message.clone());
        checks.map(of).collect()
    };
    one.action.is_some()
        && one.action == other.action
        && one.lines == other.lines
        && one.reasons == other.reasons
        && one.approve == other.approve
        && one.untrusted_source == other.untrusted_source
        && checks(one) == checks(other)
}

/// The decision as one on a question about the same action.
fn for_question(decision: Decision, question: &Question) -> Decision {
    match decision {
        Decision::Approve { trusts_content, .. } => Decision::Approve {
            digest: question.digest,
            trusts_content,
        },
        Decision::Deny { reason } => Decision::Deny { reason },
    }
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
pub(super) mod tests;
