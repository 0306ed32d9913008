//! A request as handlers read it: who sent it, its parameters, and the session that it is about.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use telechir_host::{HostClient, HostError, HostErrorKind, Probe, SessionName, SessionPaths, find};
use telechir_providers::Dialect;

use super::body;
use super::connections::ConnectionUse;
use super::problem::{Problem, ProblemKind};
use super::state::{Caller, HttpState, Slot};

/// Longest time of `Prefer: wait`.
const MAX_WAIT: Duration = Duration::from_secs(3600);
/// Longest `Idempotency-Key`.
const MAX_KEY_BYTES: usize = 100;

/// A request of a caller who may use its route.
pub(super) struct ApiRequest {
    pub(super) state: Arc<HttpState>,
    pub(super) caller: Caller,
    /// On which it came.
    pub(super) connection: ConnectionUse,
    pub(super) headers: HeaderMap,
    /// The parameters of the path.
    pub(super) path: Vec<(String, String)>,
    pub(super) query: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    /// Counts the request as one of its principal's.
    pub(super) slot: Arc<Slot>,
}

/// What a request does to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// It only reads. Viewers and operators read all sessions of the user.
    Read,
    /// It acts, in a session that was opened over HTTP.
    Act,
}

/// How long a client waits for a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// Until the results are there; the turn ends with the connection.
    Connected,
    /// For this time; the turn goes on without the connection.
    Within(Duration),
}

impl Patience {
    /// The time that it waits; absent if there is no limit.
    pub(super) const fn limit(self) -> Option<Duration> {
        match self {
            Self::Connected => None,
            Self::Within(wait) => Some(wait),
        }
    }
}

impl ApiRequest {
    pub(super) fn path(&self, name: &str) -> &str {
        value(&self.path, name).unwrap_or_default()
    }

    pub(super) fn query(&self, name: &str) -> Option<&str> {
        value(&self.query, name)
    }

    /// The body as its type.
    pub(super) fn parse<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        body::parse(&self.body)
    }

    /// A dialect that the query names.
    pub(super) fn dialect(&self, name: &str) -> Result<Dialect, Problem> {
        let bad = |detail: String| Problem::new(ProblemKind::BadRequest, detail);
        let given = self.query(name);
        let given = given.ok_or_else(|| bad(format!("expected the query parameter `{name}`")))?;
        given.parse::<Dialect>().map_err(|e| bad(e.to_string()))
    }

    /// The client's own key of the request.
    pub(super) fn idempotency_key(&self) -> Result<Option<String>, Problem> {
        let mut values = self.headers.get_all("idempotency-key").iter();
        let (Some(given), None) = (values.next(), values.next()) else {
            return Ok(None);
        };
        let given = given.to_str().unwrap_or_default();
        // The header is a string of structured fields; most clients omit the quotes.
        let key = given
            .strip_prefix('"')
            .and_then(|key| key.strip_suffix('"'));
        let key = key.unwrap_or(given);
        let is_plain =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~' | ':');
        if (1..=MAX_KEY_BYTES).contains(&key.len()) && key.chars().all(is_plain) {
            return Ok(Some(key.to_owned()));
        }
        let detail =
            format!("Idempotency-Key: expected 1 to {MAX_KEY_BYTES} letters, digits or `-_.~:`");
        Err(Problem::new(ProblemKind::BadRequest, detail))
    }

    /// What `Prefer` says about waiting; a preference that is not understood is ignored.
    pub(super) fn patience(&self) -> Patience {
        let values = self.headers.get_all("prefer").iter();
        let values = values.filter_map(|value| value.to_str().ok());
        let mut patience = Patience::Connected;
        for preference in values.flat_map(|value| value.split([',', ';'])) {
            let preference = preference.trim().to_ascii_lowercase();
            if preference == "respond-async" && patience == Patience::Connected {
                patience = Patience::Within(Duration::ZERO);
            }
            if let Some(seconds) = preference.strip_prefix("wait=")
                && let Ok(seconds) = seconds.parse()
            {
                patience = Patience::Within(Duration::from_secs(seconds).min(MAX_WAIT));
            }
        }
        patience
    }

    /// The session that the path names.
    pub(super) async fn session(&self, reach: Reach) -> Result<HostClient, Problem> {
        let id = self.path("id");
        // The same answer for a session of another principal as for none.
        let missing = || Problem::new(ProblemKind::NotFound, "no session has this id");
        let name = id.parse::<SessionName>().map_err(|_| missing())?;
        let paths = SessionPaths::new(&self.state.settings.sockets, name);
        let paths = paths.map_err(|_| missing())?;
        match find(&paths).await.map_err(failure)? {
            Probe::Alive(client) if self.caller.reaches(client.description(), reach) => Ok(client),
            Probe::Dead | Probe::Nothing => {
                self.revoke_own_token();
                Err(missing())
            }
            Probe::Alive(_) | Probe::Changing => Err(missing()),
        }
    }

    /// Revokes the caller's token if it was for the session of the path alone, which is gone.
    fn revoke_own_token(&self) {
        if self.caller.session.as_deref() != Some(self.path("id")) {
            return;
        }
        let tokens = &self.state.settings.tokens;
        let revoked = tokens
            .find(&self.caller.token)
            .and_then(|found| match found {
                Some(record) => tokens.revoke(&record.id),
                None => Ok(false),
            });
        if let Err(error) = revoked {
            tracing::warn!(%error, "a token of a session that ended is not revoked");
        }
    }
}

fn value<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = pairs.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str())
}

/// A session host's error as a problem.
pub(super) fn failure(error: HostError) -> Problem {
    match error.kind() {
        HostErrorKind::Busy => {
            Problem::new(ProblemKind::SessionBusy, error.to_string()).retry_after(1)
        }
        HostErrorKind::KeyReused => Problem::new(ProblemKind::KeyReused, error.to_string()),
        HostErrorKind::CallIdReused => Problem::new(ProblemKind::CallIdReused, error.to_string()),
        HostErrorKind::Cancelled | HostErrorKind::Other => {
            Problem::new(ProblemKind::NotAnswered, error.to_string())
        }
        HostErrorKind::Lost | HostErrorKind::Version => {
            Problem::new(ProblemKind::SessionLost, error.to_string())
        }
    }
}

/// A document as the answer.
pub(super) fn reply(status: StatusCode, document: &impl Serialize) -> Response {
    (status, Json(document)).into_response()
}
