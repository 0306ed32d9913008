//! Programs that drive the session's browser by CDP: their messages, the gateway that decides about
//! them, and the session's loop, which performs what is judged.

mod incoming;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use serde_json::{Value, json};
use telechir_gateway::{
    CdpGateway, JudgedCommand, JudgedScope, MessageStep, ProgramCommand, opening_actions,
};
use telechir_policy::Interface;
use telechir_protocol::Failure;
use telechir_runtime::{
    DevtoolsChannel, DevtoolsCommand, DevtoolsCommands, DevtoolsEvents, DevtoolsGrants,
    DevtoolsReply, DevtoolsScope, RuntimeError, Session,
};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, interval, sleep_until, timeout};

use self::incoming::{IncomingReceiver, IncomingSender};
use crate::error_chain;

/// Connections of programs to one session's browser.
const MAX_CONNECTIONS: usize = 4;
/// Bytes of messages that a program has not read yet; with more its connection ends.
const MAX_UNREAD_BYTES: usize = 128 << 20;
/// Bytes of messages that one answer has, unless a single one is larger.
const BATCH_BYTES: usize = 4 << 20;
/// Requests that the session's loop has not served yet.
const MAX_REQUESTS: usize = 16;
/// Commands whose replies a program waits for at the same time.
const MAX_AWAITED: usize = 4096;
/// How often it is looked whether what lasts in a connection is still permitted.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// A new target waits between one and two of these for the program that wants to prepare it.
const START_INTERVAL: Duration = Duration::from_secs(10);
/// A connection that is to end has ended within this time.
const END_TIMEOUT: Duration = Duration::from_secs(10);
/// Why programs are not served while a person has control.
pub(super) const PERSON: &str =
    "a person has control of the computer; connect again once they have given it back";

/// What the session's loop does for programs between turns.
#[derive(Debug)]
pub(super) enum DevtoolsRequest {
    /// Opens the protocol.
    Open {
        grants: DevtoolsGrants,
        opened: oneshot::Sender<Result<DevtoolsChannel, String>>,
    },
    /// Sends a command, if it is permitted.
    Send(Box<SendRequest>),
}

#[derive(Debug)]
pub(super) struct SendRequest {
    command: DevtoolsCommand,
    commands: Arc<dyn DevtoolsCommands>,
    grants: DevtoolsGrants,
    sent: oneshot::Sender<Sent>,
}

/// What became of a judged command.
struct Sent(Result<DevtoolsReply, String>);

impl fmt::Debug for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sent")
    }
}

/// All connections of programs to the session's browser.
#[derive(Debug)]
pub(super) struct DevtoolsConnections {
    requests: mpsc::Sender<DevtoolsRequest>,
    open: Mutex<ConnectedPrograms>,
    /// A connection has ended.
    left: Notify,
}

#[derive(Debug)]
struct ConnectedPrograms {
    next: u64,
    connections: HashMap<u64, OpenConnection>,
    next_check: Instant,
}

/// What the session knows of a connection.
#[derive(Debug)]
struct OpenConnection {
    grants: DevtoolsGrants,
    /// Why it has to end.
    end: watch::Sender<Option<String>>,
}

impl DevtoolsConnections {
    /// No connections; the requests are for the session.
    pub(super) fn new() -> (Self, mpsc::Receiver<DevtoolsRequest>) {
        let (requests, receiver) = mpsc::channel(MAX_REQUESTS);
        let open = Mutex::new(ConnectedPrograms {
            next: 0,
            connections: HashMap::new(),
            next_check: Instant::now(),
        });
        let left = Notify::new();
        (
            Self {
                requests,
                open,
                left,
            },
            receiver,
        )
    }

    /// Opens a connection, if the policy permits it.
    pub(super) async fn open(self: &Arc<Self>) -> Result<DevtoolsConnection, String> {
        let (slot, grants, end) = self.slot()?;
        let mut ends = end.clone();
        let (opened, is_opened) = oneshot::channel();
        let request = DevtoolsRequest::Open {
            grants: grants.clone(),
            opened,
        };
        let opening = async {
            let sent = self.requests.send(request).await;
            let closing = || "the session is being closed".to_owned();
            sent.map_err(|_| closing())?;
            is_opened.await.map_err(|_| closing())?
        };
        // A question about it ends with it: whoever takes control does not have to answer it first.
        let channel = tokio::select! {
            biased;
            why = ended(&mut ends) => return Err(why),
            opened = opening => opened?,
        };
        let (messages, incoming) = incoming::queue();
        let outgoing = Arc::<Outgoing>::default();
        let program = ConnectedProgram {
            gateway: CdpGateway::new(&channel.context, &channel.world),
            commands: channel.commands,
            grants,
            end,
            requests: self.requests.clone(),
            outgoing: Arc::clone(&outgoing),
        };
        let running = tokio::spawn(async move {
            // Dropped last, also when this is aborted.
            let _slot = slot;
            program.serve(incoming, channel.events).await;
        });
        Ok(DevtoolsConnection {
            messages,
            outgoing,
            running: running.abort_handle(),
        })
    }

    fn slot(
        self: &Arc<Self>,
    ) -> Result<
        (
            ConnectionSlot,
            DevtoolsGrants,
            watch::Receiver<Option<String>>,
        ),
        String,
    > {
        let mut open = self.lock();
        if open.connections.len() >= MAX_CONNECTIONS {
            return Err(format!(
                "{MAX_CONNECTIONS} programs are connected to the session's browser; the maximum is {MAX_CONNECTIONS}"
            ));
        }
        let (end, ended) = watch::channel(None);
        let grants = DevtoolsGrants::default();
        let number = open.next;
        open.next += 1;
        let connection = OpenConnection {
            grants: grants.clone(),
            end,
        };
        open.connections.insert(number, connection);
        let connections = Arc::clone(self);
        Ok((
            ConnectionSlot {
                connections,
                number,
            },
            grants,
            ended,
        ))
    }

    /// Ends all connections, and waits until nothing of them reaches the browser any more.
    pub(super) async fn end_all(&self, why: &str) {
        for connection in self.lock().connections.values() {
            connection.end.send_replace(Some(why.to_owned()));
        }
        let all_left = async {
            loop {
                let left = self.left.notified();
                if self.lock().connections.is_empty() {
                    return;
                }
                left.await;
            }
        };
        if timeout(END_TIMEOUT, all_left).await.is_err() {
            tracing::error!("a program's connection to the browser does not end");
        }
    }

    /// Waits until it is time for [`Self::check`]; for ever without a connection.
    pub(super) async fn check_is_due(&self) {
        let due = {
            let open = self.lock();
            (!open.connections.is_empty()).then_some(open.next_check)
        };
        match due {
            Some(due) => sleep_until(due).await,
            None => std::future::pending().await,
        }
    }

    /// Ends the connections in which something lasts that the policy does not permit any more.
    pub(super) async fn check(&self, session: &mut Session) {
        let open: Vec<(u64, DevtoolsGrants)> = {
            let open = self.lock();
            let connections = open.connections.iter();
            connections
                .map(|(number, connection)| (*number, connection.grants.clone()))
                .collect()
        };
        for (number, grants) in open {
            if let Err(why) = session.check_devtools(&grants).await {
                tracing::warn!(why, "a program's connection to the browser ends");
                if let Some(connection) = self.lock().connections.get(&number) {
                    connection.end.send_replace(Some(why));
                }
            }
        }
        // After the pass, so that one that takes long leaves time for calls.
        self.lock().next_check = Instant::now() + CHECK_INTERVAL;
    }

    fn lock(&self) -> MutexGuard<'_, ConnectedPrograms> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct ConnectionSlot {
    connections: Arc<DevtoolsConnections>,
    number: u64,
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.connections.lock().connections.remove(&self.number);
        self.connections.left.notify_waiters();
    }
}

/// A program's connection; dropping it ends it.
#[derive(Debug)]
pub(super) struct DevtoolsConnection {
    messages: IncomingSender,
    outgoing: Arc<Outgoing>,
    running: AbortHandle,
}

impl DevtoolsConnection {
    /// Where messages of the program go.
    pub(super) fn messages(&self) -> IncomingSender {
        self.messages.clone()
    }

    /// The messages for the program, in order.
    pub(super) fn outgoing(&self) -> Arc<Outgoing> {
        Arc::clone(&self.outgoing)
    }
}

impl Drop for DevtoolsConnection {
    fn drop(&mut self) {
        self.running.abort();
        self.outgoing.end();
    }
}

/// Messages for a program that it has not read yet.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    state: Mutex<Unread>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Unread {
    messages: VecDeque<String>,
    bytes: usize,
    has_ended: bool,
}

impl Outgoing {
    /// The next messages, once there are some; none once the connection has ended.
    pub(super) async fn next(&self) -> Vec<String> {
        loop {
            let changed = self.changed.notified();
            {
                let mut state = self.lock();
                if !state.messages.is_empty() {
                    return state.batch();
                }
                if state.has_ended {
                    return Vec::new();
                }
            }
            changed.await;
        }
    }

    /// Adds a message; false if the program does not read.
    fn push(&self, message: String) -> bool {
        let mut state = self.lock();
        state.bytes += message.len();
        if state.bytes > MAX_UNREAD_BYTES {
            return false;
        }
        state.messages.push_back(message);
        drop(state);
        self.changed.notify_one();
        true
    }

    fn end(&self) {
        self.lock().has_ended = true;
        // Whoever waits, and whoever asks next.
        self.changed.notify_waiters();
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Unread> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Unread {
    fn batch(&mut self) -> Vec<String> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while let Some(message) = self.messages.front() {
            if !batch.is_empty() && bytes + message.len() > BATCH_BYTES {
                break;
            }
            bytes += message.len();
            self.bytes -= message.len();
            batch.extend(self.messages.pop_front());
        }
        batch
    }
}

/// One program, as its connection serves it.
struct ConnectedProgram {
    gateway: CdpGateway,
    commands: Arc<dyn DevtoolsCommands>,
    grants: DevtoolsGrants,
    /// Why the connection has to end.
    end: watch::Receiver<Option<String>>,
    requests: mpsc::Sender<DevtoolsRequest>,
    outgoing: Arc<Outgoing>,
}

/// A command whose reply is awaited.
type Replying = Pin<Box<dyn Future<Output = (ProgramCommand, Result<Value, String>)> + Send>>;
/// A command that waits for the session.
type Judging = Pin<Box<dyn Future<Output = (ProgramCommand, Option<Sent>)> + Send>>;

impl ConnectedProgram {
    /// Carries messages until the program or the browser is gone. Commands reach the browser in the
    /// order in which the program sent them: while one is judged, later ones wait.
    async fn serve(mut self, mut incoming: IncomingReceiver, mut events: Box<dyn DevtoolsEvents>) {
        let mut replies = FuturesUnordered::<Replying>::new();
        let mut judging: Option<Judging> = None;
        let mut end = self.end.clone();
        let mut starts = interval(START_INTERVAL);
        loop {
            let goes_on = tokio::select! {
                biased;
                why = ended(&mut end) => {
                    self.outgoing.push(detached(&why));
                    false
                }
                event = events.next() => match event {
                    Some(event) => {
                        let session = event.session.as_deref();
                        let step = self.gateway.event(session, &event.method, event.params);
                        if let Some(session) = step.detach {
                            self.detach(session, event.session.as_deref()).await;
                        }
                        step.message.is_none_or(|message| self.outgoing.push(message))
                    }
                    None => false,
                },
                Some((command, outcome)) = replies.next() => {
                    self.answer(&command, outcome)
                }
                (command, sent) = pending(&mut judging) => {
                    judging = None;
                    match sent {
                        None => false,
                        Some(Sent(Ok(reply))) => {
                            replies.push(Box::pin(async move { (command, reply.await) }));
                            true
                        }
                        Some(Sent(Err(problem))) => self.answer(&command, Err(problem)),
                    }
                }
                _now = starts.tick() => {
                    for session in self.gateway.take_overdue() {
                        self.send_own(Some(&session), "Runtime.runIfWaitingForDebugger", json!({}))
                            .await;
                    }
                    true
                }
                message = incoming.recv(), if judging.is_none() => match message {
                    None => false,
                    Some(message) => match self.gateway.receive(&message) {
                        MessageStep::Reply(text) => self.outgoing.push(text),
                        MessageStep::Replies(texts) => {
                            texts.into_iter().all(|text| self.outgoing.push(text))
                        }
                        MessageStep::Send(command) if replies.len() >= MAX_AWAITED => {
                            self.answer(&command, Err(too_many()))
                        }
                        MessageStep::Judge(judged) if replies.len() >= MAX_AWAITED => {
                            self.answer(&judged.command, Err(too_many()))
                        }
                        MessageStep::Send(mut command) => {
                            let session = command.session.clone();
                            let params = command.take_params();
                            let method = &command.method;
                            let sent = self.commands.send(session.as_deref(), method, params).await;
                            match sent {
                                Ok(reply) => {
                                    replies.push(Box::pin(async move { (command, reply.await) }));
                                    true
                                }
                                Err(problem) => self.answer(&command, Err(problem)),
                            }
                        }
                        MessageStep::Judge(judged) => {
                            judging = Some(self.judge(*judged));
                            true
                        }
                    },
                },
            };
            if !goes_on {
                break;
            }
        }
        self.outgoing.end();
    }

    /// Answers a command that is not a message of our own.
    fn answer(&mut self, command: &ProgramCommand, outcome: Result<Value, String>) -> bool {
        let text = self.gateway.reply(command, outcome);
        self.outgoing.push(text)
    }

    /// Lets go of a target that the program may not know.
    async fn detach(&self, attached: String, by: Option<&str>) {
        let params = json!({ "sessionId": attached });
        self.send_own(by, "Target.detachFromTarget", params).await;
    }

    /// Sends a command that is not the program's.
    async fn send_own(&self, session: Option<&str>, method: &str, params: Value) {
        if let Ok(reply) = self.commands.send(session, method, params).await {
            tokio::spawn(async move {
                let _gone_already = reply.await;
            });
        }
    }

    fn judge(&mut self, judged: JudgedCommand) -> Judging {
        let JudgedCommand {
            mut command,
            action,
            scope,
        } = judged;
        let params = command.take_params();
        let (sent, is_sent) = oneshot::channel();
        let request = DevtoolsRequest::Send(Box::new(SendRequest {
            command: DevtoolsCommand {
                session: command.session.clone(),
                method: command.method.clone(),
                params,
                action,
                scope: match scope {
                    JudgedScope::Once => DevtoolsScope::Once,
                    JudgedScope::Lasting => DevtoolsScope::Lasting,
                    JudgedScope::Script(script) => DevtoolsScope::Scripts(script),
                },
                urls: self.gateway.urls().map(str::to_owned).collect(),
            },
            commands: Arc::clone(&self.commands),
            grants: self.grants.clone(),
            sent,
        }));
        let requests = self.requests.clone();
        Box::pin(async move {
            let sent = match requests.send(request).await {
                Ok(()) => is_sent.await.ok(),
                Err(_) => None,
            };
            (command, sent)
        })
    }
}

/// Why the connection has to end, once it has to.
async fn ended(end: &mut watch::Receiver<Option<String>>) -> String {
    let why = end.wait_for(Option::is_some).await;
    let why = why.ok().and_then(|why| why.clone());
    why.unwrap_or_else(|| "the session is being closed".to_owned())
}

fn too_many() -> String {
    format!("{MAX_AWAITED} commands wait for their replies; the maximum is {MAX_AWAITED}")
}

/// The last message of a connection that is ended.
fn detached(why: &str) -> String {
    json!({ "method": "Inspector.detached", "params": { "reason": why } }).to_string()
}

async fn pending(judging: &mut Option<Judging>) -> (ProgramCommand, Option<Sent>) {
    match judging {
        Some(judging) => judging.await,
        None => std::future::pending().await,
    }
}

/// Does what a program requests between turns. What is asked for a program that has gone, or whose token
/// does not count any more, is not done.
pub(super) async fn serve_devtools(session: &mut Session, request: DevtoolsRequest) {
    match request {
        DevtoolsRequest::Open { grants, mut opened } => {
            let opening = session.open_devtools(opening_actions(), &grants);
            let result = until_gone(opening, opened.closed()).await;
            match result {
                Some(result) => {
                    let _they_left = opened.send(flat(result));
                }
                None => session.finish_dropped_turn().await,
            }
        }
        DevtoolsRequest::Send(request) => {
            let SendRequest {
                command,
                commands,
                grants,
                mut sent,
            } = *request;
            let sending = session.send_devtools(command, &*commands, &grants);
            match until_gone(sending, sent.closed()).await {
                Some(result) => {
                    let _they_left = sent.send(Sent(flat(result)));
                }
                None => session.finish_dropped_turn().await,
            }
        }
    }
}

/// Answers a request while a person has control.
pub(super) fn refuse_devtools(request: DevtoolsRequest) {
    match request {
        DevtoolsRequest::Open { opened, .. } => {
            let _they_left = opened.send(Err(PERSON.to_owned()));
        }
        DevtoolsRequest::Send(request) => {
            let _they_left = request.sent.send(Sent(Err(PERSON.to_owned())));
        }
    }
}

/// What becomes of the work; none if whoever waits for it has gone, also before it has begun.
async fn until_gone<T>(work: impl Future<Output = T>, gone: impl Future<Output = ()>) -> Option<T> {
    tokio::select! {
        biased;
        () = gone => None,
        done = work => Some(done),
    }
}

/// Where questions about a program's commands are asked.
pub(super) const INTERFACE: Interface = Interface::Other;

fn flat<T>(result: Result<Result<T, Failure>, RuntimeError>) -> Result<T, String> {
    match result {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(failure)) => Err(failure.message),
        Err(error) => Err(format!("failed to {}", error_chain(&error))),
    }
}

/// The connections of one client of the session host, by the numbers of the requests that opened them.
pub(super) type ClientDevtools = Arc<Mutex<HashMap<u64, DevtoolsConnection>>>;
