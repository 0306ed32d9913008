//! Calls that run, and those that wait for the user while their client asks.

use std::collections::HashMap;
use std::fs::File;
use std::future::Future;
use std::io::Read as _;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rmcp::ErrorData;
use rmcp::model::InputRequiredResult;
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value};
use telechir_host::approvals::{CallerReply, OpenApproval};
use telechir_tools::{ToolAnswer, ToolStatus};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::elicitation::{self, Answer, AskBy};
use crate::session_access::Approvals;

/// How long a question stays open for a client that has to repeat its request.
const QUESTION_TIME: Duration = Duration::from_secs(300);
/// Maximum number of calls that wait for the user.
const MAX_WAITING: usize = 64;

/// A question of a call, and where the replies to it go.
#[derive(Debug)]
pub(super) struct ShownQuestion {
    pub(super) open: OpenApproval,
    replies: mpsc::Sender<CallerReply>,
}

impl ShownQuestion {
    /// Replies to the question. The call may have ended meanwhile; then its answer tells.
    pub(super) fn reply(&self, reply: CallerReply) {
        let _ended = self.replies.try_send(reply);
    }
}

/// Sends the questions of one call to whoever follows it.
#[derive(Debug)]
pub(super) struct QuestionSender {
    questions: mpsc::Sender<ShownQuestion>,
    replies: Option<mpsc::Receiver<CallerReply>>,
}

impl QuestionSender {
    /// A sender, and where its questions arrive.
    pub(super) fn new() -> (Self, mpsc::Receiver<ShownQuestion>) {
        let (questions, receiver) = mpsc::channel(1);
        let replies = None;
        (Self { questions, replies }, receiver)
    }
}

#[async_trait]
impl Approvals for QuestionSender {
    async fn show(&mut self, open: OpenApproval) {
        // Two replies at most: the client's way is closed, and the call waits no longer.
        let (sender, replies) = mpsc::channel(2);
        self.replies = Some(replies);
        let question = ShownQuestion {
            open,
            replies: sender,
        };
        // Without a follower the channel of the replies is closed, too.
        let _gone = self.questions.send(question).await;
    }

    async fn reply(&mut self) -> CallerReply {
        match self.replies.as_mut() {
            Some(replies) => match replies.recv().await {
                Some(reply) => reply,
                None => {
                    self.replies = None;
                    CallerReply::Closed
                }
            },
            None => std::future::pending().await,
        }
    }
}

/// A running call. Dropping it cancels the call.
#[derive(Debug)]
pub(super) struct Progress {
    task: JoinHandle<ToolAnswer>,
    questions: mpsc::Receiver<ShownQuestion>,
    /// The last question, if its call may still wait.
    shown: Option<ShownQuestion>,
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
        let (sender, questions) = QuestionSender::new();
        Self {
            task: tokio::spawn(call(Box::new(sender))),
            questions,
            shown: None,
        }
    }

    fn reply(&self, reply: CallerReply) {
        if let Some(shown) = &self.shown {
            shown.reply(reply);
        }
    }
}

/// A running call whose client asks its user.
#[derive(Debug)]
pub(super) struct Waiting(Progress);

impl Waiting {
    /// Continues the call with what the client's user answered.
    pub(super) fn answered(self, answer: Answer, client: &str) -> Progress {
        if let Some(shown) = &self.0.shown {
            shown.reply(answer.reply(&shown.open, client));
        }
        self.0
    }
}

/// How far a call got.
#[expect(
    clippy::large_enum_variant,
    reason = "made once per request and taken apart at once"
)]
pub(super) enum Followed {
    Answered(ToolAnswer),
    /// Its client must ask the user and repeat the request.
    NeedsInput(Waiting, OpenApproval),
}

/// Waits until a call ends or its client must ask the user. A question that nobody answers within
/// `patience` ends the wait: it stays open for others, and the call is answered.
pub(super) async fn follow(
    mut progress: Progress,
    by: &AskBy,
    patience: Duration,
    context: &RequestContext<RoleServer>,
) -> Followed {
    let started = Instant::now();
    let deadline = tokio::time::Instant::now() + patience;
    let mut is_patient = true;
    let mut asking: Option<Pin<Box<dyn Future<Output = Answer> + Send>>> = None;
    let client = elicitation::client_of(context);
    loop {
        let answered = async {
            match asking.as_mut() {
                Some(asking) => asking.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = context.ct.cancelled() => {
                let why = "the client cancelled the call";
                let elapsed = started.elapsed();
                return Followed::Answered(ToolAnswer::failed(ToolStatus::Cancelled, why, elapsed));
            }
            Some(question) = progress.questions.recv() => {
                let open = question.open.clone();
                progress.shown = Some(question);
                // What was asked before is withdrawn.
                asking = None;
                is_patient = true;
                match by {
                    _ if !open.open_to_caller => {}
                    AskBy::InputRequired => {
                        return Followed::NeedsInput(Waiting(progress), open);
                    }
                    AskBy::Request(peer) => {
                        asking = Some(Box::pin(elicitation::ask(peer.clone(), open, patience)));
                    }
                    AskBy::Nothing => progress.reply(CallerReply::Closed),
                }
            }
            ended = &mut progress.task => {
                let elapsed = started.elapsed();
                let failed = |_| ToolAnswer::failed(ToolStatus::Error, "the call was ended", elapsed);
                return Followed::Answered(ended.unwrap_or_else(failed));
            }
            answer = answered => {
                asking = None;
                if let Some(shown) = &progress.shown {
                    shown.reply(answer.reply(&shown.open, &client));
                }
            }
            () = tokio::time::sleep_until(deadline), if is_patient && progress.shown.is_some() => {
                (is_patient, asking) = (false, None);
                progress.reply(CallerReply::Parked);
            }
        }
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
        question: &OpenApproval,
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
pub(super) fn random_state() -> std::io::Result<String> {
    let mut bytes = [0_u8; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}
