//! Calls that run, and those that wait for the user while their client asks.

use std::collections::HashMap;
use std::fs::File;
use std::future::Future;
use std::io::Read as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rmcp::ErrorData;
use rmcp::model::InputRequiredResult;
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value};
use telechir_policy::{Decision, Question};
use telechir_tools::{ToolAnswer, ToolStatus};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::elicitation::{self, Answer, AskBy};
use crate::session_access::Approvals;

/// How long a question stays open for a client that has to repeat its request.
const QUESTION_TIME: Duration = Duration::from_secs(300);
/// Maximum number of calls that wait for the user.
const MAX_WAITING: usize = 64;

/// A question, and where its answer goes.
type OpenQuestion = (Question, oneshot::Sender<Decision>);

/// Sends the questions of one call to whoever follows it.
#[derive(Debug)]
struct QuestionSender(mpsc::Sender<OpenQuestion>);

#[async_trait]
impl Approvals for QuestionSender {
    async fn decide(&mut self, question: &Question) -> Decision {
        let (answer, decision) = oneshot::channel();
        let gone =
            || elicitation::refused("This needs the user's approval, and the client is gone.");
        if self.0.send((question.clone(), answer)).await.is_err() {
            return gone();
        }
        decision.await.unwrap_or_else(|_| gone())
    }
}

/// A running call. Dropping it cancels the call.
#[derive(Debug)]
pub(super) struct Progress {
    task: JoinHandle<ToolAnswer>,
    questions: mpsc::Receiver<OpenQuestion>,
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Progress {
    /// Starts a call, which sends its questions to what it is given.
    pub(super) fn start<F: Future<Output = ToolAnswer> + Send + 'static>(
        call: impl FnOnce(Box<dyn Approvals>) -> F,
    ) -> Self {
        let (sender, questions) = mpsc::channel(1);
        let task = tokio::spawn(call(Box::new(QuestionSender(sender))));
        Self { task, questions }
    }
}

/// A running call that waits for the answer to a question.
#[derive(Debug)]
pub(super) struct Waiting {
    progress: Progress,
    question: Question,
    decide: oneshot::Sender<Decision>,
}

impl Waiting {
    /// Continues the call with the user's answer.
    pub(super) fn answered(self, answer: Answer) -> Progress {
        let decision = answer.decision(&self.question);
        // The call may have ended meanwhile; then its answer tells.
        let _ended = self.decide.send(decision);
        self.progress
    }
}

/// How far a call got.
pub(super) enum Followed {
    Answered(ToolAnswer),
    /// Its client must ask the user and repeat the request.
    NeedsInput(Waiting, Question),
}

/// Waits until a call ends or its client must ask the user.
pub(super) async fn follow(
    mut progress: Progress,
    by: &AskBy,
    context: &RequestContext<RoleServer>,
) -> Followed {
    let started = Instant::now();
    loop {
        let (question, decide) = tokio::select! {
            biased;
            () = context.ct.cancelled() => {
                let why = "the client cancelled the call";
                let elapsed = started.elapsed();
                return Followed::Answered(ToolAnswer::failed(ToolStatus::Cancelled, why, elapsed));
            }
            Some(question) = progress.questions.recv() => question,
            ended = &mut progress.task => {
                let elapsed = started.elapsed();
                let failed = |_| ToolAnswer::failed(ToolStatus::Error, "the call was ended", elapsed);
                return Followed::Answered(ended.unwrap_or_else(failed));
            }
        };
        let decision = match by {
            AskBy::InputRequired => {
                let waiting = Waiting {
                    progress,
                    question: question.clone(),
                    decide,
                };
                return Followed::NeedsInput(waiting, question);
            }
            AskBy::Request(peer) => elicitation::ask(peer, &question).await.decision(&question),
            AskBy::Nothing => elicitation::refused(
                "This needs the user's approval, and this client cannot ask its user. A rule of the \
                 policy can allow it.",
            ),
        };
        let _ended = decide.send(decision);
    }
}

/// What a repeated request must have in common with the first.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CallKey {
    tool: String,
    arguments: Map<String, Value>,
}

impl CallKey {
    pub(super) fn of(tool: &str, arguments: &Map<String, Value>) -> Self {
        Self {
            tool: tool.to_owned(),
            arguments: arguments.clone(),
        }
    }
}

#[derive(Debug)]
struct WaitingCall {
    waiting: Waiting,
    key: CallKey,
    since: Instant,
}

/// The calls whose client is asking the user, by the state that it must return.
#[derive(Debug, Default)]
pub(super) struct Calls(Mutex<HashMap<String, WaitingCall>>);

impl Calls {
    /// Keeps a call until its client repeats the request, and returns the result that asks for it.
    pub(super) fn hold(
        &self,
        waiting: Waiting,
        question: &Question,
        key: CallKey,
    ) -> Result<InputRequiredResult, ErrorData> {
        let internal = |error: &dyn std::fmt::Display| {
            ErrorData::internal_error(format!("failed to ask the user: {error}"), None)
        };
        let requests = elicitation::input_requests(question).map_err(|error| internal(&error))?;
        let state = random_state().map_err(|error| internal(&error))?;
        let since = Instant::now();
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.retain(|_, call| call.since.elapsed() < QUESTION_TIME);
        if calls.len() >= MAX_WAITING {
            return Err(internal(&"too many calls wait for the user"));
        }
        calls.insert(
            state.clone(),
            WaitingCall {
                waiting,
                key,
                since,
            },
        );
        Ok(InputRequiredResult::new(Some(requests), Some(state)))
    }

    /// Takes the call that a repeated request continues; each state can be used once.
    ///
    /// # Errors
    /// For a state that is unknown, used, expired, or of another call. Nothing is executed.
    pub(super) fn resume(&self, state: &str, key: &CallKey) -> Result<Waiting, ErrorData> {
        let invalid = |why: &str| {
            ErrorData::invalid_params(format!("requestState {why}; nothing was executed"), None)
        };
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(found) = calls.get(state) else {
            return Err(invalid("is unknown, or was used before"));
        };
        if found.key != *key {
            return Err(invalid(
                "belongs to a call with another tool or other arguments",
            ));
        }
        match calls.remove(state) {
            Some(call) if call.since.elapsed() < QUESTION_TIME => Ok(call.waiting),
            _ => Err(invalid("has expired")),
        }
    }

    /// Cancels all calls that wait.
    pub(super) fn drop_all(&self) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }
}

/// 128 random bits: a client cannot guess the state of another call.
fn random_state() -> std::io::Result<String> {
    let mut bytes = [0_u8; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}
