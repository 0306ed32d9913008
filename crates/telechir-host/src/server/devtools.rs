//! Programs that drive the session's browser by CDP: their messages, the gateway that decides about
//! them, and the session's loop, which performs what is judged.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use serde_json::Value;
use telechir_gateway::{
    CdpGateway, JudgedCommand, JudgedScope, MessageStep, ProgramCommand, opening_actions,
};
use telechir_policy::Interface;
use telechir_protocol::Failure;
use telechir_runtime::{
    DevtoolsChannel, DevtoolsCommand, DevtoolsCommands, DevtoolsEvents, DevtoolsGrants,
    DevtoolsReply, RuntimeError, Session,
};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::AbortHandle;

use crate::error_chain;

/// Connections of programs to one session's browser.
const MAX_CONNECTIONS: usize = 4;
/// Messages of a program that its connection has not looked at yet.
const MAX_UNREAD_MESSAGES: usize = 1024;
/// Bytes of messages that a program has not read yet; with more its connection ends.
const MAX_UNREAD_BYTES: usize = 128 << 20;
/// Bytes of messages that one answer has, unless a single one is larger.
const BATCH_BYTES: usize = 4 << 20;
/// Requests that the session's loop has not served yet.
const MAX_REQUESTS: usize = 16;

/// What the session's loop does for programs between turns.
#[derive(Debug)]
pub(super) enum DevtoolsRequest {
    /// Opens the protocol.
    Open {
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
struct Sent {
    outcome: Result<DevtoolsReply, String>,
    grants: DevtoolsGrants,
}

impl fmt::Debug for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sent")
    }
}

/// All connections of programs to the session's browser.
#[derive(Debug)]
pub(super) struct DevtoolsConnections {
    requests: mpsc::Sender<DevtoolsRequest>,
    open: Mutex<usize>,
}

impl DevtoolsConnections {
    /// No connections; the requests are for the session.
    pub(super) fn new() -> (Self, mpsc::Receiver<DevtoolsRequest>) {
        let (requests, receiver) = mpsc::channel(MAX_REQUESTS);
        let open = Mutex::new(0);
        (Self { requests, open }, receiver)
    }

    /// Opens a connection, if the policy permits it.
    pub(super) async fn open(self: &Arc<Self>) -> Result<DevtoolsConnection, String> {
        let slot = self.slot()?;
        let (opened, is_opened) = oneshot::channel();
        let sent = self.requests.send(DevtoolsRequest::Open { opened }).await;
        let closing = || "the session is being closed".to_owned();
        sent.map_err(|_| closing())?;
        let channel = is_opened.await.map_err(|_| closing())??;
        let (messages, incoming) = mpsc::channel(MAX_UNREAD_MESSAGES);
        let outgoing = Arc::<Outgoing>::default();
        let program = ConnectedProgram {
            gateway: CdpGateway::new(&channel.context),
            commands: channel.commands,
            grants: Some(DevtoolsGrants::default()),
            requests: self.requests.clone(),
            outgoing: Arc::clone(&outgoing),
        };
        let running = tokio::spawn(async move {
            program.serve(incoming, channel.events).await;
            drop(slot);
        });
        Ok(DevtoolsConnection {
            messages,
            outgoing,
            running: running.abort_handle(),
        })
    }

    fn slot(self: &Arc<Self>) -> Result<ConnectionSlot, String> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if *open >= MAX_CONNECTIONS {
            return Err(format!(
                "{MAX_CONNECTIONS} programs are connected to the session's browser; the maximum is {MAX_CONNECTIONS}"
            ));
        }
        *open += 1;
        Ok(ConnectionSlot(Arc::clone(self)))
    }
}

#[derive(Debug)]
struct ConnectionSlot(Arc<DevtoolsConnections>);

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let open = &self.0.open;
        *open.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
    }
}

/// A program's connection; dropping it ends it.
#[derive(Debug)]
pub(super) struct DevtoolsConnection {
    messages: mpsc::Sender<String>,
    outgoing: Arc<Outgoing>,
    running: AbortHandle,
}

impl DevtoolsConnection {
    /// A message of the program. Waits while earlier ones wait for the policy.
    pub(super) fn messages(&self) -> mpsc::Sender<String> {
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
    /// Absent while a command is judged.
    grants: Option<DevtoolsGrants>,
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
    async fn serve(
        mut self,
        mut incoming: mpsc::Receiver<String>,
        mut events: Box<dyn DevtoolsEvents>,
    ) {
        let mut replies = FuturesUnordered::<Replying>::new();
        let mut judging: Option<Judging> = None;
        loop {
            let goes_on = tokio::select! {
                biased;
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
                        Some(Sent { outcome, grants }) => {
                            self.grants = Some(grants);
                            match outcome {
                                Ok(reply) => {
                                    replies.push(Box::pin(async move { (command, reply.await) }));
                                    true
                                }
                                Err(problem) => self.answer(&command, Err(problem)),
                            }
                        }
                    }
                }
                message = incoming.recv(), if judging.is_none() => match message {
                    None => false,
                    Some(message) => match self.gateway.receive(&message) {
                        MessageStep::Reply(text) => self.outgoing.push(text),
                        MessageStep::Send(command) => {
                            let session = command.session.clone();
                            let (method, params) = (&command.method, command.params.clone());
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
        let params = serde_json::json!({ "sessionId": attached });
        let sent = self
            .commands
            .send(by, "Target.detachFromTarget", params)
            .await;
        if let Ok(reply) = sent {
            tokio::spawn(async move {
                let _gone_already = reply.await;
            });
        }
    }

    fn judge(&mut self, judged: JudgedCommand) -> Judging {
        let JudgedCommand {
            command,
            action,
            scope,
        } = judged;
        let (sent, is_sent) = oneshot::channel();
        let request = DevtoolsRequest::Send(Box::new(SendRequest {
            command: DevtoolsCommand {
                session: command.session.clone(),
                method: command.method.clone(),
                params: command.params.clone(),
                action,
                script: match scope {
                    JudgedScope::Once => None,
                    JudgedScope::Script(script) => Some(script),
                },
                urls: self.gateway.urls().map(str::to_owned).collect(),
            },
            commands: Arc::clone(&self.commands),
            grants: self.grants.take().unwrap_or_default(),
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

async fn pending(judging: &mut Option<Judging>) -> (ProgramCommand, Option<Sent>) {
    match judging {
        Some(judging) => judging.await,
        None => std::future::pending().await,
    }
}

/// Does what a program requests between turns.
pub(super) async fn serve_devtools(session: &mut Session, request: DevtoolsRequest) {
    match request {
        DevtoolsRequest::Open { opened } => {
            let result = session.open_devtools(opening_actions()).await;
            let _they_left = opened.send(flat(result));
        }
        DevtoolsRequest::Send(request) => {
            let SendRequest {
                command,
                commands,
                mut grants,
                sent,
            } = *request;
            let result = session.send_devtools(command, &*commands, &mut grants);
            let outcome = flat(result.await);
            let _they_left = sent.send(Sent { outcome, grants });
        }
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
