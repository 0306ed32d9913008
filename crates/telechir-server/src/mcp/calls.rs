//! Calls that run, and those that wait for the user while their client asks.

use std::collections::HashMap;
use std::fs::File;
use std::future::Future;
use std::io::Read as _;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rmcp::ErrorData;
use rmcp::model::InputRequiredResult;
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value};
use telechir_host::approvals::{CallerReply, OpenApproval};
use telechir_tools::{ToolAnswer, ToolStatus};
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;

use super::elicitation::{self, Answer, AskBy};
use crate::session_access::Approvals;

/// How long a question stays open for a client that has to repeat its request.
const QUESTION_TIME: Duration = Duration::from_secs(300);
/// Number of replies to a question that are not read yet.
const MAX_REPLIES: usize = 8;
/// Maximum number of calls that wait for the user.
const MAX_WAITING: usize = 64;
/// Name of the id under which a client can send a call again, in `_meta` of requests and results.
pub(super) const CALL_ID: &str = "telechir/callId";
/// Maximum length of that id.
const MAX_CALL_ID_BYTES: usize = 100;

/// A question of a call, and where the replies to it go. Clones are the same question.
#[derive(Clone, Debug)]
pub(super) struct ShownQuestion {
    pub(super) open: OpenApproval,
    replies: mpsc::Sender<CallerReply>,
    /// Whether a request has taken it upon itself to ask the client.
    is_taken: Arc<AtomicBool>,
}

impl ShownQuestion {
    /// Replies to the question. The call may have ended meanwhile; then its answer tells.
    pub(super) fn reply(&self, reply: CallerReply) {
        let _ended = self.replies.try_send(reply);
    }

    /// Whether nobody else asks the client: of several requests for a call one does.
    fn take(&self) -> bool {
        !self.is_taken.swap(true, Ordering::Relaxed)
    }
}

/// Sends the questions of one call to whoever follows it.
#[derive(Debug)]
pub(super) struct QuestionSender {
    questions: watch::Sender<Option<ShownQuestion>>,
    replies: Option<mpsc::Receiver<CallerReply>>,
}

impl QuestionSender {
    /// A sender, and where its questions arrive.
    pub(super) fn new() -> (Self, watch::Receiver<Option<ShownQuestion>>) {
        let (questions, receiver) = watch::channel(None);
        let replies = None;
        (Self { questions, replies }, receiver)
    }
}

#[async_trait]
impl Approvals for QuestionSender {
    async fn show(&mut self, open: OpenApproval) {
        // Two replies of each request at most: the client's way is closed, and the call waits no longer.
        let (sender, replies) = mpsc::channel(MAX_REPLIES);
        self.replies = Some(replies);
        let question = ShownQuestion {
            open,
            replies: sender,
            is_taken: Arc::default(),
        };
        self.questions.send_replace(Some(question));
    }

    async fn reply(&mut self) -> CallerReply {
        let Some(replies) = self.replies.as_mut() else {
            return std::future::pending().await;
        };
        tokio::select! {
            biased;
            Some(reply) = replies.recv() => reply,
            () = self.questions.closed() => {
                self.replies = None;
                CallerReply::Closed
            }
        }
    }
}

/// A running call as a request follows it. The call is cancelled when all of these are dropped.
#[derive(Debug)]
pub(super) struct Progress {
    task: Arc<CallTask>,
    answer: watch::Receiver<Option<ToolAnswer>>,
    questions: watch::Receiver<Option<ShownQuestion>>,
    /// The last question, if its call may still wait.
    shown: Option<ShownQuestion>,
}

/// The task of a call, which ends with this.
#[derive(Debug)]
struct CallTask(AbortHandle);

impl Drop for CallTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Progress {
    /// Starts a call, which sends its questions to what it is given.
    pub(super) fn start<F: Future<Output = ToolAnswer> + Send + 'static>(
        call: impl FnOnce(Box<dyn Approvals>) -> F,
    ) -> Self {
        let (sender, questions) = QuestionSender::new();
        let (answers, answer) = watch::channel(None);
        let call = call(Box::new(sender));
        let task = tokio::spawn(async move {
            answers.send_replace(Some(call.await));
        });
        Self {
            task: Arc::new(CallTask(task.abort_handle())),
            answer,
            questions,
            shown: None,
        }
    }

    fn has_ended(&self) -> bool {
        self.answer.borrow().is_some()
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
    /// The call with its question, for a client that did not get the question.
    ///
    /// # Errors
    /// With the call, if it ended meanwhile.
    pub(super) fn ask_again(self) -> Result<(Self, OpenApproval), Box<Progress>> {
        match &self.0.shown {
            Some(shown) if !self.0.has_ended() => {
                let open = shown.open.clone();
                Ok((self, open))
            }
            _ => Err(Box::new(self.0)),
        }
    }

    /// Continues the call with what the client's user answered.
    pub(super) fn answered(self, answer: Answer, client: &str) -> Progress {
        if let Some(shown) = &self.0.shown {
            shown.reply(answer.reply(&shown.open, client));
        }
        self.0
    }
}

/// Whether a call needed the user's approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NeededApproval(pub(super) bool);

/// How far a call got.
#[expect(
    clippy::large_enum_variant,
    reason = "made once per request and taken apart at once"
)]
pub(super) enum Followed {
    /// It has ended, after a question or without one.
    Answered(ToolAnswer, NeededApproval),
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
                let answer = ToolAnswer::failed(ToolStatus::Cancelled, why, elapsed);
                return Followed::Answered(answer, NeededApproval(progress.shown.is_some()));
            }
            Ok(()) = progress.questions.changed() => {
                let Some(question) = progress.questions.borrow_and_update().clone() else {
                    continue;
                };
                let open = question.open.clone();
                let fits = elicitation::fits(&open);
                let needs_input = fits && matches!(by, AskBy::InputRequired);
                let is_shown_already = !needs_input && !question.take();
                progress.shown = Some(question);
                // What was asked before is withdrawn.
                asking = None;
                is_patient = true;
                match by {
                    _ if !open.open_to_caller || is_shown_already => {}
                    _ if !fits => progress.reply(CallerReply::Closed),
                    AskBy::InputRequired => {
                        return Followed::NeedsInput(Waiting(progress), open);
                    }
                    AskBy::Request(peer) => {
                        asking = Some(Box::pin(elicitation::ask(peer.clone(), open, patience)));
                    }
                    AskBy::Nothing => progress.reply(CallerReply::Closed),
                }
            }
            ended = ended(&mut progress.answer) => {
                let elapsed = started.elapsed();
                let failed = || ToolAnswer::failed(ToolStatus::Error, "the call was ended", elapsed);
                let needed_approval = NeededApproval(progress.shown.is_some());
                return Followed::Answered(ended.unwrap_or_else(failed), needed_approval);
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

/// The answer of a call; none if it was ended without one. Cancel-safe.
async fn ended(answer: &mut watch::Receiver<Option<ToolAnswer>>) -> Option<ToolAnswer> {
    let ended = answer.wait_for(Option::is_some).await.ok()?;
    ended.clone()
}

/// What a repeated request must have in common with the first.
#[derive(Clone, Debug)]
pub(super) struct CallKey {
    pub(super) tool: String,
    arguments: Map<String, Value>,
    /// The client's id of the call, if it gave one.
    pub(super) id: Option<String>,
}

impl CallKey {
    /// The key of a request.
    ///
    /// # Errors
    /// For an id that is no text, empty or too long. Nothing is executed.
    pub(super) fn of(
        tool: &str,
        arguments: &Map<String, Value>,
        meta: &Map<String, Value>,
    ) -> Result<Self, ErrorData> {
        let id = match meta.get(CALL_ID) {
            None | Some(Value::Null) => None,
            Some(Value::String(id)) if (1..=MAX_CALL_ID_BYTES).contains(&id.len()) => {
                Some(id.clone())
            }
            Some(_) => {
                let why = format!(
                    "_meta {CALL_ID}: expected a string of 1 to {MAX_CALL_ID_BYTES} bytes; nothing \
                     was executed"
                );
                return Err(ErrorData::invalid_params(why, None));
            }
        };
        Ok(Self {
            tool: tool.to_owned(),
            arguments: arguments.clone(),
            id,
        })
    }

    /// Whether a request repeats this one. A client that answers a question may omit the id.
    pub(super) fn is_repeated_by(&self, other: &Self) -> bool {
        self.tool == other.tool && self.arguments == other.arguments
    }
}

/// Why a call cannot have the id of another one.
pub(super) fn other_call(id: &str) -> String {
    format!(
        "{CALL_ID} {id} belongs to a call with another tool or other arguments; nothing was \
         executed. Use a new id for each call, and the same one only to send a call again."
    )
}

#[derive(Debug)]
struct WaitingCall {
    waiting: Waiting,
    key: CallKey,
    since: Instant,
}

/// A running call that its client may send again.
#[derive(Debug)]
struct RepeatableCall {
    key: CallKey,
    task: Weak<CallTask>,
    answer: watch::Receiver<Option<ToolAnswer>>,
    questions: watch::Receiver<Option<ShownQuestion>>,
}

/// The calls of a server that have not ended.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Those whose client is asking the user, by the state that it must return.
    waiting: Mutex<HashMap<String, WaitingCall>>,
    /// Those that run, by the ids that their clients gave them.
    running: Mutex<HashMap<String, RepeatableCall>>,
}

impl Calls {
    /// Starts a call, or joins the running one that the client gave the same id.
    ///
    /// # Errors
    /// With a sentence for the model, for the id of another call. Nothing is executed.
    pub(super) fn start<F: Future<Output = ToolAnswer> + Send + 'static>(
        &self,
        key: &CallKey,
        call: impl FnOnce(Box<dyn Approvals>) -> F,
    ) -> Result<Progress, String> {
        let Some(id) = &key.id else {
            return Ok(Progress::start(call));
        };
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|_, call| call.task.strong_count() > 0);
        if let Some(known) = running.get(id)
            && let Some(task) = known.task.upgrade()
        {
            return match known.key.is_repeated_by(key) {
                true => Ok(Progress {
                    task,
                    answer: known.answer.clone(),
                    questions: known.questions.clone(),
                    shown: None,
                }),
                false => Err(other_call(id)),
            };
        }
        let started = Progress::start(call);
        let repeatable = RepeatableCall {
            key: key.clone(),
            task: Arc::downgrade(&started.task),
            answer: started.answer.clone(),
            questions: started.questions.clone(),
        };
        running.insert(id.clone(), repeatable);
        Ok(started)
    }

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
        let mut calls = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// The number of requests that follow a running call.
    #[cfg(test)]
    pub(super) fn followers(&self, id: &str) -> usize {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.get(id).map_or(0, |call| call.task.strong_count())
    }

    /// Takes the call that was sent before with the same id, if its client is asking the user.
    ///
    /// # Errors
    /// For the id of another call. Nothing is executed.
    pub(super) fn sent_before(&self, key: &CallKey) -> Result<Option<Waiting>, ErrorData> {
        let Some(id) = &key.id else {
            return Ok(None);
        };
        let mut calls = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let has_id = |call: &&WaitingCall| call.key.id.as_ref() == Some(id);
        let Some((state, call)) = calls.iter().find(|(_, call)| has_id(call)) else {
            return Ok(None);
        };
        if !call.key.is_repeated_by(key) {
            return Err(ErrorData::invalid_params(other_call(id), None));
        }
        let state = state.clone();
        Ok(calls.remove(&state).map(|call| call.waiting))
    }

    /// Takes the call that a repeated request continues; each state can be used once.
    ///
    /// # Errors
    /// For a state that is unknown, used, expired, or of another call. Nothing is executed.
    pub(super) fn resume(&self, state: &str, key: &CallKey) -> Result<Waiting, ErrorData> {
        let invalid = |why: &str| {
            ErrorData::invalid_params(format!("requestState {why}; nothing was executed"), None)
        };
        let mut calls = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(found) = calls.get(state) else {
            return Err(invalid("is unknown, or was used before"));
        };
        if !found.key.is_repeated_by(key) {
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
        let waiting = &self.waiting;
        waiting
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
