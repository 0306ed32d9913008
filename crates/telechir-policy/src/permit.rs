//! The proof that a call may run, or the denial.

use telechir_protocol::{CallId, SafetyCheck};

use crate::{Digest, PendingApproval, Proposal, RuleReason};

/// The proof that exactly this proposal may run. Only this crate can create one.
#[derive(Debug)]
pub struct Permitted<P> {
    proposal: P,
    digest: Digest,
    rule_reason: RuleReason,
    acknowledged: Vec<SafetyCheck>,
}

impl<P: Proposal> Permitted<P> {
    /// Created by a judgement or an approval, from the proposal that was judged.
    pub(crate) fn new(
        proposal: P,
        rule_reason: RuleReason,
        acknowledged: Vec<SafetyCheck>,
    ) -> Self {
        let digest = proposal.digest();
        Self {
            proposal,
            digest,
            rule_reason,
            acknowledged,
        }
    }

    /// The proposal that may run.
    pub fn proposal(&self) -> &P {
        &self.proposal
    }

    /// Digest of the proposal.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The verdict and its rule.
    pub fn rule_reason(&self) -> &RuleReason {
        &self.rule_reason
    }

    /// The provider's checks that the user acknowledged.
    pub fn acknowledged(&self) -> &[SafetyCheck] {
        &self.acknowledged
    }
}

/// A denial of a proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The rule or the user that denied it.
    pub rule: String,
    /// Why, as a sentence for the model and the operator.
    pub reason: String,
}

/// The result of judging a proposal.
#[derive(Debug)]
pub enum Judgement<P> {
    /// The proposal may run.
    Allowed(Permitted<P>),
    /// The user must be asked.
    Ask(PendingApproval<P>),
    /// The call with this id is denied.
    Denied(CallId, Denial),
}
