//! Bringing a judgement to its end: a person is asked, not too often, and a yes must still hold.

use std::collections::VecDeque;
use std::time::Duration;

use telechir_device::UntilStopped;
use telechir_policy::{
    Decision, Denial, Judgement, Permitted, Proposal, Question, Verdict, escape,
};
use telechir_protocol::{CallId, Failure, FailureKind};

use crate::approver::BoxApprover;
use crate::execute::{unless, until_stopped};
use crate::recorder::Recorder;
use crate::{Limits, Session, SessionEvent};

/// When questions were asked, as far as that matters for the next.
#[derive(Debug, Default)]
pub(crate) struct Asked(VecDeque<Duration>);

impl Asked {
    /// Notes a question, unless there were `limit` of them within the minute before.
    fn note(&mut self, now: Duration, limit: usize) -> bool {
        let minute = Duration::from_secs(60);
        self.0.retain(|asked| now.saturating_sub(*asked) < minute);
        let fits = self.0.len() < limit;
        if fits {
            self.0.push_back(now);
        }
        fits
    }
}

/// What is needed to bring a judgement to its end.
pub(super) struct Desk<'a> {
    recorder: &'a Recorder,
    approver: &'a mut BoxApprover,
    limits: &'a Limits,
    asked: &'a mut Asked,
    stop: UntilStopped,
    now: Duration,
}

impl<'a> Desk<'a> {
    pub(super) fn of(session: &'a mut Session) -> Self {
        let now = session.now();
        Self {
            recorder: &session.recorder,
            approver: &mut session.approver,
            limits: &session.limits,
            asked: &mut session.asked,
            stop: until_stopped(&session.screens),
            now,
        }
    }

    /// Brings a judgement to a permission or a refusal; a person is asked where it says so.
    pub(super) async fn settle<P: Proposal>(
        &mut self,
        judgement: Judgement<P>,
        steps: Vec<String>,
    ) -> Result<Permitted<P>, Failure> {
        match judgement {
            Judgement::Allowed(permit) => {
                let (call_id, ground) = (permit.proposal().call_id().clone(), permit.ground());
                self.judged(call_id, ground.verdict, &ground.rule, &ground.reason);
                Ok(permit)
            }
            Judgement::Ask(pending) => {
                let (call_id, ground) = (pending.call_id().clone(), pending.ground().clone());
                let question = pending.question().clone();
                self.judged(call_id.clone(), Verdict::Ask, &ground.rule, &ground.reason);
                let decision = self.ask(&call_id, &question, steps).await;
                let settled = pending.settle(decision);
                self.recorder.announce(SessionEvent::QuestionAnswered {
                    call_id,
                    approved: settled.is_ok(),
                    reason: settled.as_ref().err().map(|denial| escape(&denial.reason)),
                });
                settled.map_err(|denial| refused(&denial, &question.reasons))
            }
            Judgement::Denied(call_id, denial) => {
                self.judged(call_id, Verdict::Deny, &denial.rule, &denial.reason);
                Err(refused(&denial, &[]))
            }
        }
    }

    fn judged(&self, call_id: CallId, verdict: Verdict, rule: &str, reason: &str) {
        let (rule, reason) = (rule.to_owned(), escape(reason));
        self.recorder.announce(SessionEvent::CallJudged {
            call_id,
            verdict,
            rule,
            reason,
        });
    }

    /// Silence is a no.
    async fn ask(&mut self, call_id: &CallId, question: &Question, steps: Vec<String>) -> Decision {
        let most = self.limits.questions_a_minute;
        if !self.asked.note(self.now, most) {
            // Whoever answers too many questions stops reading them.
            return Decision::Deny {
                reason: format!(
                    "A person was asked {most} times within a minute, which is the limit; wait, or do what needs no question."
                ),
            };
        }
        self.recorder.announce(SessionEvent::QuestionAsked {
            call_id: call_id.clone(),
            digest: question.digest,
            steps,
            reasons: question.reasons.clone(),
        });
        let limit = self.limits.approval;
        let answer = tokio::time::timeout(limit, self.approver.decide(question));
        match unless(&mut self.stop, answer).await {
            Some(Ok(decision)) => decision,
            Some(Err(_)) => Decision::Deny {
                reason: format!("Nobody answered within {} seconds.", limit.as_secs()),
            },
            None => Decision::Deny {
                reason: "A person stopped this session meanwhile.".to_owned(),
            },
        }
    }
}

/// Whether a person's yes holds by a judgement of now: what it rests on may have changed meanwhile.
pub(super) fn still_holds<P: Proposal>(asked: &Question, now: Judgement<P>) -> Result<(), Failure> {
    match now {
        Judgement::Allowed(_) => Ok(()),
        Judgement::Ask(pending) if pending.question().reasons == asked.reasons => Ok(()),
        Judgement::Ask(pending) => Err(changed(&pending.question().reasons.join(" "))),
        Judgement::Denied(_, denial) => Err(changed(&denial.reason)),
    }
}

fn changed(reason: &str) -> Failure {
    let message = format!(
        "Not carried out: a person agreed, but what that rested on changed meanwhile. {reason}"
    );
    Failure::new(FailureKind::Denied, message)
}

/// What a judgement asks, when it asks.
pub(super) fn question_of<P: Proposal>(judgement: &Judgement<P>) -> Option<Question> {
    match judgement {
        Judgement::Ask(pending) => Some(pending.question().clone()),
        Judgement::Allowed(_) | Judgement::Denied(..) => None,
    }
}

/// A refusal in the model's words: what was not done and why.
fn refused(denial: &Denial, reasons: &[String]) -> Failure {
    let mut message = format!("Not carried out: {}", denial.reason);
    for reason in reasons.iter().filter(|reason| **reason != denial.reason) {
        message.push(' ');
        message.push_str(reason);
    }
    Failure::new(FailureKind::Denied, message)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use telechir_policy::{Device, Display, Judge, Policy, Resolved, ScreenFacts, ScreenProposal};
    use telechir_protocol::Action;

    use super::*;

    fn judged(address: [u8; 4]) -> Judgement<ScreenProposal> {
        let text = "
            [[url]]
            address = ['public']
            verdict = 'ask'
            reason = 'A person looks where it goes.'
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
            display: Display::Private,
            held: Vec::new(),
            resolved: vec![Resolved {
                host: "example.com".to_owned(),
                addresses: vec![IpAddr::from(address)],
            }],
            now: Duration::ZERO,
        };
        Judge::new(policy).screen(proposal, &facts)
    }

    #[test]
    fn a_yes_does_not_hold_for_an_address_that_changed_its_kind() {
        let asked = question_of(&judged([93, 184, 216, 34]));
        let asked = asked.unwrap_or_else(|| panic!("nobody was asked"));
        assert_eq!(still_holds(&asked, judged([93, 184, 216, 35])), Ok(()));
        let failure = still_holds(&asked, judged([127, 0, 0, 1])).err();
        let failure = failure.map(|failure| (failure.kind, failure.message));
        let (kind, message) = failure.unwrap_or_else(|| panic!("it held"));
        assert_eq!(kind, FailureKind::Denied);
        assert!(message.contains("changed meanwhile"), "{message}");
    }

    #[test]
    fn a_minute_has_so_many_questions() {
        let mut asked = Asked::default();
        let at = Duration::from_secs;
        assert!(asked.note(at(0), 2) && asked.note(at(30), 2));
        assert!(!asked.note(at(59), 2));
        assert!(asked.note(at(60), 2));
        assert!(!asked.note(at(89), 2) && asked.note(at(90), 2));
    }
}
