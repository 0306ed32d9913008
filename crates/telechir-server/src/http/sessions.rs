//! Opens, describes, extends and closes sessions.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use futures_util::future::join_all;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use telechir_host::tokens::{Role, TokenError, TokenOptions};
use telechir_host::{
    HostClient, HostError, Probe, ScreenshotsFor, SessionDescription, SessionName, SessionPaths,
    TurnKey, TurnRequest, find, probe,
};
use telechir_policy::Interface;

use super::context_store::ContextKey;
use super::contexts::{self, OpeningContext};
use super::free_memory::available_bytes;
use super::metrics_follower::CountFrom;
use super::problem::{Problem, ProblemKind};
use super::remote_choice::RemoteChoice;
use super::request::{ApiRequest, Reach, failure, reply};
use super::short_hash::short_digits;
use super::state::{HttpState, OpenSessions, SessionOptions};
use super::turns::follow;

/// Longest name that a client gives a session.
const MAX_NAME_CHARS: usize = 100;

/// A session to open. The flags of the server decide about everything else.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OpenSession {
    /// A name for people; the id is made by the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Some of the server's devices; absent for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    devices: Option<Vec<String>>,
    /// Name of a browser context: the session begins with its cookies and stored data, and what it
    /// changes of them is kept. It is created if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<String>,
    /// Size of desktop and browser in pixels, such as `1280x800`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    display: Option<String>,
    /// Close the session after this time without a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    idle_seconds: Option<u64>,
    /// A policy that tightens the server's: the stricter verdict of both counts. The name of a shipped
    /// policy, such as `look`, or the text of a policy file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    policy: Option<String>,
    /// Whether the session is recorded. A server that records all sessions refuses `false`, one that
    /// records none `true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    record: Option<bool>,
    /// What is chosen of the browser at a service, if the server permits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    remote: Option<RemoteChoice>,
    /// Whether the answer has a token of the role agent that is for this session alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    token: bool,
}

/// A session.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SessionDocument {
    /// Names the session in paths.
    id: String,
    /// The name that its opener gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The role and name of the token that opened it; absent if it was not opened over HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    opened_by: Option<String>,
    /// `starting`, `idle`, `busy` or `closing`.
    state: String,
    /// Some of `desktop`, `browser`, `shell`, `editor`.
    devices: Vec<String>,
    /// Seconds since it was opened.
    age_seconds: u64,
    /// Seconds since its last call ended; 0 during a call.
    idle_seconds: u64,
    /// Seconds without a call after which it is closed.
    idle_limit_seconds: u64,
    /// Number of turns that wait for others.
    waiting: usize,
    /// The turn that is executed.
    #[serde(skip_serializing_if = "Option::is_none")]
    running: Option<String>,
    /// The person who has control instead of its calls; absent if nobody has.
    #[serde(skip_serializing_if = "Option::is_none")]
    control: Option<ControlDocument>,
    /// Digest of its policy.
    policy: String,
    /// Whether its recording is kept after its end.
    recorded: bool,
    /// The token for this session alone, in the answer of the request that asked for it. It counts until
    /// the session is closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

/// A person who has control of a session: until they give it back, none of its calls acts or observes.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ControlDocument {
    /// The role and name of their token.
    by: String,
    /// Seconds since they took it.
    seconds: u64,
    /// Seconds until it ends without further input.
    ends_in_seconds: u64,
}

/// A list of sessions.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SessionList {
    sessions: Vec<SessionDocument>,
}

/// How long a session lives without a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExtendSession {
    /// Seconds from now, unless its end is later anyway.
    seconds: u64,
}

impl From<&SessionDescription> for SessionDocument {
    fn from(session: &SessionDescription) -> Self {
        let text = |member: &str| session.config["http"][member].as_str().map(str::to_owned);
        Self {
            id: session.name.clone(),
            name: text("name"),
            opened_by: text("principal"),
            state: session.state.name().to_owned(),
            devices: session.devices.clone(),
            age_seconds: session.age_seconds,
            idle_seconds: session.idle_seconds,
            idle_limit_seconds: session.idle_limit_seconds,
            waiting: session.waiting,
            running: session.running.as_ref().map(ToString::to_string),
            control: session.control.as_ref().map(|control| ControlDocument {
                by: control.by.clone(),
                seconds: control.seconds,
                ends_in_seconds: control.ends_in_seconds,
            }),
            policy: session.policy.to_string(),
            recorded: session.config["record"].is_string(),
            token: None,
        }
    }
}

/// `POST /v1/sessions`
pub(super) async fn open(request: ApiRequest) -> Result<Response, Problem> {
    let wanted: OpenSession = request.parse()?;
    let mut options = options(&request, &wanted)?;
    let key = request.idempotency_key()?;
    let context = wanted.context.as_ref().map(|name| {
        let owner = &request.caller.principal;
        contexts::key(&request.state, owner, name, &options.devices)
    });
    let context = context.transpose()?;
    options.profile = context.as_ref().map(|context| context.profile.clone());
    let name = session_name(&request.caller.principal, key.as_deref())?;
    let paths = SessionPaths::new(&request.state.settings.sockets, name).map_err(failure)?;
    let client = find_or_start(&request.state, &paths, options, context.as_ref()).await?;
    let description = client.describe().await.map_err(failure)?;
    let location = format!("/v1/sessions/{}", description.name);
    let mut document = SessionDocument::from(&description);
    if wanted.token {
        document.token = Some(session_token(&request, &description.name)?);
    }
    let response = reply(StatusCode::CREATED, &document);
    Ok(([("location", location)], response).into_response())
}

/// Creates a token that is for this session alone, in place of the one that an earlier answer had.
fn session_token(request: &ApiRequest, session: &str) -> Result<String, Problem> {
    let (_, name) = request.caller.principal.split_once('/').unwrap_or_default();
    let options = TokenOptions {
        expires_in: None,
        session: Some(session.to_owned()),
    };
    let tokens = &request.state.settings.tokens;
    let created = tokens.create_with(Role::Agent, name, options);
    let (_, token) = created.map_err(|error| tokens_failed(&error))?;
    Ok(token.reveal().to_owned())
}

fn tokens_failed(error: &TokenError) -> Problem {
    tracing::error!(%error, "the tokens could not be changed");
    Problem::new(
        ProblemKind::Internal,
        "the server's tokens cannot be changed",
    )
}

/// The session with these paths and options, whose devices have started.
pub(super) async fn find_or_start(
    state: &Arc<HttpState>,
    paths: &SessionPaths,
    options: SessionOptions,
    context: Option<&ContextKey>,
) -> Result<HostClient, Problem> {
    match find(paths).await.map_err(failure)? {
        // The same key as in an earlier request.
        Probe::Alive(client) => {
            check_same(&client, &options)?;
            wait_for_devices(&client).await?;
            Ok(client)
        }
        Probe::Dead | Probe::Changing | Probe::Nothing => {
            let (state, paths) = (Arc::clone(state), paths.clone());
            // It goes on without its request, because a context is claimed until its browser has it.
            let opening = tokio::spawn(open_new(state, paths, options, context.cloned()));
            opening.await.map_err(|_| {
                let detail = "the opening of the session was interrupted";
                Problem::new(ProblemKind::Internal, detail)
            })?
        }
    }
}

/// Starts a session and its devices, unless another request has started it meanwhile.
async fn open_new(
    state: Arc<HttpState>,
    paths: SessionPaths,
    options: SessionOptions,
    context: Option<ContextKey>,
) -> Result<HostClient, Problem> {
    let principal = options.http["principal"].as_str().unwrap_or_default();
    let opening = state.opening_slot(principal, open_sessions(&state, principal).await?)?;
    let context = match &context {
        Some(context) => Some(OpeningContext::begin(&state, context, &paths.name).await?),
        None => None,
    };
    let started = start(&state, &paths, &options).await;
    // From now on it is counted as open.
    drop(opening);
    let client = match started {
        Ok(client) => client,
        Err(problem) => {
            if let Some(context) = context {
                context.cancel().await;
            }
            return Err(problem);
        }
    };
    check_same(&client, &options)?;
    wait_for_devices(&client).await?;
    // Its browser has it now.
    drop(context);
    Ok(client)
}

/// Whether the session was opened with these options.
fn check_same(client: &HostClient, options: &SessionOptions) -> Result<(), Problem> {
    if client.description().config["http"] != options.http {
        let detail = "the key opened a session with another body";
        return Err(Problem::new(ProblemKind::KeyReused, detail));
    }
    Ok(())
}

/// Starts a session, whose devices start afterwards.
async fn start(
    state: &Arc<HttpState>,
    paths: &SessionPaths,
    options: &SessionOptions,
) -> Result<HostClient, Problem> {
    // An earlier session with the same key had the same id.
    let tokens = &state.settings.tokens;
    let revoked = tokens.revoke_session(&paths.name.to_string());
    revoked.map_err(|error| tokens_failed(&error))?;
    let count_from = after_recorded(state, &paths.name).await;
    let launched = state.launcher.launch(paths, options.clone()).await;
    launched.map_err(|why| Problem::new(ProblemKind::NotStarted, why))?;
    match find(paths).await.map_err(failure)? {
        Probe::Alive(client) => {
            state
                .followers
                .follow(&state.metrics, tokens, paths, count_from);
            // Streams of all sessions' events have this one from now on.
            state.opened.send_replace(());
            Ok(client)
        }
        Probe::Dead | Probe::Changing | Probe::Nothing => {
            let detail = "the session ended at once; the server's log may have the reason";
            Err(Problem::new(ProblemKind::NotStarted, detail))
        }
    }
}

/// The events of a session that is about to start: after those of the earlier ones with its name, which
/// wrote the same recording.
async fn after_recorded(state: &HttpState, session: &SessionName) -> CountFrom {
    let Some(store) = state.settings.recordings.clone() else {
        return CountFrom::Row(1);
    };
    let id = session.to_string();
    match tokio::task::spawn_blocking(move || store.describe(&id)).await {
        Ok(Ok(found)) => {
            let rows = found.and_then(|recording| recording.rows);
            CountFrom::Row(rows.unwrap_or_default().saturating_add(1))
        }
        Ok(Err(why)) => {
            tracing::warn!(%why, "the first events of a session are not counted in metrics");
            CountFrom::Now
        }
        // The server is stopping.
        Err(_) => CountFrom::Now,
    }
}

async fn open_sessions(state: &HttpState, principal: &str) -> Result<OpenSessions, Problem> {
    let clients = all(state).await?;
    let owners = clients.iter().filter(|client| is_http(client));
    let owners = owners.map(|client| client.description().config["http"]["principal"].as_str());
    let owners: Vec<Option<&str>> = owners.collect();
    Ok(OpenSessions {
        all: owners.len(),
        own: owners
            .iter()
            .filter(|owner| **owner == Some(principal))
            .count(),
        free_bytes: available_bytes(),
    })
}

/// Waits until the devices have started, by a turn without calls. A session that had a turn outlives
/// the process that started it.
async fn wait_for_devices(client: &HostClient) -> Result<(), Problem> {
    let turn = TurnRequest {
        key: TurnKey::new("http-open"),
        screenshots: ScreenshotsFor::Mcp { on_request: true },
        interface: Interface::Other,
        queue_ms: u64::MAX,
        runs_on: true,
        may_be_retry: false,
        contents: Vec::new(),
        is_new: false,
        hosted_source: None,
    };
    let not_started = |error: HostError| Problem::new(ProblemKind::NotStarted, error.to_string());
    let mut call = client.execute(turn).await.map_err(failure)?;
    let followed = follow(&mut call, None).await;
    followed.map(drop).map_err(not_started)
}

fn options(request: &ApiRequest, wanted: &OpenSession) -> Result<SessionOptions, Problem> {
    let unreadable = |detail: String| Problem::new(ProblemKind::Unreadable, detail);
    let offered = request.state.launcher.devices();
    let max_idle = request.state.settings.limits.max_idle_seconds;
    let devices = match &wanted.devices {
        None => offered,
        Some(devices) if devices.is_empty() => {
            return Err(unreadable("`devices`: expected at least one".to_owned()));
        }
        Some(devices) => {
            if let Some(other) = devices.iter().find(|device| !offered.contains(device)) {
                return Err(unreadable(format!(
                    "`devices`: expected some of {}, with which this server was started, found `{}`",
                    offered.join(", "),
                    other.escape_debug()
                )));
            }
            devices.clone()
        }
    };
    if wanted
        .name
        .as_ref()
        .is_some_and(|name| name.chars().count() > MAX_NAME_CHARS)
    {
        return Err(unreadable(format!(
            "`name`: expected at most {MAX_NAME_CHARS} characters"
        )));
    }
    if wanted
        .idle_seconds
        .is_some_and(|seconds| !(1..=max_idle).contains(&seconds))
    {
        return Err(unreadable(format!(
            "`idle_seconds`: expected 1 to {max_idle}"
        )));
    }
    let body = serde_json::to_vec(wanted).unwrap_or_default();
    let http = json!({
        "principal": request.caller.principal,
        "name": wanted.name,
        "request": blake3::hash(&body).to_hex().as_str(),
    });
    let options = SessionOptions {
        devices,
        display: wanted.display.clone(),
        profile: None,
        idle_seconds: wanted.idle_seconds,
        policy: wanted.policy.clone(),
        record: wanted.record,
        remote: wanted.remote.clone(),
        http,
    };
    let checked = request.state.launcher.check(&options);
    checked.map_err(unreadable)?;
    Ok(options)
}

/// The id of a session: random, or the same for the same key of a principal.
pub(super) fn session_name(principal: &str, key: Option<&str>) -> Result<SessionName, Problem> {
    let internal = |detail: String| Problem::new(ProblemKind::Internal, detail);
    let seed = match key {
        Some(key) => blake3::hash(format!("{principal}\n{key}").as_bytes()),
        None => {
            let mut random = [0; 32];
            let read = std::fs::File::open("/dev/urandom")
                .and_then(|mut source| std::io::Read::read_exact(&mut source, &mut random));
            read.map_err(|e| internal(format!("the system has no random numbers: {e}")))?;
            blake3::hash(&random)
        }
    };
    let id = format!("http-{}", short_digits(&seed));
    id.parse().map_err(internal)
}

/// Connections to all sessions that answer.
pub(super) async fn all(state: &HttpState) -> Result<Vec<HostClient>, Problem> {
    let paths = SessionPaths::all(&state.settings.sockets).map_err(|e| {
        Problem::new(
            ProblemKind::Internal,
            format!("failed to list sessions: {e}"),
        )
    })?;
    let found = join_all(paths.iter().map(probe)).await;
    let mut dead = Vec::new();
    let found = paths.iter().zip(found);
    let alive = found.filter_map(|(paths, found)| match found {
        Ok(Probe::Alive(client)) => Some(client),
        Ok(Probe::Dead) => {
            dead.push(paths.name.to_string());
            None
        }
        Ok(Probe::Changing | Probe::Nothing) => None,
        // An unreachable session must not hide the others.
        Err(error) => {
            tracing::warn!(%error, "a session is not listed");
            None
        }
    });
    let alive = alive.collect();
    revoke_tokens_of(state, &dead);
    Ok(alive)
}

/// Revokes the tokens of sessions whose host was killed, so that it could not do so itself.
fn revoke_tokens_of(state: &HttpState, dead: &[String]) {
    if dead.is_empty() {
        return;
    }
    let is_alive = |session: &str| !dead.iter().any(|name| name == session);
    if let Err(error) = state.settings.tokens.retain_sessions(is_alive) {
        tracing::warn!(%error, "the tokens of sessions that are gone are left");
    }
}

pub(super) fn is_http(client: &HostClient) -> bool {
    !matches!(client.description().config["http"], Value::Null)
}

/// `GET /v1/sessions`
pub(super) async fn list(request: ApiRequest) -> Result<Response, Problem> {
    let clients = all(&request.state).await?;
    let own = clients.iter().map(HostClient::description);
    let own = own.filter(|session| request.caller.reaches(session, Reach::Read));
    let own = own.inspect(|session| {
        if let Some(recordings) = &request.state.settings.recordings {
            recordings.session_found(&session.name, &session.config);
        }
    });
    let sessions = own.map(SessionDocument::from).collect();
    Ok(reply(StatusCode::OK, &SessionList { sessions }))
}

/// `GET /v1/sessions/{id}`
pub(super) async fn describe(request: ApiRequest) -> Result<Response, Problem> {
    let client = request.session(Reach::Read).await?;
    let document = SessionDocument::from(client.description());
    Ok(reply(StatusCode::OK, &document))
}

/// `POST /v1/sessions/{id}/extend`
pub(super) async fn extend(request: ApiRequest) -> Result<Response, Problem> {
    let ExtendSession { seconds } = request.parse()?;
    let max_idle = request.state.settings.limits.max_idle_seconds;
    if !(1..=max_idle).contains(&seconds) {
        let detail = format!("`seconds`: expected 1 to {max_idle}");
        return Err(Problem::new(ProblemKind::Unreadable, detail));
    }
    let client = request.session(Reach::Act).await?;
    let extended = client.extend(Duration::from_secs(seconds)).await;
    extended.map_err(failure)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// `DELETE /v1/sessions/{id}`
pub(super) async fn close(request: ApiRequest) -> Result<Response, Problem> {
    let client = request.session(Reach::Act).await?;
    client.close().await.map_err(failure)?;
    let revoked = request
        .state
        .settings
        .tokens
        .revoke_session(request.path("id"));
    revoked.map_err(|error| tokens_failed(&error))?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
