//! Addresses with a secret of their own, for programs that can send no header: each stands for the
//! token with which it was made, and for one session and one use of it.

use std::fs::File;
use std::io::Read as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{FromRequestParts as _, RawPathParams};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use blake3::Hash;
use telechir_host::tokens::{BearerToken, Role};

use super::client_address::ConnectionInfo;
use super::problem::{Problem, ProblemKind};
use super::request::ApiRequest;
use super::state::{Caller, HttpState};

/// How long an address can be used.
pub(super) const ADDRESS_TIME: Duration = Duration::from_secs(12 * 3600);
/// Addresses of one token at the same time; the oldest ends first.
const MAX_ADDRESSES: usize = 64;

/// What an address is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AddressUse {
    /// Driving the session's browser by CDP.
    Cdp,
    /// Actions on the session's screen, one by one.
    Actions,
}

/// The addresses of a server.
#[derive(Debug, Default)]
pub(super) struct SessionAddresses(Mutex<Vec<SessionAddress>>);

#[derive(Debug)]
struct SessionAddress {
    hash: Hash,
    token: BearerToken,
    session: String,
    use_: AddressUse,
    expires: Instant,
}

impl SessionAddresses {
    /// Makes an address: its secret.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub(super) fn create(
        &self,
        token: BearerToken,
        session: &str,
        use_: AddressUse,
    ) -> Result<String, Problem> {
        self.create_at(token, session, use_, Instant::now())
            .map_err(|e| {
                let detail = format!("the system has no random numbers: {e}");
                Problem::new(ProblemKind::Internal, detail)
            })
    }

    fn create_at(
        &self,
        token: BearerToken,
        session: &str,
        use_: AddressUse,
        now: Instant,
    ) -> std::io::Result<String> {
        let mut bytes = [0; 32];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
        let secret: String = digits.collect();
        let mut issued = self.lock();
        issued.retain(|address| now < address.expires);
        let own = |address: &&SessionAddress| address.token == token;
        if issued.iter().filter(own).count() >= MAX_ADDRESSES
            && let Some(oldest) = issued.iter().position(|address| address.token == token)
        {
            issued.remove(oldest);
        }
        issued.push(SessionAddress {
            hash: blake3::hash(secret.as_bytes()),
            token,
            session: session.to_owned(),
            use_,
            expires: now + ADDRESS_TIME,
        });
        Ok(secret)
    }

    /// The token and the session of a secret.
    fn find(&self, secret: &str, use_: AddressUse, now: Instant) -> Option<(BearerToken, String)> {
        // The comparison of hashes takes constant time.
        let hash = blake3::hash(secret.as_bytes());
        let mut issued = self.lock();
        issued.retain(|address| now < address.expires);
        let mut issued = issued.iter();
        let found = issued.find(|address| address.hash == hash && address.use_ == use_);
        found.map(|address| (address.token.clone(), address.session.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<SessionAddress>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The owner of the token in the headers, or of the one that the secret stands for; then for its
/// session alone.
pub(super) fn caller(
    state: &HttpState,
    headers: &HeaderMap,
    secret: Option<&str>,
    use_: AddressUse,
) -> Result<Caller, Problem> {
    let Some(secret) = secret else {
        return state.authenticate(headers);
    };
    let unknown = || {
        let detail = "the address is unknown or has expired; get another one";
        Problem::new(ProblemKind::Unauthorized, detail)
    };
    let found = state.addresses.find(secret, use_, Instant::now());
    let (token, session) = found.ok_or_else(unknown)?;
    let caller = state.owner(token)?;
    if caller.session.as_ref().is_some_and(|only| *only != session) {
        return Err(unknown());
    }
    let session = Some(session);
    Ok(Caller { session, ..caller })
}

/// A request to act in a session, with the secret of its path if it has one, and without a body.
pub(super) async fn request(
    state: Arc<HttpState>,
    mut parts: Parts,
    use_: AddressUse,
    body_bytes: usize,
) -> Result<(ApiRequest, Option<String>), Problem> {
    let path = RawPathParams::from_request_parts(&mut parts, &()).await;
    let path = path.map_err(|e| Problem::new(ProblemKind::BadRequest, e.to_string()))?;
    let mut path: Vec<(String, String)> = path
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let secret = path.iter().find(|(name, _)| name == "secret");
    let secret = secret.map(|(_, secret)| secret.clone());
    let caller = caller(&state, &parts.headers, secret.as_deref(), use_)?;
    if caller.role == Role::Viewer {
        let detail = "acting in a session needs the role agent or operator";
        return Err(Problem::new(ProblemKind::Forbidden, detail));
    }
    if let (Some(_), Some(session)) = (&secret, &caller.session) {
        path.push(("id".to_owned(), session.clone()));
    }
    let connection = parts.extensions.get::<ConnectionInfo>();
    let connection = connection.map(|info| info.usage.clone());
    let connection = connection.unwrap_or_default();
    let slot = Arc::new(state.request_slot(&caller, &connection, body_bytes)?);
    let request = ApiRequest {
        state,
        caller,
        connection,
        headers: parts.headers,
        path,
        query: Vec::new(),
        body: Vec::new(),
        slot,
    };
    Ok((request, secret))
}

/// The `Host` of a request, which `front` has compared with the server's own.
pub(super) fn host(headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).map(HeaderValue::as_bytes);
    String::from_utf8_lossy(host.unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_stands_for_one_token_session_and_use_until_it_expires() {
        let addresses = SessionAddresses::default();
        let now = Instant::now();
        let token = BearerToken::new("one");
        let create = || addresses.create_at(token.clone(), "s1", AddressUse::Cdp, now);
        let secret = create().unwrap();
        assert_eq!(secret.len(), 64);
        let find = |secret: &str, at: Instant| addresses.find(secret, AddressUse::Cdp, at);
        assert_eq!(find(&secret, now), Some((token.clone(), "s1".to_owned())));
        assert_eq!(addresses.find(&secret, AddressUse::Actions, now), None);
        assert_eq!(find(&secret[1..], now), None);
        assert_eq!(find("", now), None);
        assert_eq!(find(&secret, now + ADDRESS_TIME), None);
        let first = create().unwrap();
        for _ in 0..MAX_ADDRESSES {
            create().unwrap();
        }
        assert_eq!(find(&first, now), None, "the oldest ends");
    }
}
