//! The proof that a call may run, and what stands in its place when it may not.

use telechir_protocol::{CallId, SafetyCheck};

use crate::{Digest, Pending, Proposal, RuleReason};

/// The proof that exactly this may run. Nothing outside this crate can make one.
#[derive(Debug)]
pub struct Permitted<P> {
    proposal: P,
    digest: Digest,
    ground: RuleReason,
    acknowledged: Vec<SafetyCheck>,
}

impl<P: Proposal> Permitted<P> {
    /// Made by a judgement or an approval, from the very proposal that was judged.
    pub(crate) fn new(proposal: P, ground: RuleReason, acknowledged: Vec<SafetyCheck>) -> Self {
        let digest = proposal.digest();
        Self {
            proposal,
            digest,
            ground,
            acknowledged,
        }
    }

    /// What may run.
    pub fn proposal(&self) -> &P {
        &self.proposal
    }

    /// Its digest.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Why it may.
    pub fn ground(&self) -> &RuleReason {
        &self.ground
    }

    /// The provider's checks that a person saw and agreed to.
    pub fn acknowledged(&self) -> &[SafetyCheck] {
        &self.acknowledged
    }
}

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// Which rule, or who.
    pub rule: String,
    /// Why, in a sentence for the model and the operator.
    pub reason: String,
}

/// What came of judging a proposal.
#[derive(Debug)]
pub enum Judgement<P> {
    /// It may run.
    Allowed(Permitted<P>),
    /// A person has to be asked.
    Ask(Pending<P>),
    /// The call with this id does not run.
    Denied(CallId, Denial),
}
