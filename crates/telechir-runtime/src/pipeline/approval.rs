//! How a proposal gets its permission: judged, asked about at a limited rate, and judged again.

use std::future::Future;
use std::time::Duration;

use telechir_device::UntilStopped;
use telechir_policy::{
    Decision, Denial, Judge, Judgement, Permitted, Proposal, Question, Verdict, escape,
};
use telechir_protocol::{CallId, Failure, FailureKind};

use crate::approver::{Answer, BoxApprover};
use crate::execute::{or_stopped, until_stopped};
use crate::question_rate::QuestionRate;
use crate::recorder::Recorder;
use crate::session_state::SessionState;
use crate::{SessionEvent, SessionLimits};

/// A proposal to one kind of device, and what the policy must know to judge it.
pub(super) trait Judged: Proposal + Clone {
    /// The state of the device that rules refer to.
    type Facts;

    /// The facts at this moment.
    fn facts(&self, session: &mut SessionState) -> impl Future<Output = Self::Facts> + Send;

    /// The judgement under these facts.
    fn judge(self, judge: &mut Judge, facts: &Self::Facts) -> Judgement<Self>;
}

/// The permission for a proposal, or why there is none. The user reads one line of `steps` per step.
pub(super) async fn permit<P: Judged>(
    session: &mut SessionState,
    proposal: P,
    steps: Vec<String>,
) -> Result<Permitted<P>, Failure> {
    session.announce_untrusted();
    session.apply_policy();
    let facts = proposal.facts(session).await;
    let judgement = proposal.judge(&mut session.judge, &facts);
    let question = question_of(&judgement);
    let call_id = question.as_ref().map(|question| question.call_id.clone());
    let mut gate = ApprovalGate::of(session);
    let permit = gate.resolve(judgement, steps).await?;
    if let (true, Some(call_id)) = (gate.trusts_content, call_id) {
        session.restore_trust(call_id);
    }
    if let Some(question) = question {
        // The conditions, such as a host's addresses, may have changed while the user was deciding.
        let facts = permit.proposal().facts(session).await;
        let mut judge = session.judge.without_history();
        still_holds(
            &question,
            permit.proposal().clone().judge(&mut judge, &facts),
        )?;
    }
    Ok(permit)
}

/// Checks right before a step that nothing has happened since the judgement that the policy would
/// not permit: another window got the focus, or untrusted content was read. `part` is the step alone.
/// Returns the facts that hold now.
///
/// # Errors
/// With the failure of the step.
pub(super) async fn check_again<P: Judged>(
    session: &mut SessionState,
    permit: &Permitted<P>,
    part: P,
) -> Result<P::Facts, Failure> {
    session.apply_policy();
    let facts = part.facts(session).await;
    let later = part.judge(&mut session.judge.without_history(), &facts);
    permit.still_permits(&later).map_err(|reason| {
        let message = format!(
            "Not executed: since the call was judged, its conditions have changed. {reason}"
        );
        Failure::new(FailureKind::Denied, message)
    })?;
    Ok(facts)
}

/// Resolves judgements to permissions or failures.
struct ApprovalGate<'a> {
    recorder: &'a Recorder,
    approver: &'a mut BoxApprover,
    limits: &'a SessionLimits,
    rate: &'a mut QuestionRate,
    stop: UntilStopped,
    now: Duration,
    untrusted_source: Option<String>,
    min_answer_ms: u64,
    /// Whether the user decided to trust everything that was read.
    trusts_content: bool,
}

impl<'a> ApprovalGate<'a> {
    fn of(session: &'a mut SessionState) -> Self {
        let now = session.now();
        Self {
            recorder: &session.recorder,
            approver: &mut session.approver,
            limits: &session.limits,
            rate: &mut session.question_rate,
            stop: until_stopped(&session.screens),
            now,
            untrusted_source: session.trust.untrusted_source(),
            min_answer_ms: session.judge.policy().min_answer_ms(),
            trusts_content: false,
        }
    }

    /// Resolves a judgement to a permission or a failure, and asks the user if the verdict is to
    /// ask.
    async fn resolve<P: Proposal>(
        &mut self,
        judgement: Judgement<P>,
        steps: Vec<String>,
    ) -> Result<Permitted<P>, Failure> {
        match judgement {
            Judgement::Allowed(permit) => {
                let (call_id, ground) = (permit.proposal().call_id().clone(), permit.rule_reason());
                self.emit_judged(call_id, ground.verdict, &ground.rule, &ground.reason);
                Ok(permit)
            }
            Judgement::Ask(pending) => {
                let (call_id, ground) = (pending.call_id().clone(), pending.rule_reason().clone());
                let mut question = pending.question().clone();
                question.untrusted_source = self.untrusted_source.as_deref().map(escape);
                question.min_answer_ms = self.min_answer_ms;
                self.emit_judged(call_id.clone(), Verdict::Ask, &ground.rule, &ground.reason);
                let Answer { decision, origin } = match self.approver.earlier_answer(&question) {
                    Some(earlier) => earlier,
                    None => self.ask_user(&call_id, &question, steps).await,
                };
                let is_trusting = matches!(
                    decision,
                    Decision::Approve {
                        trusts_content: true,
                        ..
                    }
                );
                let resolved = pending.resolve(decision);
                self.trusts_content = is_trusting && resolved.is_ok();
                self.recorder.emit(SessionEvent::QuestionAnswered {
                    call_id,
                    approved: resolved.is_ok(),
                    reason: resolved.as_ref().err().map(|denial| escape(&denial.reason)),
                    origin,
                });
                resolved.map_err(|denial| refused(&denial, &question.reasons))
            }
            Judgement::Denied(call_id, denial) => {
                self.emit_judged(call_id, Verdict::Deny, &denial.rule, &denial.reason);
                Err(refused(&denial, &[]))
            }
        }
    }

    fn emit_judged(&self, call_id: CallId, verdict: Verdict, rule: &str, reason: &str) {
        let (rule, reason) = (rule.to_owned(), escape(reason));
        self.recorder.emit(SessionEvent::CallJudged {
            call_id,
            verdict,
            rule,
            reason,
        });
    }

    /// Asks the user. No answer in time means no.
    async fn ask_user(
        &mut self,
        call_id: &CallId,
        question: &Question,
        steps: Vec<String>,
    ) -> Answer {
        if !self.approver.can_ask(question.approve) {
            return refusal(format!(
                "The policy wants this approved at {}, and this session asks elsewhere.",
                question.approve
            ));
        }
        let limit = self.limits.max_questions_per_minute;
        if !self.rate.admit(self.now, limit) {
            // Users who get too many questions stop reading them.
            return refusal(format!(
                "The user was asked {limit} times within a minute, which is the limit; wait, or use actions that need no approval."
            ));
        }
        self.recorder.emit(SessionEvent::QuestionAsked {
            call_id: call_id.clone(),
            digest: question.digest,
            steps,
            reasons: question.reasons.clone(),
        });
        let limit = self.limits.approval_timeout;
        let decision = tokio::time::timeout(limit, self.approver.decide(question));
        match or_stopped(&mut self.stop, decision).await {
            Some(Ok(answer)) => answer,
            Some(Err(_)) => refusal(format!("No answer within {} seconds.", limit.as_secs())),
            None => refusal("The user stopped this session meanwhile.".to_owned()),
        }
    }
}

fn refusal(reason: String) -> Answer {
    Answer::from(Decision::Deny { reason })
}

/// Whether an approval is still valid under a new judgement: its conditions may have changed.
fn still_holds<P: Proposal>(approved: &Question, now: Judgement<P>) -> Result<(), Failure> {
    match now {
        Judgement::Allowed(_) => Ok(()),
        Judgement::Ask(pending) if pending.question().reasons == approved.reasons => Ok(()),
        Judgement::Ask(pending) => Err(no_longer_valid(&pending.question().reasons.join(" "))),
        Judgement::Denied(_, denial) => Err(no_longer_valid(&denial.to_string())),
    }
}

fn no_longer_valid(reason: &str) -> Failure {
    let message = format!(
        "Not executed: the approval is no longer valid because its conditions changed. {reason}"
    );
    Failure::new(FailureKind::Denied, message)
}

/// The question of a judgement that needs approval.
fn question_of<P: Proposal>(judgement: &Judgement<P>) -> Option<Question> {
    match judgement {
        Judgement::Ask(pending) => Some(pending.question().clone()),
        Judgement::Allowed(_) | Judgement::Denied(..) => None,
    }
}

/// A denial as the model reads it: what was not executed, why, and by which rule.
fn refused(denial: &Denial, reasons: &[String]) -> Failure {
    let mut message = format!("Not executed: {denial}");
    for reason in reasons.iter().filter(|reason| **reason != denial.reason) {
        message.push(' ');
        message.push_str(reason);
    }
    Failure::new(FailureKind::Denied, message)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use telechir_policy::{
        Device, DisplayOwner, Judge, Policy, Resolved, ScreenFacts, ScreenProposal, ScreenWindows,
    };
    use telechir_protocol::Action;

    use super::*;

    fn judged(address: [u8; 4]) -> Judgement<ScreenProposal> {
        let text = "
            [[url]]
            address = ['public']
            verdict = 'ask'
            reason = 'The user checks the target.'
        ";
        let policy = Policy::from_toml(text, "test").unwrap_or_else(|e| panic!("{e}"));
        let url = "https://example.com/".to_owned();
        let proposal = ScreenProposal {
            call_id: "c1".into(),
            device: Device::Browser,
            actions: vec![Action::Navigate { url, tab: None }],
            safety_checks: Vec::new(),
        };
        let facts = ScreenFacts {
            display: DisplayOwner::Private,
            pressed: Vec::new(),
            resolved: vec![Resolved {
                host: "example.com".to_owned(),
                addresses: vec![IpAddr::from(address)],
            }],
            windows: ScreenWindows::None,
            is_untrusted: false,
            now: Duration::ZERO,
        };
        Judge::new(policy).screen(proposal, &facts)
    }

    #[test]
    fn an_approval_is_invalid_if_the_kind_of_address_changes() {
        let question = question_of(&judged([93, 184, 216, 34]));
        let question = question.unwrap_or_else(|| panic!("no question"));
        assert_eq!(still_holds(&question, judged([93, 184, 216, 35])), Ok(()));
        let failure = still_holds(&question, judged([127, 0, 0, 1])).err();
        let failure = failure.map(|failure| (failure.kind, failure.message));
        let (kind, message) = failure.unwrap_or_else(|| panic!("the approval is still valid"));
        assert_eq!(kind, FailureKind::Denied);
        assert!(message.contains("conditions changed"), "{message}");
    }
}
