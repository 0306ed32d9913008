//! Accepts clients, checks their identity and version, and answers their requests.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use rustix::net::sockopt::set_socket_passcred;
use telechir_policy::Digest;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::approver::HostApprover;
use super::calls::{CallEnd, CallProgress, CallTable, EndedTurn, Follower, Submitted};
use super::control::ControlSlot;
use super::events::send_events;
use super::status::SessionStatus;
use crate::approvals::{FoundApproval, PeerProcess};
use crate::frames::{MAX_CALL_BYTES, MAX_CONTROL_BYTES, MessageReader, MessageWriter};
use crate::message::{Greeting, Hello, HostReply, HostRequest, PROTOCOL, Reply, Request};
use crate::{SessionState, TurnKey, TurnRequest};

/// Maximum number of connections.
const MAX_CONNECTIONS: usize = 512;
/// Maximum number of requests of one connection that are not answered.
const MAX_REQUESTS: usize = 1024;
/// Time to send the last replies when the session is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Timeout for a client's version.
const HELLO_TIMEOUT: Duration = Duration::from_secs(30);
/// Pause after a failed accept.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// What all connections share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) status: SessionStatus,
    pub(super) calls: Arc<CallTable>,
    pub(super) approver: HostApprover,
    pub(super) control: ControlSlot,
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
    };
    if let Ok(Some(())) = timeout(HELLO_TIMEOUT, client.greet()).await {
        client.serve(closing).await;
    }
}

/// A client that is connected.
struct Client {
    reader: MessageReader,
    writer: Arc<MessageWriter>,
    shared: Arc<Shared>,
    /// One task for each request that is not answered at once.
    replies: JoinSet<()>,
    /// Ends a subscription, by the number of its request.
    subscriptions: HashMap<u64, watch::Sender<bool>>,
    is_owner: bool,
    /// The process that connected.
    peer: PeerProcess,
    /// The last turns that it requested.
    turns: VecDeque<TurnKey>,
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
    async fn serve(mut self, mut closing: watch::Receiver<bool>) {
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
                None => HostReply::Failed {
                    message: format!("session {} has no turn {key}", self.shared.status.name),
                },
            },
            HostRequest::Cancel { key } => {
                // A turn that has ended needs no cancellation.
                self.shared.calls.cancel(&key);
                HostReply::Done
            }
            HostRequest::Leave { key } => {
                self.shared.calls.cancel_unless_shared(&key);
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
            HostRequest::ListRemembered => HostReply::Remembered {
                approvals: self.shared.approver.queue().remembered(),
            },
            HostRequest::RevokeApproval { number } => {
                match self.shared.approver.queue().revoke(number) {
                    true => HostReply::Done,
                    false => HostReply::Failed {
                        message: format!(
                            "session {} has no approval {number}; run `telechir approvals remembered`",
                            self.shared.status.name
                        ),
                    },
                }
            }
            HostRequest::Subscribe { from } => return self.subscribe(id, from),
            HostRequest::Unsubscribe { id } => {
                // Dropping the sender would not end it.
                if let Some(subscription) = self.subscriptions.remove(&id) {
                    subscription.send_replace(true);
                }
                HostReply::Done
            }
            HostRequest::ReloadPolicy => match self.shared.reload() {
                Ok(policy) => HostReply::Reloaded { policy },
                Err(message) => HostReply::Failed { message },
            },
            HostRequest::Extend { seconds } => {
                self.shared.status.extend(Duration::from_secs(seconds));
                HostReply::Done
            }
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

    async fn execute(&mut self, id: u64, request: TurnRequest) {
        let deadline = Instant::now().checked_add(Duration::from_millis(request.queue_ms));
        let digest = Digest::of_json(&serde_json::to_value(&request.contents).unwrap_or_default());
        let bytes = self.reader.last_length();
        let key = request.key.clone();
        if self.turns.len() >= MAX_REQUESTS {
            self.turns.pop_front();
        }
        self.turns.push_back(key.clone());
        match self.shared.calls.submit(request, digest, bytes) {
            Ok(Submitted::Following(follower)) => self.follow(id, follower, deadline),
            Ok(Submitted::Ended(end)) => self.answer_ended(id, key, end),
            Err(message) => send(&self.writer, id, HostReply::Failed { message }).await,
        }
    }

    /// Reports the progress of a turn in a task of its own.
    fn follow(&mut self, id: u64, follower: Follower, deadline: Option<Instant>) {
        let (writer, shared) = (Arc::clone(&self.writer), Arc::clone(&self.shared));
        self.replies.spawn(async move {
            report(&writer, id, &follower, deadline, &shared).await;
        });
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
                EndedTurn::Failed(message) => HostReply::Failed { message },
            };
            send(&writer, id, reply).await;
        });
    }

    fn subscribe(&mut self, id: u64, from: Option<u64>) {
        let (writer, shared) = (Arc::clone(&self.writer), Arc::clone(&self.shared));
        let (end, is_over) = watch::channel(false);
        self.subscriptions.insert(id, end);
        self.replies.spawn(async move {
            send_events(&writer, id, &shared.control, from, is_over).await;
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

    /// Reads the policy again.
    pub(super) fn reload(&self) -> Result<Digest, String> {
        let name = &self.status.name;
        let control = self.control.get();
        let control = control.ok_or_else(|| format!("session {name} is still starting"))?;
        let digest = control.reload()?;
        self.status.set_policy(digest);
        // What was approved for later calls was approved under the policy before.
        self.approver.queue().revoke_all();
        Ok(digest)
    }

    /// The results of a turn that has ended.
    async fn recorded(&self, key: &TurnKey) -> HostReply {
        let failed = |message: String| HostReply::Failed { message };
        let Some(control) = self.control.get() else {
            return failed(format!("session {} is still starting", self.status.name));
        };
        match control.recording.turn(key.as_str()).await {
            Ok(Some(turn)) => HostReply::Answered {
                results: turn.results,
            },
            Ok(None) => failed(format!(
                "the results of turn {key} are not in the recording"
            )),
            Err(error) => failed(format!("failed to {error}")),
        }
    }

    fn describe(&self) -> crate::SessionDescription {
        self.status.describe(self.calls.waiting())
    }
}

/// Reports a turn until its end. A turn that has not started at the deadline ends as busy.
async fn report(
    writer: &MessageWriter,
    id: u64,
    follower: &Follower,
    deadline: Option<Instant>,
    shared: &Shared,
) {
    let call = &follower.call;
    let mut progress = call.progress();
    let mut is_first = true;
    let mut deadline = deadline;
    loop {
        let current = progress.borrow_and_update().clone();
        let reply = match current {
            CallProgress::Queued if is_first && follower.is_behind => Some(HostReply::Queued),
            CallProgress::Queued => None,
            CallProgress::Started => Some(HostReply::Started),
            CallProgress::Question(open) => Some(HostReply::Question((*open).clone())),
            CallProgress::Ended(end) => {
                return send(writer, id, ended(end)).await;
            }
        };
        is_first = false;
        if let Some(reply) = reply {
            send(writer, id, reply).await;
        }
        let changed = tokio::select! {
            biased;
            changed = progress.changed() => changed,
            () = expired(deadline) => {
                deadline = None;
                let is_starting = shared.status.state() == SessionState::Starting;
                shared.calls.withdraw(call, is_starting);
                progress.changed().await
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
        CallEnd::Failed(message) => HostReply::Failed { message },
    }
}

/// The reply to a request that either is done or has failed.
fn done(outcome: Result<(), String>) -> HostReply {
    match outcome {
        Ok(()) => HostReply::Done,
        Err(message) => HostReply::Failed { message },
    }
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
