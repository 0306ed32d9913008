//! The events of all sessions that a caller may read, as one stream that resumes.
//!
//! Each session has a recording of its own and there is none of all, so the id of an event is the
//! position in every recording: what follows it is the same whichever server reads on. A session that is
//! not in it was opened later, and is read from its first event.

mod positions;
mod session_steps;

use std::collections::{HashMap, HashSet, VecDeque};
use std::convert::Infallible;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::future::join_all;
use futures_util::stream::{BoxStream, SelectAll, Stream, StreamExt as _, unfold};
use serde_json::{Value, json};
use telechir_host::tokens::Role;
use telechir_host::{
    EventStream, EventsFrom, HostClient, HostErrorKind, Probe, SessionDescription, SessionPaths,
    SessionState, probe,
};
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, timeout};

use super::events::{KEEP_ALIVE, RETRY, recorded_event};
use super::problem::{Problem, ProblemKind};
use super::recordings::RecordingStore;
use super::request::{ApiRequest, Reach};
use super::state::{Caller, HttpState, Slot};
use positions::{MAX_SESSIONS, Positions, SessionKey};
use session_steps::{SessionStep, of_recording, of_session};

/// How often sessions are looked for that this server did not open.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// How long a session may take to answer before the stream begins: who it is, and its last row.
const START_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a session that is looked for later may take to answer; nothing is sent meanwhile.
const LOOK_TIMEOUT: Duration = Duration::from_secs(1);
/// When a session that did not answer is looked for again.
const SILENT_PAUSE: Duration = Duration::from_secs(5);

/// What happens in a session, with the session.
type StepOf = (SessionKey, SessionStep);

/// `GET /v1/events`
pub(super) async fn follow(request: ApiRequest) -> Result<Response, Problem> {
    let begin = begin(&request)?;
    let ApiRequest {
        state,
        caller,
        connection,
        slot,
        ..
    } = request;
    let stream_slot = state.all_stream_slot(&caller, &connection)?;
    drop(slot);
    let mut look = interval(LOOK_INTERVAL);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut events = AllEvents {
        opened: state.opened.subscribe(),
        state,
        caller,
        sessions: HashMap::new(),
        known: HashMap::new(),
        changing: HashSet::new(),
        steps: SelectAll::new(),
        ready: VecDeque::new(),
        look,
        retry: Some(RETRY),
        _slot: stream_slot,
    };
    events.start(begin).await?;
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE).text("keep-alive");
    Ok(Sse::new(events.into_stream())
        .keep_alive(keep_alive)
        .into_response())
}

/// Where a stream begins.
#[derive(Debug)]
enum Begin {
    /// With what happens from now on.
    Now,
    /// With the first event of each session.
    Start,
    /// After the event with this id.
    After(Positions),
}

fn begin(request: &ApiRequest) -> Result<Begin, Problem> {
    let bad = |detail: &str| Problem::new(ProblemKind::BadRequest, detail);
    if let Some(last) = request.headers.get("last-event-id") {
        let last = last.to_str().ok().and_then(Positions::parse);
        let detail = "Last-Event-ID: expected the id of an event of this stream";
        return last.map(Begin::After).ok_or_else(|| bad(detail));
    }
    match request.query("from") {
        None => Ok(Begin::Now),
        Some("start") => Ok(Begin::Start),
        Some(_) => Err(bad("`from`: expected `start`")),
    }
}

/// A session whose events are sent.
#[derive(Debug)]
struct SessionReading {
    /// Absent for one that ended before this stream began.
    name: Option<String>,
    /// The row to read on from; absent until it is known.
    next: Option<u64>,
    /// The host that is read, or was read to its end.
    host: Option<HostId>,
    reading: Reading,
}

/// What tells a session host from that of a later session with the same recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HostId {
    pid: u32,
    started_ms: u64,
}

impl HostId {
    fn of(session: &SessionDescription) -> Self {
        Self {
            pid: session.pid,
            started_ms: session.started_ms,
        }
    }
}

/// What becomes of a session's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// They are read.
    Live,
    /// There are no more of them, unless a later session goes on with its recording.
    Ended { is_complete: bool },
    /// The connection was lost, or there was none: the session may be gone.
    Lost,
    /// The rest is read from its recording, after its end.
    Recorded,
}

/// What tells a session's socket from that of a later session with its name.
type SocketId = (u64, i64, i64);

/// A socket that was looked at.
#[derive(Debug)]
struct KnownSocket {
    id: SocketId,
    /// The session behind it; absent if it is not the caller's, or does not answer.
    session: Option<SessionKey>,
    /// When it is looked at again, because it did not answer.
    again: Option<Instant>,
}

/// What a stream owns while it is read.
struct AllEvents {
    state: Arc<HttpState>,
    caller: Caller,
    sessions: HashMap<SessionKey, SessionReading>,
    /// The sockets that need not be looked at again, by the names of their sessions.
    known: HashMap<String, KnownSocket>,
    /// The names of the sessions that were starting or closing, or did not answer, when they were last
    /// looked for.
    changing: HashSet<String>,
    steps: SelectAll<BoxStream<'static, StepOf>>,
    /// Events that are about to be sent.
    ready: VecDeque<Event>,
    look: Interval,
    opened: watch::Receiver<()>,
    /// Absent once the client knows when to connect again.
    retry: Option<Duration>,
    _slot: Slot,
}

impl AllEvents {
    /// Finds the sessions with which the stream begins, and their positions.
    async fn start(&mut self, begin: Begin) -> Result<(), Problem> {
        let is_new = matches!(begin, Begin::Now);
        if let Begin::After(positions) = begin {
            let followed = |(key, next)| {
                let followed = SessionReading {
                    name: None,
                    next: Some(next),
                    host: None,
                    reading: Reading::Lost,
                };
                (key, followed)
            };
            self.sessions = positions.into_iter().map(followed).collect();
        }
        let found = self.find_sessions(START_TIMEOUT).await?;
        let sessions = self.count_with(&found);
        if sessions > MAX_SESSIONS {
            return Err(too_many(sessions));
        }
        if is_new {
            let started = join_all(found.into_iter().map(begin_now)).await;
            for (client, events) in started {
                self.attach(client, events);
            }
        } else {
            for client in found {
                self.attach(client, None);
            }
        }
        // The client can resume from here before anything happens.
        let started = json!({"event": "events_started", "sessions": self.names()});
        self.send(started);
        self.finish_absent().await;
        Ok(())
    }

    /// How many sessions the stream has with these.
    fn count_with(&self, found: &[HostClient]) -> usize {
        let found = found
            .iter()
            .map(|client| SessionKey::of(client.description()));
        let new: HashSet<SessionKey> = found
            .filter(|key| !self.sessions.contains_key(key))
            .collect();
        self.sessions.len() + new.len()
    }

    fn names(&self) -> Vec<&str> {
        let names = self.sessions.values();
        let mut names: Vec<&str> = names.filter_map(|one| one.name.as_deref()).collect();
        names.sort_unstable();
        names
    }

    /// Ends when the token of its reader does.
    fn into_stream(self) -> impl Stream<Item = Result<Event, Infallible>> {
        unfold(self, |mut events| async move {
            let event = events.next().await?;
            Some((Ok(event), events))
        })
    }

    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                let tokens = &self.state.settings.tokens;
                return tokens
                    .find(&self.caller.token)
                    .ok()
                    .flatten()
                    .map(|_| event);
            }
            // Each arm is cancel-safe.
            tokio::select! {
                Some((key, step)) = self.steps.next() => self.take(key, step),
                _now = self.look.tick() => self.look_around().await?,
                Ok(()) = self.opened.changed() => self.look_around().await?,
            }
        }
    }

    /// Finds sessions that were opened, and those that are gone; none if the stream must end.
    async fn look_around(&mut self) -> Option<()> {
        let tokens = &self.state.settings.tokens;
        tokens.find(&self.caller.token).ok().flatten()?;
        match self.find_sessions(LOOK_TIMEOUT).await {
            Ok(found) if self.count_with(&found) <= MAX_SESSIONS => {
                for client in found {
                    self.attach(client, None);
                }
            }
            Ok(found) => {
                // Its client reads why when it resumes.
                tracing::warn!(
                    sessions = found.len(),
                    "a stream of all events is too large"
                );
                return None;
            }
            Err(problem) => {
                // Which of them are gone is not known.
                tracing::warn!(why = problem.detail(), "sessions are not looked for");
                return Some(());
            }
        }
        self.finish_absent().await;
        Some(())
    }

    /// Connections to the sessions of the caller whose sockets are not known. Each may take this time to
    /// answer.
    async fn find_sessions(&mut self, limit: Duration) -> Result<Vec<HostClient>, Problem> {
        let paths = SessionPaths::all(&self.state.settings.sockets).map_err(|e| {
            let detail = format!("failed to list sessions: {e}");
            Problem::new(ProblemKind::Internal, detail)
        })?;
        let ids: HashMap<String, (SessionPaths, SocketId)> = paths
            .into_iter()
            .filter_map(|paths| {
                let id = socket_id(&paths.socket())?;
                Some((paths.name.to_string(), (paths, id)))
            })
            .collect();
        let now = Instant::now();
        self.known.retain(|name, known| {
            let is_same = ids.get(name).is_some_and(|(_, id)| *id == known.id);
            is_same && known.again.is_none_or(|again| again > now)
        });
        let silent = self.known.iter().filter(|(_, known)| known.again.is_some());
        self.changing = silent.map(|(name, _)| name.clone()).collect();
        let new = ids
            .into_iter()
            .filter(|(name, _)| !self.known.contains_key(name));
        let probes = new.map(|(name, (paths, id))| async move {
            let probed = timeout(limit, probe(&paths)).await;
            (name, id, probed)
        });
        let mut found = Vec::new();
        for (name, id, probed) in join_all(probes).await {
            let mut again = None;
            let session = match probed {
                Ok(Ok(Probe::Alive(client))) => {
                    let reaches = self.caller.reaches(client.description(), Reach::Read);
                    let key = reaches.then(|| SessionKey::of(client.description()));
                    found.extend(reaches.then_some(client));
                    key
                }
                Ok(Ok(Probe::Changing)) => {
                    self.changing.insert(name);
                    continue;
                }
                Ok(Ok(Probe::Dead | Probe::Nothing)) => None,
                Ok(Err(error)) if error.kind() == HostErrorKind::Version => {
                    tracing::warn!(%error, "the events of a session are not read");
                    None
                }
                // It may run all the same, and answer later.
                unanswered => {
                    let error = unanswered.ok().and_then(Result::err);
                    tracing::debug!(name, ?error, "a session does not answer");
                    self.changing.insert(name.clone());
                    again = Some(Instant::now() + SILENT_PAUSE);
                    None
                }
            };
            let known = KnownSocket { id, session, again };
            self.known.insert(name, known);
        }
        Ok(found)
    }

    /// Reads the events of a session, from where they were read to, or else from its first one.
    fn attach(&mut self, client: HostClient, started: Option<EventStream>) {
        let description = client.description();
        if let Some(recordings) = &self.state.settings.recordings {
            recordings.session_found(&description.name, &description.config);
        }
        let key = SessionKey::of(description);
        let host = HostId::of(description);
        let name = Some(description.name.clone());
        let followed = self
            .sessions
            .entry(key.clone())
            .or_insert_with(|| SessionReading {
                name: None,
                next: started.as_ref().map(EventStream::next_row),
                host: None,
                reading: Reading::Lost,
            });
        followed.name = name;
        match followed.reading {
            // If its last event was sent, it is about to be gone.
            Reading::Live | Reading::Ended { .. } if followed.host == Some(host) => return,
            // It goes on with the recording, once the rest of the earlier one is read.
            Reading::Live | Reading::Recorded => return self.forget(&key),
            Reading::Ended { .. } | Reading::Lost => {}
        }
        followed.host = Some(host);
        followed.reading = Reading::Live;
        let from = followed.next.map_or(EventsFrom::Session, EventsFrom::Row);
        let steps = of_session(client, started, from).map(move |step| (key.clone(), step));
        self.steps.push(steps.boxed());
    }

    /// Lets a session be looked for again.
    fn forget(&mut self, key: &SessionKey) {
        self.known
            .retain(|_, known| known.session.as_ref() != Some(key));
    }

    /// Ends the sessions that are gone; what their recordings still have comes first.
    async fn finish_absent(&mut self) {
        let open = self.known.values();
        let open: HashSet<&SessionKey> = open.filter_map(|known| known.session.as_ref()).collect();
        // One that is closing has a recording that is still written.
        let is_changing = |one: &SessionReading| match &one.name {
            Some(name) => self.changing.contains(name),
            None => !self.changing.is_empty(),
        };
        let is_gone = |(key, one): &(&SessionKey, &SessionReading)| match one.reading {
            Reading::Live | Reading::Recorded => false,
            Reading::Ended { .. } | Reading::Lost => !open.contains(key) && !is_changing(one),
        };
        let gone = self.sessions.iter().filter(is_gone);
        let gone: Vec<(SessionKey, Reading)> =
            gone.map(|(key, one)| (key.clone(), one.reading)).collect();
        let lost = gone.iter().filter(|(_, one)| *one == Reading::Lost);
        let lost: HashSet<SessionKey> = lost.map(|(key, _)| key.clone()).collect();
        let recorded = recordings_of(self.readable_recordings(), lost).await;
        for (key, reading) in gone {
            let Some((id, store)) = recorded.get(&key) else {
                self.end(&key, reading == Reading::Ended { is_complete: true });
                continue;
            };
            let Some(followed) = self.sessions.get_mut(&key) else {
                continue;
            };
            followed.name = Some(id.clone());
            followed.reading = Reading::Recorded;
            let next = followed.next.unwrap_or(1);
            let steps = of_recording(Arc::clone(store), id.clone(), next);
            let steps = steps.map(move |step| (key.clone(), step));
            self.steps.push(steps.boxed());
        }
    }

    /// The server's recordings, if the caller may read them.
    fn readable_recordings(&self) -> Option<Arc<dyn RecordingStore>> {
        // As at the routes of recordings, which do not say whose they are.
        let may_read = self.caller.role != Role::Agent && self.caller.session.is_none();
        let store = self.state.settings.recordings.clone();
        store.filter(|_| may_read)
    }

    fn take(&mut self, key: SessionKey, step: SessionStep) {
        let Some(followed) = self.sessions.get_mut(&key) else {
            return;
        };
        match step {
            SessionStep::At(row) => followed.next = Some(row),
            SessionStep::Event(recorded) => {
                followed.next = Some(recorded.row + 1);
                let name = followed.name.clone();
                let (kind, mut data) = recorded_event(recorded);
                data["session_id"] = name.into();
                self.push(&kind, &data);
            }
            SessionStep::Ended => self.stop(&key, true),
            SessionStep::Lost => self.stop(&key, false),
        }
    }

    /// Notes that no more events of a session are read for now, and whether it said that these were all.
    fn stop(&mut self, key: &SessionKey, is_complete: bool) {
        let Some(followed) = self.sessions.get_mut(key) else {
            return;
        };
        let is_recorded = followed.reading == Reading::Recorded;
        followed.reading = match is_complete || is_recorded {
            true => Reading::Ended { is_complete },
            false => Reading::Lost,
        };
        if is_recorded {
            followed.host = None;
        }
        let mut known = self.known.values();
        // A later session may wait to go on with its recording.
        if is_recorded || !known.any(|known| known.session.as_ref() == Some(key)) {
            self.look.reset_immediately();
        }
        if !is_complete {
            self.forget(key);
        }
    }

    /// Reports that no more events of a session follow, and whether all were sent.
    fn end(&mut self, key: &SessionKey, is_complete: bool) {
        let name = self.sessions.remove(key).and_then(|one| one.name);
        let ended = json!({"event": "events_ended", "session_id": name, "complete": is_complete});
        self.send(ended);
    }

    /// Sends what is no event of a recording.
    fn send(&mut self, data: Value) {
        let kind = data["event"].as_str().unwrap_or_default().to_owned();
        self.push(&kind, &data);
    }

    fn push(&mut self, kind: &str, data: &Value) {
        let known = self.sessions.iter();
        let known = known.filter_map(|(key, one)| Some((key, one.next?)));
        let mut event = Event::default()
            .id(Positions::text(known))
            .event(kind)
            .data(data.to_string());
        if let Some(retry) = self.retry.take() {
            event = event.retry(retry);
        }
        self.ready.push_back(event);
    }
}

/// The recordings of these sessions, with their ids.
async fn recordings_of(
    store: Option<Arc<dyn RecordingStore>>,
    mut keys: HashSet<SessionKey>,
) -> HashMap<SessionKey, (String, Arc<dyn RecordingStore>)> {
    let Some(store) = store.filter(|_| !keys.is_empty()) else {
        return HashMap::new();
    };
    let listed = Arc::clone(&store);
    let listed = tokio::task::spawn_blocking(move || listed.list()).await;
    let recordings = match listed {
        Ok(Ok(recordings)) => recordings,
        Ok(Err(why)) => {
            tracing::warn!(why, "the last events of a session are not sent");
            return HashMap::new();
        }
        // The server is stopping.
        Err(_) => return HashMap::new(),
    };
    let ids = recordings.into_iter().map(|recording| recording.id);
    let found = ids.filter_map(|id| {
        let key = keys.take(&SessionKey::of_recording(&id))?;
        Some((key, (id, Arc::clone(&store))))
    });
    found.collect()
}

/// The events of a session from now on. One whose devices have not started has had none.
async fn begin_now(client: HostClient) -> (HostClient, Option<EventStream>) {
    if client.description().state == SessionState::Starting {
        return (client, None);
    }
    let events = timeout(START_TIMEOUT, client.follow_events(EventsFrom::Now)).await;
    let events = match events {
        Ok(Ok(events)) => Some(events),
        Ok(Err(error)) => {
            tracing::warn!(%error, "a session's events are read from its first one");
            None
        }
        Err(_) => {
            tracing::warn!("a session does not answer; its events are read from its first one");
            None
        }
    };
    (client, events)
}

fn socket_id(path: &Path) -> Option<SocketId> {
    let found = std::fs::symlink_metadata(path).ok()?;
    Some((found.ino(), found.ctime(), found.ctime_nsec()))
}

fn too_many(sessions: usize) -> Problem {
    let detail = format!(
        "{sessions} sessions are open or in Last-Event-ID, and a stream has the events of \
         {MAX_SESSIONS} at most; follow single ones: /v1/sessions/ID/events"
    );
    Problem::new(ProblemKind::TooMany, detail)
}
