//! A question for a person about one exact proposal, and the answer that holds for no other.

use serde::{Deserialize, Serialize};
use telechir_protocol::{CallId, SafetyCheck};

use crate::{Denial, Digest, Permitted, Proposal, RuleReason};

/// What a person is shown. Made by us from the exact proposal, never from a model's words;
/// every text in it is escaped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The call it is about, escaped.
    pub call_id: CallId,
    /// The digest of the exact proposal.
    pub digest: Digest,
    /// What would be done, one line a step.
    pub lines: Vec<String>,
    /// Why a person is asked: each reason once.
    pub reasons: Vec<String>,
    /// Whether something in it would not be visible as it came.
    pub has_hidden_characters: bool,
    /// The provider's checks, escaped.
    pub safety_checks: Vec<SafetyCheck>,
}

impl Question {
    /// A person's yes to exactly this.
    pub fn approve(&self) -> Decision {
        Decision::Approve {
            digest: self.digest,
        }
    }
}

/// A person's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// Yes, to what has this digest.
    Approve {
        /// The digest of the question that was shown.
        digest: Digest,
    },
    /// No.
    Deny {
        /// Why, for the model.
        reason: String,
    },
}

/// A proposal that waits for an answer. Answering consumes it: no answer counts twice.
#[derive(Debug)]
pub struct Pending<P> {
    proposal: P,
    question: Question,
    ground: RuleReason,
    safety_checks: Vec<SafetyCheck>,
}

impl<P: Proposal> Pending<P> {
    pub(crate) fn new(
        proposal: P,
        question: Question,
        ground: RuleReason,
        safety_checks: Vec<SafetyCheck>,
    ) -> Self {
        Self {
            proposal,
            question,
            ground,
            safety_checks,
        }
    }

    /// What to show.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// The call it is about, as it came.
    pub fn call_id(&self) -> &CallId {
        self.proposal.call_id()
    }

    /// Why a person is asked.
    pub fn ground(&self) -> &RuleReason {
        &self.ground
    }

    /// Turns the answer into a permission or a refusal.
    ///
    /// # Errors
    /// With the refusal, when the answer is no or is about something else.
    pub fn settle(self, decision: Decision) -> Result<Permitted<P>, Denial> {
        match decision {
            Decision::Approve { digest } => self.approve(digest),
            Decision::Deny { reason } => Err(self.deny(reason)),
        }
    }

    /// A yes to what has this digest.
    ///
    /// # Errors
    /// With a refusal, when the digest is not that of this very proposal.
    pub fn approve(self, digest: Digest) -> Result<Permitted<P>, Denial> {
        if digest != self.question.digest || digest != self.proposal.digest() {
            return Err(self.deny("The approval was for something else, so it does not hold."));
        }
        let ground = RuleReason {
            rule: "a person".to_owned(),
            ..self.ground
        };
        Ok(Permitted::new(self.proposal, ground, self.safety_checks))
    }

    /// A no.
    pub fn deny(self, reason: impl Into<String>) -> Denial {
        Denial {
            rule: "a person".to_owned(),
            reason: reason.into(),
        }
    }
}
