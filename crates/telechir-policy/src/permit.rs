//! The proof that a call may run, or the denial.

use std::fmt;

use telechir_protocol::{CallId, SafetyCheck};

use crate::{Digest, PendingApproval, Proposal, RuleReason};

/// The proof that exactly this proposal may run. Only this crate can create one.
#[derive(Debug)]
pub struct Permitted<P> {
    proposal: P,
    digest: Digest,
    rule_reason: RuleReason,
    acknowledged: Vec<SafetyCheck>,
    /// The reasons for which a person approved it; empty if nobody was asked.
    approved: Vec<String>,
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
            approved: Vec::new(),
        }
    }

    /// The same permission with the reasons that a person was asked about.
    pub(crate) fn approved_for(mut self, reasons: Vec<String>) -> Self {
        self.approved = reasons;
        self
    }

    /// Whether a later judgement of a part of this proposal finds nothing that was not permitted: it
    /// is allowed, or asks for reasons that a person approved. The text says what has changed.
    ///
    /// # Errors
    /// With the reason of the later judgement.
    pub fn still_permits(&self, later: &Judgement<P>) -> Result<(), String> {
        match later {
            Judgement::Allowed(_) => Ok(()),
            Judgement::Ask(pending) => {
                let reasons = &pending.question().reasons;
                let new = reasons
                    .iter()
                    .find(|reason| !self.approved.contains(reason));
                new.map_or(Ok(()), |reason| Err(reason.clone()))
            }
            Judgement::Denied(_, denial) => Err(denial.to_string()),
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

impl Denial {
    /// What denied it if nobody was there to ask, or somebody said no.
    pub(crate) const BY_USER: &str = "the user";
}

/// The reason, and the rule if one denied it.
impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rule == Self::BY_USER {
            return f.write_str(&self.reason);
        }
        write!(f, "{} (policy: {})", self.reason, self.rule)
    }
}

/// The result of judging a proposal.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "made once per call and taken apart at once"
)]
pub enum Judgement<P> {
    /// The proposal may run.
    Allowed(Permitted<P>),
    /// The user must be asked.
    Ask(PendingApproval<P>),
    /// The call with this id is denied.
    Denied(CallId, Denial),
}
