//! Approval of questions by the user. Without an approver every question is denied.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use serde::{Deserialize, Serialize};
use telechir_policy::{ApproveAt, Decision, Interface, Question};

/// How a person answered a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerWay {
    /// At the terminal of the caller.
    Terminal,
    /// By the elicitation of an MCP client, which reports what its user answered.
    Elicitation,
    /// With a command of telechir in another terminal.
    Command,
    /// By an operator of the HTTP API.
    Http,
    /// By an approval for the rest of the session.
    Remembered,
}

impl fmt::Display for AnswerWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Terminal => "at the terminal",
            Self::Elicitation => "by the client",
            Self::Command => "by telechir approve or deny",
            Self::Http => "over HTTP",
            Self::Remembered => "by an earlier answer",
        })
    }
}

/// Where an answer came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerOrigin {
    /// The way on which it came.
    pub way: AnswerWay,
    /// Who gave it, such as the name of an MCP client or a process with its terminal; escaped.
    pub by: String,
    /// Milliseconds from the question to the answer.
    pub after_ms: u64,
}

impl fmt::Display for AnswerOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}), after {} ms", self.way, self.by, self.after_ms)
    }
}

/// A decision and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The decision, which counts for one question.
    pub decision: Decision,
    /// Absent if nobody answered.
    pub origin: Option<AnswerOrigin>,
}

impl From<Decision> for Answer {
    fn from(decision: Decision) -> Self {
        Self {
            decision,
            origin: None,
        }
    }
}

/// Shows approval questions to the user and returns the decisions.
pub trait Approver: Send {
    /// Shows the question and waits for the decision. Dropping the future withdraws the question.
    ///
    /// Return [`Question::approve`] only for an explicit yes of the user; anything else is a
    /// denial.
    fn decide(&mut self, question: &Question) -> impl Future<Output = Answer> + Send;

    /// An answer that the user has already given to this question: an approval that came after its
    /// call had ended, or one for the rest of the session. The question is then not shown.
    fn earlier_answer(&mut self, _question: &Question) -> Option<Answer> {
        None
    }

    /// Whether a question that must be answered there can be. Otherwise it is denied without being
    /// shown.
    fn can_ask(&self, at: ApproveAt) -> bool {
        at.admits(Interface::Other)
    }
}

/// Denies every question, for sessions without a user who could answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct DenyAll;

impl Approver for DenyAll {
    async fn decide(&mut self, _question: &Question) -> Answer {
        Answer::from(Decision::Deny {
            reason: "This needs the user's approval, and nobody can be asked.".to_owned(),
        })
    }
}

trait AnyApprover: Send {
    fn decide<'a>(
        &'a mut self,
        question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

    fn earlier_answer(&mut self, question: &Question) -> Option<Answer>;

    fn can_ask(&self, at: ApproveAt) -> bool;
}

impl<A: Approver> AnyApprover for A {
    fn decide<'a>(
        &'a mut self,
        question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Answer> + Send + 'a>> {
        Box::pin(Approver::decide(self, question))
    }

    fn earlier_answer(&mut self, question: &Question) -> Option<Answer> {
        Approver::earlier_answer(self, question)
    }

    fn can_ask(&self, at: ApproveAt) -> bool {
        Approver::can_ask(self, at)
    }
}

/// A boxed [`Approver`].
pub(crate) struct BoxApprover(Box<dyn AnyApprover>);

impl BoxApprover {
    pub(crate) fn new(approver: impl Approver + 'static) -> Self {
        Self(Box::new(approver))
    }

    pub(crate) async fn decide(&mut self, question: &Question) -> Answer {
        self.0.decide(question).await
    }

    pub(crate) fn earlier_answer(&mut self, question: &Question) -> Option<Answer> {
        self.0.earlier_answer(question)
    }

    pub(crate) fn can_ask(&self, at: ApproveAt) -> bool {
        self.0.can_ask(at)
    }
}

impl fmt::Debug for BoxApprover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BoxApprover")
    }
}
