//! Brings questions to the caller whose turn it is, and the person's answers back.

use std::sync::Arc;

use telechir_policy::{Decision, Question};
use telechir_runtime::Approver;
use tokio::sync::{Mutex, mpsc};

use super::frames::Writer;
use super::message::Reply;

/// A person's answer and the number of the question it is for.
pub(super) type Answer = (u64, Decision);

/// The caller that questions go to: the one that has the turn, or nobody.
#[derive(Clone, Debug, Default)]
pub(super) struct Desk(Arc<Mutex<Option<Caller>>>);

#[derive(Debug)]
struct Caller {
    writer: Arc<Mutex<Writer>>,
    answers: mpsc::Receiver<Answer>,
    asked: u64,
}

impl Desk {
    /// Questions go to this caller from now on. Its answers are to be sent where this says.
    pub(super) async fn seat(&self, writer: Arc<Mutex<Writer>>) -> mpsc::Sender<Answer> {
        let (sender, answers) = mpsc::channel(1);
        *self.0.lock().await = Some(Caller {
            writer,
            answers,
            asked: 0,
        });
        sender
    }

    /// Nobody can be asked.
    pub(super) async fn leave(&self) {
        *self.0.lock().await = None;
    }
}

impl Caller {
    /// None when the caller is gone.
    async fn ask(&mut self, question: &Question) -> Option<Decision> {
        self.asked += 1;
        let number = self.asked;
        let question = question.clone();
        let asked = Reply::Ask { number, question };
        self.writer.lock().await.send(&asked).await.ok()?;
        loop {
            let (to, decision) = self.answers.recv().await?;
            // An answer to a question that was withdrawn is no answer to this one.
            if to == number {
                return Some(decision);
            }
        }
    }
}

impl Approver for Desk {
    async fn decide(&mut self, question: &Question) -> Decision {
        let decision = match self.0.lock().await.as_mut() {
            Some(caller) => caller.ask(question).await,
            None => None,
        };
        decision.unwrap_or_else(|| Decision::Deny {
            reason: "A person would have to agree, and whoever called is gone.".to_owned(),
        })
    }
}
