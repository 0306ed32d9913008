//! A question to the user about one exact proposal, and the decision, which is valid for no other.

use serde::{Deserialize, Serialize};
use telechir_protocol::{CallId, SafetyCheck};

use crate::{
    ApprovalShape, ApproveAt, ContainedParts, Denial, Digest, Permitted, Proposal, RuleReason,
};

/// The question as shown to the user. Created from the exact proposal, never from a model's
/// description; all text in it is escaped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Id of the call, escaped.
    pub call_id: CallId,
    /// Digest of the exact proposal.
    pub digest: Digest,
    /// Digest of the action without the ids of its call and checks: the same for the same action in
    /// a later call. Absent if another action could have it, too: hidden input is only counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Digest>,
    /// The form of the action; absent if it has none that could be approved for later calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<ApprovalShape>,
    /// The parts of the action, of which the user may have denied one; empty in a question that was
    /// sent to another process.
    #[serde(skip)]
    pub contained: ContainedParts,
    /// What would be done, completely: line breaks of the call are lines here. Shorten it with
    /// [`crate::fit_lines`] if it does not fit, and let nobody approve it before all of it was shown.
    pub lines: Vec<String>,
    /// The reasons for asking, without duplicates.
    pub reasons: Vec<String>,
    /// Whether the proposal has characters that are invisible or misleading.
    pub has_hidden_characters: bool,
    /// Where the question may be answered.
    #[serde(default)]
    pub approve: ApproveAt,
    /// The untrusted source that the session has read, escaped; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrusted_source: Option<String>,
    /// The provider's checks, escaped.
    pub safety_checks: Vec<SafetyCheck>,
    /// A yes that comes earlier than this many milliseconds after the question does not count; 0 if
    /// the policy has no such limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub min_answer_ms: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Question {
    /// What an approval for the rest of the session would cover. None if this question needs an
    /// answer of its own each time: the provider requires one, it has hidden characters, untrusted
    /// content was read, or a terminal may not answer it.
    pub fn session_shape(&self) -> Option<&ApprovalShape> {
        let is_plain = self.safety_checks.is_empty()
            && !self.has_hidden_characters
            && self.untrusted_source.is_none()
            && matches!(self.approve, ApproveAt::Any | ApproveAt::Terminal);
        self.shape.as_ref().filter(|_| is_plain)
    }

    /// The user's approval of exactly this question.
    pub fn approve(&self) -> Decision {
        Decision::Approve {
            digest: self.digest,
            trusts_content: false,
        }
    }

    /// The user's approval of exactly this question, and the decision to trust everything that the
    /// session has read so far.
    pub fn approve_and_trust(&self) -> Decision {
        Decision::Approve {
            digest: self.digest,
            trusts_content: true,
        }
    }
}

/// The user's decision on a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// Approval of the proposal with this digest.
    Approve {
        /// Digest of the question that was shown.
        digest: Digest,
        /// Whether the user trusts everything that the session has read so far.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        trusts_content: bool,
    },
    /// Denial of the proposal.
    Deny {
        /// Why, for the model.
        reason: String,
    },
}

/// A proposal that waits for a decision. Deciding consumes it, so no decision counts twice.
#[derive(Debug)]
pub struct PendingApproval<P> {
    proposal: P,
    question: Question,
    rule_reason: RuleReason,
    safety_checks: Vec<SafetyCheck>,
}

impl<P: Proposal> PendingApproval<P> {
    pub(crate) fn new(
        proposal: P,
        question: Question,
        rule_reason: RuleReason,
        safety_checks: Vec<SafetyCheck>,
    ) -> Self {
        Self {
            proposal,
            question,
            rule_reason,
            safety_checks,
        }
    }

    /// The question to show.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// Id of the call, unescaped.
    pub fn call_id(&self) -> &CallId {
        self.proposal.call_id()
    }

    /// The verdict and its rule.
    pub fn rule_reason(&self) -> &RuleReason {
        &self.rule_reason
    }

    /// Turns the decision into a permission or a denial.
    ///
    /// # Errors
    /// With the denial, if the user denied it or the decision is about another proposal.
    pub fn resolve(self, decision: Decision) -> Result<Permitted<P>, Denial> {
        match decision {
            Decision::Approve { digest, .. } => self.approve(digest),
            Decision::Deny { reason } => Err(self.deny(reason)),
        }
    }

    /// Approves the proposal with this digest.
    ///
    /// # Errors
    /// With a denial, if the digest is not that of this proposal.
    pub fn approve(self, digest: Digest) -> Result<Permitted<P>, Denial> {
        if digest != self.question.digest || digest != self.proposal.digest() {
            return Err(self.deny("The approval was for another proposal, so it is not valid."));
        }
        let rule_reason = RuleReason {
            rule: Denial::BY_USER.to_owned(),
            ..self.rule_reason
        };
        let permit = Permitted::new(self.proposal, rule_reason, self.safety_checks);
        Ok(permit.approved_for(self.question.reasons))
    }

    /// Denies the proposal, with a sentence for the model and the operator.
    pub fn deny(self, reason: impl Into<String>) -> Denial {
        Denial {
            rule: Denial::BY_USER.to_owned(),
            reason: reason.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use telechir_protocol::Command;

    use super::*;
    use crate::{ShellProposal, ShellTask, Verdict};

    fn proposal(line: &str) -> ShellProposal {
        ShellProposal {
            call_id: "c1".into(),
            task: ShellTask::Run(vec![Command::Line(line.to_owned())]),
            cwd: None,
            env: serde_json::Map::new(),
        }
    }

    /// A question about one proposal for another, which only a mistake of ours can create.
    fn pending(shown: &str, waiting: &str) -> PendingApproval<ShellProposal> {
        let question = Question {
            call_id: "c1".into(),
            digest: proposal(shown).digest(),
            action: None,
            shape: None,
            contained: ContainedParts::default(),
            lines: vec![format!("$ {shown}")],
            reasons: vec!["It writes.".to_owned()],
            has_hidden_characters: false,
            approve: ApproveAt::Any,
            untrusted_source: None,
            safety_checks: Vec::new(),
            min_answer_ms: 0,
        };
        let rule_reason = RuleReason::built_in(Verdict::Ask, "shell", "It writes.");
        PendingApproval::new(proposal(waiting), question, rule_reason, Vec::new())
    }

    #[test]
    fn an_approval_is_for_the_question_and_for_the_waiting_proposal() {
        let (shown, waiting) = (proposal("ls").digest(), proposal("rm x").digest());
        assert!(pending("ls", "rm x").approve(shown).is_err());
        assert!(pending("ls", "rm x").approve(waiting).is_err());
        assert!(pending("ls", "ls").approve(waiting).is_err());
        let permit = pending("ls", "ls").approve(shown).ok();
        let rule_reason = permit.map(|permit| permit.rule_reason().clone());
        let expected = RuleReason {
            rule: "the user".to_owned(),
            ..RuleReason::built_in(Verdict::Ask, "shell", "It writes.")
        };
        assert_eq!(rule_reason, Some(expected));
    }

    #[test]
    fn only_one_approval_also_trusts_what_was_read() {
        let pending = pending("ls", "ls");
        let question = pending.question();
        let digest = question.digest;
        for (decision, trusts_content) in [
            (question.approve(), false),
            (question.approve_and_trust(), true),
        ] {
            assert_eq!(
                decision,
                Decision::Approve {
                    digest,
                    trusts_content
                }
            );
        }
        assert_eq!(pending.call_id().as_str(), "c1");
        let denial = pending.deny("No.");
        assert_eq!(
            (denial.rule.as_str(), denial.reason.as_str()),
            ("the user", "No.")
        );
    }
}
