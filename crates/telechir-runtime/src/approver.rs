//! Approval of questions by the user. Without an approver every question is denied.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use telechir_policy::{Decision, Interface, Question};

/// Shows approval questions to the user and returns the decisions.
pub trait Approver: Send {
    /// Shows the question and waits for the decision. Dropping the future withdraws the question.
    ///
    /// Return [`Question::approve`] only for an explicit yes of the user; anything else is a
    /// denial.
    fn decide(&mut self, question: &Question) -> impl Future<Output = Decision> + Send;

    /// The interface at which the user answers. A policy can require another one; then the question
    /// is denied without being shown.
    fn interface(&self) -> Interface {
        Interface::Other
    }
}

/// Denies every question, for sessions without a user who could answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct DenyAll;

impl Approver for DenyAll {
    async fn decide(&mut self, _question: &Question) -> Decision {
        Decision::Deny {
            reason: "This needs the user's approval, and nobody can be asked.".to_owned(),
        }
    }
}

trait AnyApprover: Send {
    fn decide<'a>(
        &'a mut self,
        question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Decision> + Send + 'a>>;

    fn interface(&self) -> Interface;
}

impl<A: Approver> AnyApprover for A {
    fn decide<'a>(
        &'a mut self,
        question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Decision> + Send + 'a>> {
        Box::pin(Approver::decide(self, question))
    }

    fn interface(&self) -> Interface {
        Approver::interface(self)
    }
}

/// A boxed [`Approver`].
pub(crate) struct BoxApprover(Box<dyn AnyApprover>);

impl BoxApprover {
    pub(crate) fn new(approver: impl Approver + 'static) -> Self {
        Self(Box::new(approver))
    }

    pub(crate) async fn decide(&mut self, question: &Question) -> Decision {
        self.0.decide(question).await
    }

    pub(crate) fn interface(&self) -> Interface {
        self.0.interface()
    }
}

impl fmt::Debug for BoxApprover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BoxApprover")
    }
}
