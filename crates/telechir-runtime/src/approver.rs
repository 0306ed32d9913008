//! Asking a person. With nobody to ask the answer is no.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use telechir_policy::{Decision, Question};

/// Whoever shows questions to a person and brings back the answers.
pub trait Approver: Send {
    /// Shows the question and waits for the answer. Dropping the future withdraws the question.
    ///
    /// Only a person's clear yes is [`Question::approve`]; whatever else happens is a no.
    fn decide(&mut self, question: &Question) -> impl Future<Output = Decision> + Send;
}

/// Nobody is there to be asked, so every question is answered with no.
#[derive(Clone, Copy, Debug, Default)]
pub struct DenyAll;

impl Approver for DenyAll {
    async fn decide(&mut self, _question: &Question) -> Decision {
        Decision::Deny {
            reason: "A person would have to agree, and nobody can be asked.".to_owned(),
        }
    }
}

trait AnyApprover: Send {
    fn decide<'a>(
        &'a mut self,
        question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Decision> + Send + 'a>>;
}

impl<A: Approver> AnyApprover for A {
    fn decide<'a>(
        &'a mut self,
        question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Decision> + Send + 'a>> {
        Box::pin(Approver::decide(self, question))
    }
}

/// Any approver.
pub(crate) struct BoxApprover(Box<dyn AnyApprover>);

impl BoxApprover {
    pub(crate) fn new(approver: impl Approver + 'static) -> Self {
        Self(Box::new(approver))
    }

    pub(crate) async fn decide(&mut self, question: &Question) -> Decision {
        self.0.decide(question).await
    }
}

impl fmt::Debug for BoxApprover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BoxApprover")
    }
}
