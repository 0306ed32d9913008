//! What all requests of the HTTP API share: the sessions of this user, tokens and limits.

use std::collections::HashMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use axum::http::{HeaderMap, header};
use serde_json::{Value, json};
use telechir_host::tokens::{BearerToken, Role, TokenFile};
use telechir_host::{SessionDescription, SessionPaths};
use telechir_tools::ToolCatalog;
use tokio::sync::watch;
use tokio::time::sleep;

use super::connections::{ConnectionUse, InUse, MAX_CONNECTIONS};
use super::context_claims::ContextClaims;
use super::context_store::ContextStore;
use super::conversions::Conversions;
use super::mcp_endpoints::{McpEndpoint, McpEndpoints};
use super::metrics::Metrics;
use super::metrics_follower::MetricsFollowers;
use super::problem::{Problem, ProblemKind};
use super::recordings::RecordingStore;
use super::remote_choice::RemoteChoice;
use super::request::Reach;
use super::session_addresses::SessionAddresses;
use super::tickets::{KEY_HEADER, ViewTickets};
use crate::mcp::McpServer;

/// Requests at a time, streams of events aside.
const MAX_REQUESTS: SlotLimits = SlotLimits {
    what: "requests",
    each: 64,
    others: 320,
};
/// Streams of events at a time.
const MAX_STREAMS: SlotLimits = SlotLimits {
    what: "streams of events",
    each: 64,
    others: 512,
};
/// Streams of the events of all sessions at a time, each of which has a connection to every session.
const MAX_ALL_STREAMS: SlotLimits = SlotLimits {
    what: "streams of all sessions' events",
    each: 4,
    others: 32,
};
/// Requests with a large body at a time: they are in memory, and so are their answers.
const MAX_LARGE_REQUESTS: SlotLimits = SlotLimits {
    what: "requests with more than 1 MiB",
    each: 8,
    others: 32,
};
/// A body with more bytes is large.
const LARGE_BYTES: usize = 1 << 20;
/// An operator always finds connections: those of all others leave as many as one may use.
const _: () = assert!(
    MAX_REQUESTS.others + MAX_STREAMS.others + MAX_REQUESTS.each + MAX_STREAMS.each
        <= MAX_CONNECTIONS
);
/// How often the token is looked at of whoever waits, or reads what comes.
pub(super) const TOKEN_CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// Longest `Authorization` header that is read.
const MAX_AUTHORIZATION_BYTES: usize = 256;

/// Starts the sessions that clients of the HTTP API open.
#[async_trait]
pub trait SessionLauncher: Send + Sync + 'static {
    /// The devices that a session can have: some of `desktop`, `browser`, `shell`, `editor`.
    fn devices(&self) -> Vec<String>;

    /// Checks what only the launcher understands of the options, such as the size of the display and the
    /// policy.
    ///
    /// # Errors
    /// With a sentence, if no session can have them.
    fn check(&self, options: &SessionOptions) -> Result<(), String>;

    /// The browser contexts of all owners; none if sessions cannot use any.
    fn contexts(&self) -> Option<Arc<dyn ContextStore>> {
        None
    }

    /// Starts a session host; its devices start afterwards.
    ///
    /// # Errors
    /// With a sentence, if it does not start.
    async fn launch(&self, paths: &SessionPaths, options: SessionOptions) -> Result<(), String>;
}

/// What a client requests of a new session; the server's flags decide about everything else.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionOptions {
    /// Some of the devices that the launcher offers.
    pub devices: Vec<String>,
    /// Size of desktop and browser, such as `1280x800`; absent for the server's own.
    pub display: Option<String>,
    /// The profile of the context that its browser uses.
    pub profile: Option<String>,
    /// Seconds without a call after which the session is closed; absent for the server's own.
    pub idle_seconds: Option<u64>,
    /// A policy of its own, which can only tighten that of the server: the name of a shipped one, or the
    /// text of a policy file.
    pub policy: Option<String>,
    /// Whether it is recorded; absent for what the server does.
    pub record: Option<bool>,
    /// What the client chooses of a browser at a service.
    pub remote: Option<RemoteChoice>,
    /// The member `http` of the session's configuration: to whom it belongs.
    pub http: Value,
}

/// Which sessions may be opened over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenSessionLimits {
    /// Maximum number that is open at the same time.
    pub max: usize,
    /// Maximum number that one principal has open.
    pub max_per_owner: usize,
    /// Available memory of the machine in bytes below which none is opened.
    pub min_free_bytes: u64,
    /// Maximum of the seconds without a call that a client can request.
    pub max_idle_seconds: u64,
}

/// The sessions that are open, as far as limits count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpenSessions {
    pub(super) all: usize,
    /// Those of the principal that wants another one.
    pub(super) own: usize,
    /// Available memory of the machine in bytes; absent if it cannot be read.
    pub(super) free_bytes: Option<u64>,
}

/// How a server is configured.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// Values of `Host` that are served, in lower case, with the port if it is not 80.
    pub hosts: Vec<String>,
    /// The tokens that are accepted.
    pub tokens: TokenFile,
    /// The folder of all session sockets.
    pub sockets: PathBuf,
    /// What may be opened.
    pub limits: OpenSessionLimits,
    /// The tools of the Model Context Protocol; absent if the devices have none.
    pub catalog: Option<ToolCatalog>,
    /// The recordings of the server's sessions; absent if it keeps none.
    pub recordings: Option<Arc<dyn RecordingStore>>,
    /// Makes the endpoint of a server with these tools, usually [`McpEndpoint::new`].
    pub mcp_endpoint: fn(McpServer) -> McpEndpoint,
    /// The tickets of the live page.
    pub tickets: ViewTickets,
    /// Whether programs may drive browsers by CDP.
    pub cdp_gateway: bool,
    /// Whether clients reach the server over TLS, its own or that of a proxy.
    pub is_https: bool,
    /// Version of the program, for the OpenAPI document.
    pub version: String,
}

/// State of a server.
pub(super) struct HttpState {
    pub(super) settings: HttpSettings,
    pub(super) launcher: Arc<dyn SessionLauncher>,
    pub(super) tickets: ViewTickets,
    /// The addresses with secrets.
    pub(super) addresses: SessionAddresses,
    /// The servers of the Model Context Protocol.
    pub(super) mcp: McpEndpoints,
    /// The conversions of documents that run.
    pub(super) conversions: Conversions,
    /// The contexts that are being opened or deleted.
    pub(super) context_claims: ContextClaims,
    requests: Slots,
    large_requests: Slots,
    streams: Slots,
    all_streams: Slots,
    /// What the server counts.
    pub(super) metrics: Arc<Metrics>,
    /// Which sessions are counted.
    pub(super) followers: MetricsFollowers,
    /// Changes when this server has opened a session.
    pub(super) opened: watch::Sender<()>,
    /// Whether the server is about to end.
    pub(super) stopping: watch::Sender<bool>,
    /// The principals of the sessions that are being opened.
    opening: Mutex<Vec<String>>,
}

/// Who sent a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Caller {
    pub(super) role: Role,
    /// Role and name of the token's owner.
    pub(super) principal: String,
    pub(super) token: BearerToken,
    /// The only session that the token is for; absent for all of the principal's.
    pub(super) session: Option<String>,
}

impl Caller {
    /// Whether this session is the caller's to use.
    pub(super) fn reaches(&self, session: &SessionDescription, reach: Reach) -> bool {
        if let Some(only) = &self.session {
            return session.name == *only;
        }
        let owner = session.config["http"]["principal"].as_str();
        match self.role {
            Role::Agent => owner == Some(self.principal.as_str()),
            Role::Viewer => reach == Reach::Read,
            Role::Operator => reach == Reach::Read || owner.is_some(),
        }
    }
}

impl HttpState {
    pub(super) fn new(settings: HttpSettings, launcher: Arc<dyn SessionLauncher>) -> Self {
        Self {
            tickets: settings.tickets.clone(),
            addresses: SessionAddresses::default(),
            metrics: Arc::new(Metrics::new(&settings.version, settings.limits.max)),
            followers: MetricsFollowers::default(),
            settings,
            launcher,
            mcp: McpEndpoints::default(),
            conversions: Conversions::new(),
            context_claims: ContextClaims::default(),
            requests: Slots::new(MAX_REQUESTS),
            large_requests: Slots::new(MAX_LARGE_REQUESTS),
            streams: Slots::new(MAX_STREAMS),
            all_streams: Slots::new(MAX_ALL_STREAMS),
            opened: watch::Sender::new(()),
            stopping: watch::Sender::new(false),
            opening: Mutex::default(),
        }
    }

    /// The owner of the request's token, or of the one that its page session stands for.
    pub(super) fn authenticate(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        let refused = |detail: &str| Problem::new(ProblemKind::Unauthorized, detail);
        let token = match headers.contains_key(KEY_HEADER) {
            true => self.tickets.token(headers).ok_or_else(|| {
                refused("the page session has ended; open the page again: telechir view")
            })?,
            false => bearer(headers)?,
        };
        self.owner(token)
    }

    /// The owner of a token.
    pub(super) fn owner(&self, token: BearerToken) -> Result<Caller, Problem> {
        let refused = |detail: &str| Problem::new(ProblemKind::Unauthorized, detail);
        let found = self.settings.tokens.find(&token).map_err(|error| {
            tracing::error!(%error, "no request can be served");
            Problem::new(ProblemKind::Internal, "the server's tokens cannot be read")
        })?;
        let record = found.ok_or_else(|| {
            refused("the token is unknown or revoked; create one: telechir tokens new ROLE")
        })?;
        Ok(Caller {
            role: record.role,
            principal: record.principal(),
            token,
            session: record.session,
        })
    }

    /// Waits until the caller's token counts no more. The token of a session ends with it: what is
    /// told of its end has as long again to arrive.
    pub(super) fn until_revoked(&self, caller: &Caller) -> impl Future<Output = ()> + Send + use<> {
        let (tokens, token) = (self.settings.tokens.clone(), caller.token.clone());
        let ends_with_session = caller.session.is_some();
        async move {
            loop {
                sleep(TOKEN_CHECK_INTERVAL).await;
                match tokens.find(&token) {
                    Ok(Some(_)) => {}
                    Ok(None) if ends_with_session => return sleep(TOKEN_CHECK_INTERVAL).await,
                    Ok(None) => return,
                    // Whether it counts is unknown; it did.
                    Err(error) => tracing::error!(%error, "the server's tokens cannot be read"),
                }
            }
        }
    }

    /// Does this for a caller, unless the token is revoked meanwhile: then it is dropped.
    pub(super) async fn while_accepted<T>(
        &self,
        caller: &Caller,
        work: impl Future<Output = Result<T, Problem>>,
    ) -> Result<T, Problem> {
        tokio::select! {
            biased;
            done = work => done,
            () = self.until_revoked(caller) => {
                let detail = "the token was revoked while the request waited";
                Err(Problem::new(ProblemKind::Unauthorized, detail))
            }
        }
    }

    /// Reserves one of the principal's requests, with a body of this length and the connection that it
    /// came on.
    pub(super) fn request_slot(
        &self,
        caller: &Caller,
        connection: &ConnectionUse,
        body_bytes: usize,
    ) -> Result<Slot, Problem> {
        let mut slot = self.requests.take(caller, connection)?;
        if body_bytes > LARGE_BYTES {
            let large = self.large_requests.take(caller, connection)?;
            slot._other = Some(Box::new(large));
        }
        Ok(slot)
    }

    /// Reserves one of the principal's streams, with the connection that it is sent on.
    pub(super) fn stream_slot(
        &self,
        caller: &Caller,
        connection: &ConnectionUse,
    ) -> Result<Slot, Problem> {
        self.streams.take(caller, connection)
    }

    /// Reserves one of the principal's streams of all sessions' events.
    pub(super) fn all_stream_slot(
        &self,
        caller: &Caller,
        connection: &ConnectionUse,
    ) -> Result<Slot, Problem> {
        let mut slot = self.streams.take(caller, connection)?;
        slot._other = Some(Box::new(self.all_streams.take(caller, connection)?));
        Ok(slot)
    }

    /// Reserves the opening of a session if not too much is open.
    pub(super) fn opening_slot(
        self: &Arc<Self>,
        principal: &str,
        open: OpenSessions,
    ) -> Result<OpeningSlot, Problem> {
        let limits = self.settings.limits;
        let mut opening = lock(&self.opening);
        let own_opening = opening.iter().filter(|owner| *owner == principal).count();
        let all_free = limits.max.saturating_sub(open.all + opening.len());
        let own_free = limits.max_per_owner.saturating_sub(open.own + own_opening);
        let free = json!({
            "sessions": all_free,
            "own_sessions": own_free.min(all_free),
            "memory_bytes": open.free_bytes,
        });
        let refused = |kind: ProblemKind, detail: String| {
            Err(Problem::new(kind, detail)
                .retry_after(10)
                .with("free", free))
        };
        if all_free == 0 {
            let detail = format!(
                "{} of {} sessions are open and {} are being opened; close one, or start the server \
                 with a larger --max-sessions",
                open.all,
                limits.max,
                opening.len()
            );
            return refused(ProblemKind::TooMany, detail);
        }
        if own_free == 0 {
            let detail = format!(
                "{principal} has {} of {} sessions open and {own_opening} are being opened; close \
                 one, or start the server with a larger --max-sessions-per-owner",
                open.own, limits.max_per_owner
            );
            return refused(ProblemKind::TooMany, detail);
        }
        if let Some(bytes) = open
            .free_bytes
            .filter(|bytes| *bytes < limits.min_free_bytes)
        {
            let detail = format!(
                "{} MiB of memory are available, and a session is opened with {} or more \
                 (--min-free-memory); close another one",
                bytes >> 20,
                limits.min_free_bytes >> 20
            );
            return refused(ProblemKind::Unavailable, detail);
        }
        opening.push(principal.to_owned());
        Ok(OpeningSlot {
            principal: principal.to_owned(),
            state: Arc::clone(self),
        })
    }
}

/// A session that is being opened.
pub(super) struct OpeningSlot {
    principal: String,
    state: Arc<HttpState>,
}

impl Drop for OpeningSlot {
    fn drop(&mut self) {
        let mut opening = lock(&self.state.opening);
        let found = opening.iter().position(|owner| *owner == self.principal);
        if let Some(found) = found {
            opening.swap_remove(found);
        }
    }
}

/// How much principals do at the same time.
#[derive(Clone, Copy, Debug)]
struct SlotLimits {
    what: &'static str,
    /// Maximum of one principal.
    each: usize,
    /// Maximum of all principals together that are no operators.
    others: usize,
}

/// Limits what each principal does at the same time.
#[derive(Debug)]
struct Slots {
    limits: SlotLimits,
    taken: Arc<Mutex<HashMap<Principal, usize>>>,
}

/// Whose slots they are: role, and role and name.
type Principal = (Role, String);

impl Slots {
    fn new(limits: SlotLimits) -> Self {
        let taken = Arc::default();
        Self { limits, taken }
    }

    fn take(&self, caller: &Caller, connection: &ConnectionUse) -> Result<Slot, Problem> {
        let SlotLimits { what, each, others } = self.limits;
        let refused =
            |detail: String| Err(Problem::new(ProblemKind::TooMany, detail).retry_after(1));
        let principal = (caller.role, caller.principal.clone());
        let mut taken = lock(&self.taken);
        let own = taken.get(&principal).copied().unwrap_or_default();
        if own >= each {
            return refused(format!(
                "{} has {own} {what} at the same time; the maximum is {each}",
                caller.principal
            ));
        }
        let of_others = taken
            .iter()
            .filter(|((role, _), _)| *role != Role::Operator);
        let of_others: usize = of_others.map(|(_, count)| count).sum();
        if caller.role != Role::Operator && of_others >= others {
            return refused(format!(
                "agents and viewers have {of_others} {what} at the same time; the maximum is {others}"
            ));
        }
        *taken.entry(principal.clone()).or_default() += 1;
        Ok(Slot {
            principal,
            taken: Arc::clone(&self.taken),
            _other: None,
            _in_use: connection.begin(),
        })
    }
}

/// One of a principal's requests or streams; dropping it frees it.
#[derive(Debug)]
pub(super) struct Slot {
    principal: Principal,
    taken: Arc<Mutex<HashMap<Principal, usize>>>,
    /// That of a request with a large body, or of a stream of all sessions' events.
    _other: Option<Box<Self>>,
    _in_use: InUse,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        if let Some(count) = taken.get_mut(&self.principal) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.principal);
            }
        }
    }
}

/// The token in the header `Authorization`.
fn bearer(headers: &HeaderMap) -> Result<BearerToken, Problem> {
    let refused = || {
        let detail = "expected one header `Authorization: Bearer TOKEN`";
        Problem::new(ProblemKind::Unauthorized, detail)
    };
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return Err(refused());
    };
    let text = value.to_str().ok();
    let text = text.filter(|text| text.len() <= MAX_AUTHORIZATION_BYTES);
    let (scheme, token) = text
        .and_then(|text| text.split_once(' '))
        .unwrap_or_default();
    match scheme.eq_ignore_ascii_case("bearer") {
        true => Ok(BearerToken::new(token.trim())),
        false => Err(refused()),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_and_viewers_leave_requests_for_operators() {
        let slots = Slots::new(SlotLimits {
            what: "requests",
            each: 2,
            others: 3,
        });
        let take = |role: Role, name: &str| {
            let caller = Caller {
                role,
                principal: format!("{role}/{name}"),
                token: BearerToken::new(""),
                session: None,
            };
            let slot = slots.take(&caller, &ConnectionUse::default());
            slot.map_err(|problem| problem.detail().to_owned())
        };
        let first = take(Role::Agent, "a").unwrap();
        let _second = take(Role::Agent, "a").unwrap();
        let refused = take(Role::Agent, "a").unwrap_err();
        assert_eq!(
            refused,
            "agent/a has 2 requests at the same time; the maximum is 2"
        );
        let _third = take(Role::Viewer, "a").unwrap();
        let refused = take(Role::Agent, "b").unwrap_err();
        assert_eq!(
            refused,
            "agents and viewers have 3 requests at the same time; the maximum is 3"
        );
        let _operator = take(Role::Operator, "a").unwrap();
        drop(first);
        assert!(take(Role::Agent, "b").is_ok());
    }
}
