//! A question to the user about one exact proposal, and the decision, which is valid for no other.

use serde::{Deserialize, Serialize};
use telechir_protocol::{CallId, SafetyCheck};

use crate::{ApproveAt, Denial, Digest, Permitted, Proposal, RuleReason};

/// The question as shown to the user. Created from the exact proposal, never from a model's
/// description; all text in it is escaped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Id of the call, escaped.
    pub call_id: CallId,
    /// Digest of the exact proposal.
    pub digest: Digest,
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
}

impl Question {
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
