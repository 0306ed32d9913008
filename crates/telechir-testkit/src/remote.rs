//! Doubles of services that rent browsers: each speaks one service's API, counts what is created and
//! released, leads connections to a real Chromium, and fails as it is told to.
//!
//! Written from the services' own documentation and clients, not from the code under test.

mod face;
mod http;
mod interpreter;

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use face::Face;
use http::{ReceivedRequest, respond, respond_with};
use interpreter::Interpreter;

/// The key that every double wants; part of no output of ours.
pub const KEY: &str = "canary-key-7d21f0";
/// In every address that a double names; part of no output of ours.
pub const ADDRESS_SECRET: &str = "canary-address-93ab55";
/// In every live-view link; part of no output of ours.
pub const LIVE_VIEW_SECRET: &str = "canary-live-0c44e8";

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// To open a new session.
    Create,
    /// The state of one.
    Describe,
    /// The sessions that run now.
    List,
    /// The end of one.
    Release,
    /// More time for a session.
    Extend,
    /// To keep the data of pages.
    Save,
    /// The address at which people watch it, where that is a request of its own.
    LiveView,
    /// A connection to the DevTools socket, or its discovery.
    Connect,
    /// A command in an interpreter.
    Invoke,
}

/// How a request fails.
#[derive(Clone, Debug)]
pub enum ServiceFault {
    /// This status and body, without an effect.
    Status(u16, String),
    /// As `Status`, with a `Retry-After` of so many seconds.
    Later(u16, u64),
    /// The connection is cut before it has an effect.
    CutBefore,
    /// It has its effect, but the connection is cut before the answer.
    CutAfter,
    /// It has its effect, and the answer is this status.
    StatusAfter(u16),
    /// It has its effect, and the answer is no JSON.
    Garbage,
    /// It has its effect, and no answer comes.
    Silence,
}

/// A session at a double.
#[derive(Clone, Debug)]
pub struct DoubleSession {
    /// By which requests and addresses name it.
    pub id: String,
    /// The request that created it.
    pub creation: Value,
    /// Why it ended; none while it runs.
    pub ended: Option<String>,
    /// How often a release was asked for.
    pub releases: usize,
    /// The times that it was given beyond its first one.
    pub extensions: Vec<Value>,
    /// Whether its context was saved.
    pub is_saved: bool,
}

#[derive(Debug, Default)]
struct DoubleState {
    sessions: Vec<DoubleSession>,
    faults: Vec<(Verb, ServiceFault)>,
    requests: Vec<(Verb, String)>,
    /// Addresses that were named and not yet used.
    tickets: Vec<(String, String)>,
    handshakes: usize,
    is_clock_frozen: bool,
    last_bytes: Vec<u8>,
    interpreters: HashMap<String, Arc<Interpreter>>,
}

/// The time of a double whose clock is frozen, as headers have it, and its start in a signature.
const FROZEN: (&str, &str) = ("Sun, 22 Nov 2026 13:04:33 GMT", "20261122T13");

/// A running double; it ends, with all connections, when dropped.
#[derive(Debug)]
pub struct RemoteDouble {
    inner: Arc<Inner>,
    server: JoinHandle<()>,
}

#[derive(Debug)]
struct Inner {
    face: Face,
    address: SocketAddr,
    /// The socket URL of the Chromium behind it.
    chromium: Option<String>,
    state: Mutex<DoubleState>,
    changes: watch::Sender<u64>,
}

impl RemoteDouble {
    /// Starts a double of this service; `chromium` is the socket URL of a running browser.
    ///
    /// # Errors
    /// If no loopback port is available.
    pub async fn start(face: Face, chromium: Option<&str>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let inner = Arc::new(Inner {
            face,
            address: listener.local_addr()?,
            chromium: chromium.map(str::to_owned),
            state: Mutex::default(),
            changes: watch::Sender::new(0),
        });
        let shared = Arc::clone(&inner);
        let server = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let inner = Arc::clone(&shared);
                tokio::spawn(async move {
                    let _cut_connections_fail = inner.serve(client).await;
                });
            }
        });
        Ok(Self { inner, server })
    }

    /// The base URL of its API.
    pub fn base(&self) -> String {
        format!("http://{}", self.inner.address)
    }

    /// The variables that lead a client here, with the key.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        self.inner.face.environment(&self.base())
    }

    /// The next request of this kind fails so.
    pub fn fail(&self, verb: Verb, fault: ServiceFault) {
        self.lock().faults.push((verb, fault));
    }

    /// Its clock stands still, and signatures of another hour are refused.
    pub fn freeze_clock(&self) {
        self.lock().is_clock_frozen = true;
    }

    /// All sessions that were ever created.
    pub fn sessions(&self) -> Vec<DoubleSession> {
        self.lock().sessions.clone()
    }

    /// How many sessions have not ended.
    pub fn running(&self) -> usize {
        let state = self.lock();
        state
            .sessions
            .iter()
            .filter(|session| session.ended.is_none())
            .count()
    }

    /// What was asked for, in order, with method and path.
    pub fn requests(&self) -> Vec<(Verb, String)> {
        self.lock().requests.clone()
    }

    /// DevTools connections that were accepted.
    pub fn handshakes(&self) -> usize {
        self.lock().handshakes
    }

    /// Ends a session as its service does, with all its connections.
    pub fn end(&self, id: &str, reason: &str) {
        self.inner.end(id, reason);
    }

    /// Creates a session as somebody else.
    pub fn create(&self) -> String {
        self.inner.create(json!({}))
    }

    /// Cuts all connections; sessions run on.
    pub fn cut(&self) {
        self.inner.changes.send_modify(|change| *change += 1);
    }

    /// Connections that are cut from now on end with these bytes, in no frame.
    pub fn end_streams_with(&self, bytes: &[u8]) {
        self.lock().last_bytes = bytes.to_vec();
    }

    fn lock(&self) -> MutexGuard<'_, DoubleState> {
        self.inner.lock()
    }
}

impl Drop for RemoteDouble {
    fn drop(&mut self) {
        self.server.abort();
        self.cut();
    }
}

impl Inner {
    async fn serve(&self, mut client: TcpStream) -> io::Result<()> {
        let received = ReceivedRequest::read(&mut client).await?;
        let verb = self.face.verb(&received);
        let fault = {
            let mut state = self.lock();
            let line = format!("{} {}", received.method, received.target);
            state.requests.extend(verb.map(|verb| (verb, line)));
            let found = state.faults.iter().position(|(of, _)| Some(*of) == verb);
            found.map(|found| state.faults.remove(found).1)
        };
        match &fault {
            Some(ServiceFault::Status(status, body)) => {
                return respond(&mut client, *status, "", body).await;
            }
            Some(ServiceFault::Later(status, seconds)) => {
                let header = format!("Retry-After: {seconds}\r\n");
                return respond(&mut client, *status, &header, "{\"message\":\"limit\"}").await;
            }
            Some(ServiceFault::CutBefore) => return Ok(()),
            Some(
                ServiceFault::CutAfter
                | ServiceFault::StatusAfter(_)
                | ServiceFault::Garbage
                | ServiceFault::Silence,
            )
            | None => {}
        }
        let signed_at = received.header("x-amz-date").unwrap_or_default();
        if self.lock().is_clock_frozen && !signed_at.starts_with(FROZEN.1) {
            let header = format!("Date: {}\r\n", FROZEN.0);
            let body = "{\"message\":\"Signature expired\"}";
            return respond(&mut client, 403, &header, body).await;
        }
        if verb == Some(Verb::Connect) {
            return self.connect(client, &received).await;
        }
        if verb == Some(Verb::Invoke) {
            return self.invoke(client, &received, fault).await;
        }
        let (status, answer) = self.answer(verb, &received);
        match fault {
            Some(ServiceFault::CutAfter) => Ok(()),
            Some(ServiceFault::StatusAfter(status)) => respond(&mut client, status, "", "{}").await,
            Some(ServiceFault::Garbage) => respond(&mut client, 200, "", "<html>busy</html>").await,
            Some(ServiceFault::Silence) => {
                std::future::pending::<()>().await;
                Ok(())
            }
            _ => respond(&mut client, status, "", &answer.to_string()).await,
        }
    }

    fn answer(&self, verb: Option<Verb>, received: &ReceivedRequest) -> (u16, Value) {
        if !self.face.accepts(received) {
            // Such answers repeat what was sent.
            let body = json!({ "message": format!("no access with {}", received.head) });
            return (401, body);
        }
        let id = self.face.id_of(received);
        match verb {
            Some(Verb::Create) => {
                let mark = self.face.own_id(&received.body);
                let known = mark.and_then(|mark| {
                    let state = self.lock();
                    let mut sessions = state.sessions.iter();
                    let known = sessions
                        .find(|session| self.face.own_id(&session.creation) == Some(mark.clone()));
                    known.map(|session| (session.id.clone(), session.ended.is_some()))
                });
                match known {
                    Some((id, false)) if self.face == Face::AgentCore => {
                        (200, self.description(&id))
                    }
                    Some(_) => (409, json!({ "message": "this id is in use" })),
                    None => {
                        let id = self.create(received.body.clone());
                        (200, self.description(&id))
                    }
                }
            }
            Some(Verb::List) => {
                let ids: Vec<String> = self
                    .lock()
                    .sessions
                    .iter()
                    .filter(|session| session.ended.is_none())
                    .map(|session| session.id.clone())
                    .collect();
                let listed = ids.iter().map(|id| self.face.opened(self.description(id)));
                (200, self.face.list(listed.collect()))
            }
            Some(Verb::Describe) => match self.known(&id) {
                Some(session) if self.face.forgets() && session.ended.is_some() => gone(),
                Some(session) => (200, self.description(&session.id)),
                None => gone(),
            },
            Some(Verb::Release) => match self.known(&id) {
                Some(session) => {
                    let known = session.id;
                    self.change(&known, |session| session.releases += 1);
                    self.end(&known, "user_requested");
                    (200, json!({ "id": known, "success": true }))
                }
                None => gone(),
            },
            Some(Verb::Extend) => match self.known(&id) {
                Some(session) if session.ended.is_none() => {
                    let body = received.body.clone();
                    self.change(&session.id, |session| session.extensions.push(body));
                    (200, json!({ "success": true }))
                }
                _ => gone(),
            },
            Some(Verb::Save) => {
                let id = received.body["sessionId"].as_str().unwrap_or_default();
                match self.known(id) {
                    Some(session) if session.ended.is_none() => {
                        self.change(id, |session| session.is_saved = true);
                        (200, json!({}))
                    }
                    _ => gone(),
                }
            }
            Some(Verb::LiveView) => match self.known(&id) {
                Some(session) if session.ended.is_none() => {
                    let url = face::live_view(self.address);
                    (
                        200,
                        json!({ "debuggerUrl": url, "debuggerFullscreenUrl": url, "pages": [] }),
                    )
                }
                _ => gone(),
            },
            Some(Verb::Connect | Verb::Invoke) | None => {
                (404, json!({ "message": "no such path" }))
            }
        }
    }

    /// Runs a command in the session that a request names.
    async fn invoke(
        &self,
        mut client: TcpStream,
        received: &ReceivedRequest,
        fault: Option<ServiceFault>,
    ) -> io::Result<()> {
        let id = received.header("x-amzn-code-interpreter-session-id");
        let session = id.and_then(|id| self.known(&id));
        let session = session.filter(|session| session.ended.is_none());
        let (true, Some(session)) = (self.face.accepts(received), session) else {
            let (status, body) = gone();
            return respond(&mut client, status, "", &body.to_string()).await;
        };
        let interpreter = {
            let mut state = self.lock();
            let found = state.interpreters.entry(session.id);
            Arc::clone(found.or_default())
        };
        let frames = interpreter.answer(&received.body).await?;
        let kind = "application/vnd.amazon.eventstream";
        match fault {
            Some(ServiceFault::CutAfter) => Ok(()),
            Some(ServiceFault::StatusAfter(status)) => respond(&mut client, status, "", "{}").await,
            Some(ServiceFault::Garbage) => {
                respond_with(&mut client, kind, b"<html>busy, try later</html>").await
            }
            Some(ServiceFault::Silence) => {
                std::future::pending::<()>().await;
                Ok(())
            }
            _ => respond_with(&mut client, kind, &frames).await,
        }
    }

    fn description(&self, id: &str) -> Value {
        let ticket = {
            let mut state = self.lock();
            let ticket = format!("{ADDRESS_SECRET}-{}", state.requests.len());
            state.tickets.push((ticket.clone(), id.to_owned()));
            ticket
        };
        let session = self.known(id);
        match session {
            Some(session) => self.face.description(&session, self.address, &ticket),
            None => Value::Null,
        }
    }

    /// Leads a connection to Chromium.
    async fn connect(&self, mut client: TcpStream, received: &ReceivedRequest) -> io::Result<()> {
        let address = self.address;
        let discovery = self.face.discovery(received, address);
        let found = self.face.session_of_connection(received);
        let id = match found {
            Some(found) => self.redeem(&found, discovery.is_some()),
            None => None,
        };
        let runs = |id: &String| {
            let session = self.known(id);
            session.is_some_and(|session| session.ended.is_none())
        };
        if id.filter(runs).is_none() {
            let body = format!("no session for {}", received.head.replace('"', "'"));
            return respond(&mut client, 401, "", &body).await;
        }
        if let Some(document) = discovery {
            return respond(&mut client, 200, "", &document.to_string()).await;
        }
        let chromium = self.chromium.clone().unwrap_or_default();
        let rest = chromium.strip_prefix("ws://").unwrap_or_default();
        let (host, path) = rest
            .split_once('/')
            .ok_or_else(|| io::Error::other("no URL"))?;
        self.lock().handshakes += 1;
        let mut browser = TcpStream::connect(host).await?;
        let lines = received.head.split("\r\n").skip(1);
        let lines = lines.filter(|line| !line.to_ascii_lowercase().starts_with("host:"));
        let rest = lines.collect::<Vec<_>>().join("\r\n");
        let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n{rest}");
        browser.write_all(request.as_bytes()).await?;
        let mut changes = self.changes.subscribe();
        tokio::select! {
            _over = copy_bidirectional(&mut client, &mut browser) => {}
            _cut = changes.changed() => {
                let bytes = self.lock().last_bytes.clone();
                client.write_all(&bytes).await?;
            }
        }
        Ok(())
    }

    /// The session of an address; each serves one connection, so that one that is kept is noticed.
    fn redeem(&self, found: &face::SessionOfConnection, keeps: bool) -> Option<String> {
        match found {
            face::SessionOfConnection::Session(id) => Some(id.clone()),
            face::SessionOfConnection::Ticket(ticket) => {
                let mut state = self.lock();
                let index = state
                    .tickets
                    .iter()
                    .position(|(known, _)| known == ticket)?;
                match keeps {
                    true => Some(state.tickets[index].1.clone()),
                    false => Some(state.tickets.remove(index).1),
                }
            }
        }
    }

    fn create(&self, creation: Value) -> String {
        let mut state = self.lock();
        let count = state.sessions.len();
        let own = self.face.own_id(&creation);
        let id = match (self.face, own) {
            (Face::Steel, Some(own)) => own,
            _ => format!("session{count:04}"),
        };
        state.sessions.push(DoubleSession {
            id: id.clone(),
            creation,
            ended: None,
            releases: 0,
            extensions: Vec::new(),
            is_saved: false,
        });
        id
    }

    /// The session with this id, or with this name.
    fn known(&self, id: &str) -> Option<DoubleSession> {
        let state = self.lock();
        let mut sessions = state.sessions.iter();
        let by_name = |session: &DoubleSession| {
            self.face == Face::Kernel && session.creation["name"] == id && session.ended.is_none()
        };
        let found = sessions.find(|session| session.id == id || by_name(session));
        found.cloned()
    }

    fn change(&self, id: &str, change: impl FnOnce(&mut DoubleSession)) {
        let mut state = self.lock();
        let found = state.sessions.iter_mut().find(|session| session.id == id);
        if let Some(session) = found {
            change(session);
        }
    }

    fn end(&self, id: &str, reason: &str) {
        self.change(id, |session| {
            session.ended.get_or_insert_with(|| reason.to_owned());
        });
        self.changes.send_modify(|change| *change += 1);
    }

    fn lock(&self) -> MutexGuard<'_, DoubleState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn gone() -> (u16, Value) {
    (404, json!({ "message": "no such session" }))
}
