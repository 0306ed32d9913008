//! Accepts clients, checks their identity and version, and answers their requests.

mod waiting;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::net::sockopt::set_socket_passcred;
use telechir_policy::Digest;
use telechir_runtime::{NewestOutput, RecordedTurn, SessionEvent};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::approver::HostApprover;
use super::calls::{CallEnd, CallProgress, CallTable, Follower, Submitted, other_contents};
use super::control::{ControlSlot, SessionControl};
use super::devtools::{ClientDevtools, DevtoolsConnection, DevtoolsConnections, PERSON};
use super::ended_turns::EndedTurn;
use super::events::{FirstReply, Subscription};
use super::person::PersonControl;
use super::status::SessionStatus;
use super::tasks::{TaskLease, TaskRequests, TaskWork, is_end, report_task};
use crate::approvals::{FoundApproval, PeerProcess, operator_of};
use crate::frames::{MAX_CALL_BYTES, MAX_CONTROL_BYTES, MessageReader, MessageWriter};
use crate::message::{
    EventsFrom, Greeting, Hello, HostReply, HostRequest, PROTOCOL, Reply, Request,
};
use crate::tokens::BearerToken;
use crate::{HostError, SessionState, TurnKey, TurnRequest};

/// Maximum number of connections.
const MAX_CONNECTIONS: usize = 512;
/// Maximum number of requests of one connection that are not answered.
const MAX_REQUESTS: usize = 1024;
/// Time to send the last replies when the session is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Timeout for a client's version.
const HELLO_TIMEOUT: Duration = Duration::from_secs(30);
/// The start of a turn that is answered sooner is not reported: a message more would delay the answer.
const SHORT_TURN: Duration = Duration::from_millis(3);
/// Pause after a failed accept.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// What all connections share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) status: SessionStatus,
    pub(super) calls: Arc<CallTable>,
    pub(super) approver: HostApprover,
    pub(super) control: ControlSlot,
    /// Who has control instead of the calls.
    pub(super) person: Arc<PersonControl>,
    /// Programs that drive the browser.
    pub(super) devtools: Arc<DevtoolsConnections>,
    /// Requests of clients whose models work on tasks.
    pub(super) tasks: Arc<TaskRequests>,
    /// What the model of a task has written of its message.
    pub(super) message: NewestOutput,
    /// Requests to close the session.
    pub(super) closes: mpsc::Sender<Closer>,
}

/// Who requested to close the session.
#[derive(Debug)]
pub(super) enum Closer {
    /// A client that waits for the reply to this request.
    Client { writer: Arc<MessageWriter>, id: u64 },
    /// The connection of the session's owner, which has ended.
    Owner,
}

impl Closer {
    /// Reports the end of the session.
    pub(super) async fn reply(&self, problem: Option<String>) {
        if let Self::Client { writer, id } = self {
            send(writer, *id, HostReply::Closed { problem }).await;
        }
    }
}

/// All connections of the session's socket.
#[derive(Debug)]
pub(super) struct Connections {
    tasks: JoinSet<()>,
    is_closing: watch::Sender<bool>,
}

impl Connections {
    pub(super) fn new() -> Self {
        Self {
            tasks: JoinSet::new(),
            is_closing: watch::Sender::new(false),
        }
    }

    /// Accepts clients until it is dropped.
    pub(super) async fn accept_all(&mut self, listener: &UnixListener, shared: &Arc<Shared>) {
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) if self.tasks.len() < MAX_CONNECTIONS => {
                        let closing = self.is_closing.subscribe();
                        self.tasks.spawn(serve_client(stream, Arc::clone(shared), closing));
                    }
                    Ok(_) => tracing::warn!("more than {MAX_CONNECTIONS} connections: one was closed"),
                    Err(error) => {
                        tracing::warn!(%error, "failed to accept a connection");
                        // No event reports the end of, for example, a lack of file descriptors.
                        sleep(ACCEPT_RETRY).await;
                    }
                },
                Some(_) = self.tasks.join_next() => {}
            }
        }
    }

    /// Sends the replies that are left and ends all connections.
    pub(super) async fn close(mut self) {
        self.is_closing.send_replace(true);
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        // A client that does not read by then notices the closed connection.
        let _too_slow = timeout(CLOSE_TIMEOUT, ended).await;
    }
}

async fn serve_client(stream: UnixStream, shared: Arc<Shared>, closing: watch::Receiver<bool>) {
    let current = rustix::process::geteuid().as_raw();
    match stream.peer_cred() {
        Ok(peer) if peer.uid() == current => {}
        Ok(peer) => {
            tracing::warn!(uid = peer.uid(), "rejected a client of another user");
            return;
        }
        Err(error) => {
            tracing::warn!(%error, "rejected a client whose user cannot be determined");
            return;
        }
    }
    let peer = set_socket_passcred(&stream, true)
        .map_err(Into::into)
        .and_then(|()| PeerProcess::of(&stream));
    let Ok(peer) = peer else {
        tracing::debug!("a client was gone before it was served");
        return;
    };
    let (reader, writer) = stream.into_split();
    let mut client = Client {
        reader: MessageReader::new(reader),
        writer: Arc::new(MessageWriter::new(writer)),
        shared,
        replies: JoinSet::new(),
        subscriptions: HashMap::new(),
        is_owner: false,
        peer,
        turns: VecDeque::new(),
        following: HashMap::new(),
        devtools: ClientDevtools::default(),
        task: None,
        closing,
    };
    if let Ok(Some(())) = timeout(HELLO_TIMEOUT, client.greet()).await {
        client.serve().await;
    }
}

/// A client that is connected.
struct Client {
    reader: MessageReader,
    writer: Arc<MessageWriter>,
    shared: Arc<Shared>,
    /// One task for each request that is not answered at once.
    replies: JoinSet<()>,
    /// By the numbers of their requests.
    subscriptions: HashMap<u64, Subscription>,
    is_owner: bool,
    /// The process that connected.
    peer: PeerProcess,
    /// The last turns that it requested or joined.
    turns: VecDeque<TurnKey>,
    /// The requests that follow turns, by their numbers; dropping one ends its reports.
    following: HashMap<u64, oneshot::Sender<()>>,
    /// Its connections of programs to the browser.
    devtools: ClientDevtools,
    /// Present while it works on a task in the session.
    task: Option<TaskLease>,
    /// True once the session is closed.
    closing: watch::Receiver<bool>,
}

impl Client {
    /// Compares the versions; none if the client cannot be served.
    async fn greet(&mut self) -> Option<()> {
        let hello: Hello = self.reader.next(MAX_CONTROL_BYTES).await.ok()??;
        let greeting = match hello.protocol {
            PROTOCOL => Greeting::Welcome(Box::new(self.shared.describe())),
            _ => refusal(&self.shared.status.name, &hello),
        };
        let sent = self.writer.send(&greeting).await;
        (sent.is_ok() && hello.protocol == PROTOCOL).then_some(())
    }

    /// Answers requests until the client disconnects or the session is closed.
    async fn serve(mut self) {
        let mut closing = self.closing.clone();
        loop {
            let has_room = self.replies.len() < MAX_REQUESTS;
            tokio::select! {
                request = self.reader.next::<Request>(MAX_CALL_BYTES), if has_room => match request {
                    Ok(Some(Request { id, request })) => self.answer(id, request).await,
                    Ok(None) => break,
                    Err(error) => {
                        tracing::warn!(%error, "failed to read a request; the connection is closed");
                        break;
                    }
                },
                Some(_) = self.replies.join_next() => {}
                () = closed(&mut closing) => {
                    while self.replies.join_next().await.is_some() {}
                    return;
                }
            }
        }
        if self.is_owner {
            tracing::info!("the owner of the session is gone");
            let _full_means_closing = self.shared.closes.try_send(Closer::Owner);
        }
    }

    async fn answer(&mut self, id: u64, request: HostRequest) {
        let reply = match request {
            HostRequest::Describe => HostReply::Described(Box::new(self.shared.describe())),
            HostRequest::Execute(request) => return self.execute(id, request).await,
            HostRequest::Await { key } => match self.shared.calls.join(&key) {
                Some(Submitted::Following(follower)) => return self.follow(id, follower, None),
                Some(Submitted::Ended(end)) => return self.answer_ended(id, key, end),
                None if self.shared.calls.may_be_recorded(&key) => {
                    return self.answer_ended(id, key, EndedTurn::Answered);
                }
                None => failed(format!(
                    "session {} has no turn {key}",
                    self.shared.status.name
                )),
            },
            HostRequest::Cancel { key } => {
                // A turn that has ended needs no cancellation.
                self.shared.calls.cancel(&key);
                HostReply::Done
            }
            HostRequest::Leave { key, request } => {
                self.leave(&key, request);
                HostReply::Done
            }
            HostRequest::ListApprovals => HostReply::Approvals {
                open: self.shared.approver.queue().list(),
            },
            HostRequest::FindApproval { code } => {
                let queue = self.shared.approver.queue();
                HostReply::Approval(Box::new(FoundApproval {
                    open: queue.find(&code),
                    settled: queue.settled(&code),
                }))
            }
            HostRequest::ReplyToQuestion { code, reply } => done(self.sender().and_then(|peer| {
                let approver = &self.shared.approver;
                approver.caller_replied(&code, reply, peer, &self.turns)
            })),
            HostRequest::AnswerApproval { code, answer } => done(
                self.sender()
                    .and_then(|peer| self.shared.approver.answer(&code, answer, peer)),
            ),
            HostRequest::AnswerAsOperator { code, answer } => {
                done(self.sender().and_then(|peer| {
                    let tokens = &self.shared.status.settings().tokens;
                    let by = answer.principal(tokens.as_ref())?;
                    let approver = &self.shared.approver;
                    approver.answer_as_operator(&code, answer, peer, by)
                }))
            }
            HostRequest::ListRemembered => HostReply::Remembered {
                approvals: self.shared.approver.queue().remembered(),
            },
            HostRequest::RevokeApproval { number } => {
                match self.shared.approver.queue().revoke(number) {
                    true => HostReply::Done,
                    false => failed(format!(
                        "session {} has no approval {number}; run `telechir approvals remembered`",
                        self.shared.status.name
                    )),
                }
            }
            HostRequest::Subscribe { from, window } => {
                let from = from.map_or(EventsFrom::Now, EventsFrom::Row);
                return self.subscribe(id, from, window, FirstReply::Event);
            }
            HostRequest::FollowEvents { from, window } => {
                return self.subscribe(id, from, Some(window), FirstReply::Row);
            }
            HostRequest::EventsRead { id, count } => {
                if let Some(subscription) = self.subscriptions.get(&id) {
                    subscription.add_room(count);
                }
                HostReply::Done
            }
            HostRequest::Unsubscribe { id } => {
                if let Some(subscription) = self.subscriptions.remove(&id) {
                    subscription.end();
                }
                HostReply::Done
            }
            HostRequest::CaptureScreen { device, max_width } => {
                return self.capture_screen(id, device, max_width);
            }
            HostRequest::WatchScreen { device, since } => {
                return self.watch_screen(id, device, since);
            }
            HostRequest::ReadPage => return self.read_page(id),
            HostRequest::TakeControl { token } => {
                let by = self.operator(token);
                let shared = Arc::clone(&self.shared);
                return self.answer_later(id, async move {
                    let by = by?;
                    shared.person.check_free()?;
                    // The session may be waiting for an answer about a program's command.
                    shared.devtools.end_all(PERSON).await;
                    let id = shared.person.take(by).await?;
                    Ok(HostReply::ControlTaken { id })
                });
            }
            HostRequest::ControlInput { id, device, input } => {
                let sender = self.sender().map(drop);
                match sender {
                    Ok(()) => done(self.shared.person.input(&id, device, input).await),
                    Err(message) => failed(message),
                }
            }
            HostRequest::GiveControlBack { token } => {
                let by = self.operator(token);
                let shared = Arc::clone(&self.shared);
                return self.answer_later(id, async move {
                    by?;
                    shared.person.give_back().await;
                    Ok(HostReply::Done)
                });
            }
            HostRequest::ReadScreenshot { digest } => return self.read_screenshot(id, digest),
            HostRequest::ReadCall { row } => return self.read_call(id, row),
            HostRequest::WatchOutput { since } => return self.watch_output(id, since),
            HostRequest::WatchMessage { since } => return self.watch_message(id, since),
            HostRequest::OpenDevtools => return self.open_devtools(id),
            HostRequest::SendDevtools { id: opened, text } => {
                let sender = lock(&self.devtools).get(&opened).map(|one| one.messages());
                let sent = match sender {
                    None => false,
                    // A program that is judged sends no more meanwhile; nor do others of this client.
                    Some(messages) => messages.send(text).await,
                };
                done(match sent {
                    true => Ok(()),
                    false => Err("the connection to the browser has ended".to_owned()),
                })
            }
            HostRequest::ReceiveDevtools { id: opened } => {
                return self.receive_devtools(id, opened);
            }
            HostRequest::OfferDevices { screenshots } => match self.begin_task() {
                Ok(()) => return self.work_for_task(id, TaskWork::Offer(screenshots)),
                Err(message) => failed(message),
            },
            HostRequest::FindHiddenInput { contents } => match self.check_task() {
                Ok(()) => return self.work_for_task(id, TaskWork::FindHiddenInput(contents)),
                Err(message) => failed(message),
            },
            HostRequest::RecordConversation { entry } => match self.check_task() {
                Ok(()) => return self.work_for_task(id, TaskWork::Record(entry)),
                Err(message) => failed(message),
            },
            HostRequest::ReportTask { event } => done(self.report_task(*event)),
            HostRequest::ShowMessage { piece } => done(self.check_task().map(|()| {
                self.shared.message.push_message(&piece);
            })),
            HostRequest::ReloadPolicy => match self.shared.reload() {
                Ok(policy) => HostReply::Reloaded { policy },
                Err(message) => failed(message),
            },
            HostRequest::Extend {
                seconds,
                with_rented,
            } => return self.extend(id, seconds, with_rented),
            HostRequest::Own => {
                self.is_owner = true;
                HostReply::Done
            }
            HostRequest::Close => {
                let writer = Arc::clone(&self.writer);
                // A full queue means that the session is closing anyway.
                let _full_means_closing =
                    self.shared.closes.try_send(Closer::Client { writer, id });
                return;
            }
        };
        send(&self.writer, id, reply).await;
    }

    /// The process that connected, if it sent the last message itself: a connection can be passed on.
    fn sender(&self) -> Result<&PeerProcess, String> {
        match self.reader.sender() {
            Some(sender) if sender == self.peer.pid() => Ok(&self.peer),
            _ => Err(
                "the answer did not come from the process that connected, so it does not count"
                    .to_owned(),
            ),
        }
    }

    /// Begins a task of this client.
    fn begin_task(&mut self) -> Result<(), String> {
        self.sender()?;
        let lease = self.shared.tasks.lease(self.shared.message.clone());
        self.task = Some(lease.ok_or_else(|| {
            format!(
                "session {} works on a task of another client; wait until that has ended",
                self.shared.status.name
            )
        })?);
        Ok(())
    }

    /// Whether this client works on a task.
    fn check_task(&self) -> Result<(), String> {
        self.sender()?;
        let is_working = self.task.is_some();
        is_working
            .then_some(())
            .ok_or_else(|| "this client works on no task in the session".to_owned())
    }

    fn report_task(&mut self, event: SessionEvent) -> Result<(), String> {
        self.check_task()?;
        let has_ended = is_end(&event);
        report_task(&*self.shared.started()?, event)?;
        if has_ended {
            self.task = None;
        }
        Ok(())
    }

    /// The operator with this token, if the process that sent it may act for a person.
    fn operator(&self, token: BearerToken) -> Result<String, String> {
        let peer = self.sender()?;
        let tokens = self.shared.status.settings().tokens.as_ref();
        let by = operator_of(&token, tokens)?;
        self.shared.approver.queue().check_operator(peer)?;
        Ok(by)
    }

    async fn execute(&mut self, id: u64, request: TurnRequest) {
        let deadline = Instant::now().checked_add(Duration::from_millis(request.queue_ms));
        let digest = Digest::of_json(&serde_json::to_value(&request.contents).unwrap_or_default());
        let bytes = self.reader.last_length();
        let key = request.key.clone();
        let may_be_retry = request.may_be_retry;
        if self.shared.calls.may_be_recorded(&key)
            && let Some(reply) = self.shared.recorded_again(&key, digest).await
        {
            return send(&self.writer, id, reply).await;
        }
        match self.shared.calls.submit(request, digest, bytes) {
            Ok(Submitted::Following(follower)) => {
                let key = follower.call.key.clone();
                self.note_turn(key.clone());
                if may_be_retry {
                    send(&self.writer, id, HostReply::Accepted { key }).await;
                }
                self.follow(id, follower, deadline);
            }
            Ok(Submitted::Ended(end)) => self.answer_ended(id, key, end),
            Err(error) => send(&self.writer, id, failed_turn(&error)).await,
        }
    }

    /// Remembers a turn whose questions this client may reply to.
    fn note_turn(&mut self, key: TurnKey) {
        if self.turns.len() >= MAX_REQUESTS {
            self.turns.pop_front();
        }
        self.turns.push_back(key);
    }

    /// Ends this client's request for a turn. The turn is cancelled if no other request follows it.
    fn leave(&mut self, key: &TurnKey, request: Option<u64>) {
        if self.shared.calls.cancel_unless_shared(key)
            && let Some(request) = request.and_then(|id| self.following.remove(&id))
        {
            // Not aborted: half a message would end the connection for all other requests.
            drop(request);
        }
    }

    /// Reports the progress of a turn in a task of its own.
    fn follow(&mut self, id: u64, follower: Follower, deadline: Option<Instant>) {
        let (writer, shared) = (Arc::clone(&self.writer), Arc::clone(&self.shared));
        let (request, mut left) = oneshot::channel();
        self.replies.spawn(async move {
            report(&writer, id, &follower, deadline, &shared, &mut left).await;
        });
        self.following.retain(|_, request| !request.is_closed());
        self.following.insert(id, request);
    }
}

impl Client {
    /// Answers a turn that has ended from the recording.
    fn answer_ended(&mut self, id: u64, key: TurnKey, end: EndedTurn) {
        let (writer, shared) = (Arc::clone(&self.writer), Arc::clone(&self.shared));
        self.replies.spawn(async move {
            let reply = match end {
                EndedTurn::Answered => shared.recorded(&key).await,
                EndedTurn::Cancelled => HostReply::Cancelled,
                EndedTurn::Failed(error) => failed_turn(&error),
            };
            send(&writer, id, reply).await;
        });
    }
}

impl Shared {
    /// Ends the session if no turn was requested yet.
    pub(super) fn end_if_unused(&self) {
        if self.calls.is_unused() {
            tracing::info!("the process that started the session left without using it");
            let _full_means_closing = self.closes.try_send(Closer::Owner);
        }
    }

    /// Answers the call that runs, or waits for a person, when the session is closed.
    pub(super) fn fail_call(&self) {
        let name = &self.status.name;
        let error = HostError::new(format!("session {name} was closed during the call"));
        self.calls.finish(CallEnd::Failed(error), true);
    }

    /// What a person does counts as use of the session.
    pub(super) fn note_use(&self) {
        self.status.extend(self.status.settings().idle_limit);
    }

    /// The session's control, once its devices have started.
    fn started(&self) -> Result<Arc<SessionControl>, String> {
        let control = self.control.get();
        control.ok_or_else(|| format!("session {} is still starting", self.status.name))
    }

    /// Reads the policy again.
    pub(super) fn reload(&self) -> Result<Digest, String> {
        let control = self.started()?;
        let digest = control.reload()?;
        self.status.set_policy(digest);
        // What was approved for later calls was approved under the policy before.
        self.approver.queue().revoke_all();
        Ok(digest)
    }

    /// The results of a turn that has ended.
    async fn recorded(&self, key: &TurnKey) -> HostReply {
        let recorded = self.recorded_turn(key).await;
        recorded.map_or_else(failed, |turn| match turn {
            Some(turn) if turn.has_ended => HostReply::Answered {
                results: turn.results,
            },
            Some(_) => HostReply::Cancelled,
            None => failed(format!(
                "the results of turn {key} are not in the recording"
            )),
        })
    }

    /// The reply to an old turn that is sent again; none if the recording has no turn with this key.
    async fn recorded_again(&self, key: &TurnKey, digest: Digest) -> Option<HostReply> {
        match self.recorded_turn(key).await {
            Err(message) => Some(failed(message)),
            Ok(turn) => turn.map(|turn| match turn.has_ended {
                _ if turn.digest != digest => failed_turn(&other_contents(key)),
                true => HostReply::Answered {
                    results: turn.results,
                },
                false => HostReply::Cancelled,
            }),
        }
    }

    async fn recorded_turn(&self, key: &TurnKey) -> Result<Option<RecordedTurn>, String> {
        let control = self.started()?;
        let turn = control.recording.turn(key.as_str()).await;
        turn.map_err(|error| format!("failed to {error}"))
    }

    fn describe(&self) -> crate::SessionDescription {
        crate::SessionDescription {
            control: self.person.describe(),
            running: self.calls.current().map(|call| call.key.clone()),
            ..self.status.describe(self.calls.waiting())
        }
    }
}

/// Reports a turn until its end, or until the request is left, between two messages. A turn that has
/// not started at the deadline ends as busy.
async fn report(
    writer: &MessageWriter,
    id: u64,
    follower: &Follower,
    deadline: Option<Instant>,
    shared: &Shared,
    left: &mut oneshot::Receiver<()>,
) {
    let call = &follower.call;
    let mut progress = call.progress();
    let mut is_first = true;
    // The client knows that the turn has started.
    let mut is_start_known = false;
    let mut deadline = deadline;
    loop {
        let current = progress.borrow_and_update().clone();
        let reply = match current {
            CallProgress::Queued if is_first && follower.is_behind => Some(HostReply::Queued),
            CallProgress::Queued => None,
            CallProgress::Started => {
                if !is_start_known {
                    let changed = timeout(SHORT_TURN, progress.changed()).await;
                    if matches!(changed, Ok(Ok(()))) {
                        continue;
                    }
                }
                is_start_known = true;
                Some(HostReply::Started)
            }
            CallProgress::Question(open) => {
                is_start_known = true;
                Some(HostReply::Question((*open).clone()))
            }
            CallProgress::Ended(end) => {
                let is_answered = matches!(*end, CallEnd::Answered(_));
                if !is_answered && !is_start_known && call.has_started() {
                    send(writer, id, HostReply::Started).await;
                }
                return send(writer, id, ended(end)).await;
            }
        };
        is_first = false;
        if let Some(reply) = reply {
            send(writer, id, reply).await;
        }
        let changed = tokio::select! {
            biased;
            _ = &mut *left => return,
            changed = progress.changed() => changed,
            () = expired(deadline) => {
                deadline = None;
                let is_starting = shared.status.state() == SessionState::Starting;
                shared.calls.withdraw(call, is_starting);
                tokio::select! {
                    _ = &mut *left => return,
                    changed = progress.changed() => changed,
                }
            }
        };
        if changed.is_err() {
            return;
        }
    }
}

fn ended(end: Arc<CallEnd>) -> HostReply {
    match Arc::unwrap_or_clone(end) {
        CallEnd::Answered(results) => HostReply::Answered { results },
        CallEnd::Cancelled => HostReply::Cancelled,
        CallEnd::Busy => HostReply::Busy,
        CallEnd::Failed(error) => failed_turn(&error),
    }
}

pub(super) fn failed(message: String) -> HostReply {
    failed_turn(&HostError::new(message))
}

fn failed_turn(error: &HostError) -> HostReply {
    HostReply::Failed {
        message: error.to_string(),
        kind: error.kind(),
    }
}

/// The reply to a request that either is done or has failed.
fn done(outcome: Result<(), String>) -> HostReply {
    match outcome {
        Ok(()) => HostReply::Done,
        Err(message) => failed(message),
    }
}

fn lock(devtools: &ClientDevtools) -> MutexGuard<'_, HashMap<u64, DevtoolsConnection>> {
    devtools.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until the session is closed.
async fn closed(closing: &mut watch::Receiver<bool>) {
    // The sender is dropped only with all connections.
    let _is_closing = closing.wait_for(|is_closing| *is_closing).await.is_ok();
}

async fn expired(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Sends a reply. Errors are ignored: a lost connection is noticed when reading.
pub(super) async fn send(writer: &MessageWriter, id: u64, reply: HostReply) {
    if let Err(error) = writer.send(&Reply { id, reply }).await {
        tracing::debug!(%error, "failed to send a reply to a client");
    }
}

fn refusal(name: &str, hello: &Hello) -> Greeting {
    let current = Hello::current();
    let message = format!(
        "session {name} belongs to telechir {} (protocol {PROTOCOL}), but this is telechir {} \
         (protocol {}); close it: telechir sessions close {name}, with that version or end process {}",
        current.version,
        hello.version,
        hello.protocol,
        std::process::id(),
    );
    Greeting::Refused {
        message,
        protocol: Some(PROTOCOL),
        version: Some(current.version),
    }
}

#[cfg(test)]
mod tests;
