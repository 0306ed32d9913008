//! Forwards approval questions to the caller whose turn it is, and returns the user's decisions.

use std::sync::Arc;
use std::sync::{Mutex as StdMutex, PoisonError};

use telechir_policy::{Decision, Interface, Question};
use telechir_runtime::Approver;
use tokio::sync::{Mutex, mpsc};

use super::frames::MessageWriter;
use super::message::HostReply;

/// A decision with the number of its question.
pub(super) type NumberedDecision = (u64, Decision);

/// Forwards questions to the caller that has the turn; without one the answer is no.
#[derive(Clone, Debug)]
pub(super) struct RemoteApprover {
    caller: Arc<Mutex<Option<CallerChannel>>>,
    /// Where the caller asks the user.
    interface: Arc<StdMutex<Interface>>,
}

impl Default for RemoteApprover {
    fn default() -> Self {
        Self {
            caller: Arc::default(),
            interface: Arc::new(StdMutex::new(Interface::Other)),
        }
    }
}

#[derive(Debug)]
struct CallerChannel {
    writer: Arc<Mutex<MessageWriter>>,
    answers: mpsc::Receiver<NumberedDecision>,
    question_count: u64,
}

impl RemoteApprover {
    /// Forwards questions to this caller from now on. Returns the sender for its decisions.
    pub(super) async fn attach(
        &self,
        writer: Arc<Mutex<MessageWriter>>,
        interface: Interface,
    ) -> mpsc::Sender<NumberedDecision> {
        let (sender, answers) = mpsc::channel(1);
        *self.lock_interface() = interface;
        *self.caller.lock().await = Some(CallerChannel {
            writer,
            answers,
            question_count: 0,
        });
        sender
    }

    /// Stops forwarding: all questions are denied.
    pub(super) async fn detach(&self) {
        *self.caller.lock().await = None;
    }

    fn lock_interface(&self) -> std::sync::MutexGuard<'_, Interface> {
        self.interface
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallerChannel {
    /// Returns none if the caller is gone.
    async fn decide_remotely(&mut self, question: &Question) -> Option<Decision> {
        self.question_count += 1;
        let number = self.question_count;
        let question = question.clone();
        let question_count = HostReply::Ask { number, question };
        self.writer.lock().await.send(&question_count).await.ok()?;
        loop {
            let (to, decision) = self.answers.recv().await?;
            // Ignore a late decision on a question that was withdrawn.
            if to == number {
                return Some(decision);
            }
        }
    }
}

impl Approver for RemoteApprover {
    fn interface(&self) -> Interface {
        *self.lock_interface()
    }

    async fn decide(&mut self, question: &Question) -> Decision {
        let decision = match self.caller.lock().await.as_mut() {
            Some(caller) => caller.decide_remotely(question).await,
            None => None,
        };
        decision.unwrap_or_else(|| Decision::Deny {
            reason: "This needs the user's approval, and the caller is gone.".to_owned(),
        })
    }
}
