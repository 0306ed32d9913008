//! How a person's browser gets to the live page: a ticket, exchanged once for a page session.
//!
//! A page session has two secrets: a cookie, which scripts cannot read, and a key, which the page keeps
//! for its origin and sends with every request. Browsers send cookies to all ports of a host, so a
//! server on another port learns the cookie, but not the key; and a page of another origin cannot send
//! the key. Both secrets stand for the token with which the ticket was made: once that is revoked, the
//! page session ends.
//!
//! Tickets are too long to guess, so any number of wrong ones is refused and none locks the others: every
//! user of the machine can send them.

use std::fs::File;
use std::io::Read as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use blake3::Hash;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use telechir_host::tokens::BearerToken;

use super::body;
use super::problem::{Problem, ProblemKind};
use super::request::{ApiRequest, reply};
use super::state::HttpState;

/// The header with the key of a page session.
pub(super) const KEY_HEADER: &str = "x-telechir-view";
/// The first part of the cookie's name; the port follows, because cookies are shared between ports.
const COOKIE: &str = "telechir_view_";
/// Before the name of a cookie that browsers accept over https from this host alone.
const HOST_PREFIX: &str = "__Host-";
/// How long a ticket can be exchanged.
const TICKET_TIME: Duration = Duration::from_secs(60);
/// How long a page can be used before it needs another ticket.
const SESSION_TIME: Duration = Duration::from_secs(12 * 3600);
/// Tickets and page sessions of one token at the same time; the oldest ends first.
const MAX_TICKETS: usize = 16;
const MAX_SESSIONS: usize = 16;
/// Maximum bytes of a request with a ticket.
pub(super) const MAX_BODY_BYTES: usize = 4096;

/// A ticket.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TicketDocument {
    /// Opens the page at `/#ticket=` and this text, once.
    ticket: String,
    /// Seconds until it expires.
    expires_in_seconds: u64,
}

/// A ticket to exchange.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TicketExchange {
    /// As the address of the page had it.
    ticket: String,
}

/// Tickets and page sessions of a server. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct ViewTickets(Arc<Mutex<Issued>>);

#[derive(Debug, Default)]
struct Issued {
    tickets: Vec<Ticket>,
    sessions: Vec<PageSession>,
}

#[derive(Debug)]
struct Ticket {
    hash: Hash,
    token: BearerToken,
    expires: Instant,
}

#[derive(Debug)]
struct PageSession {
    cookie: Hash,
    key: Hash,
    token: BearerToken,
    expires: Instant,
}

/// The secrets of a page session.
#[derive(Debug, PartialEq, Eq)]
struct PageSecrets {
    cookie: String,
    key: String,
}

/// Why a ticket was not exchanged.
#[derive(Debug, PartialEq, Eq)]
enum TicketRefusal {
    /// It is wrong, was used before, or has expired.
    Unknown,
    NoRandomNumbers,
}

impl ViewTickets {
    /// A ticket with the rights of this token, valid once within a minute.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn create(&self, token: BearerToken) -> Result<String, String> {
        self.create_at(token, Instant::now())
    }

    fn create_at(&self, token: BearerToken, now: Instant) -> Result<String, String> {
        let ticket = random().map_err(|e| format!("the system has no random numbers: {e}"))?;
        let mut issued = self.lock();
        issued.tickets.retain(|ticket| now < ticket.expires);
        make_room(&mut issued.tickets, MAX_TICKETS, |one| one.token == token);
        issued.tickets.push(Ticket {
            hash: blake3::hash(ticket.as_bytes()),
            token,
            expires: now + TICKET_TIME,
        });
        Ok(ticket)
    }

    fn exchange(&self, ticket: &str, now: Instant) -> Result<PageSecrets, TicketRefusal> {
        let mut issued = self.lock();
        issued.tickets.retain(|ticket| now < ticket.expires);
        // The comparison of hashes takes constant time.
        let hash = blake3::hash(ticket.as_bytes());
        let found = issued.tickets.iter().position(|known| known.hash == hash);
        let Some(index) = found else {
            tracing::debug!("refused a ticket that is unknown, used or expired");
            return Err(TicketRefusal::Unknown);
        };
        let Ticket { token, .. } = issued.tickets.remove(index);
        let secret = || random().map_err(|_| TicketRefusal::NoRandomNumbers);
        let secrets = PageSecrets {
            cookie: secret()?,
            key: secret()?,
        };
        issued.sessions.retain(|session| now < session.expires);
        make_room(&mut issued.sessions, MAX_SESSIONS, |one| one.token == token);
        issued.sessions.push(PageSession {
            cookie: blake3::hash(secrets.cookie.as_bytes()),
            key: blake3::hash(secrets.key.as_bytes()),
            token,
            expires: now + SESSION_TIME,
        });
        Ok(secrets)
    }

    /// The token that the request's cookie and key stand for.
    pub(super) fn token(&self, headers: &HeaderMap) -> Option<BearerToken> {
        let key = one(headers, KEY_HEADER)?;
        let name = cookie_name(headers);
        let lists = headers.get_all(header::COOKIE).iter();
        let lists = lists.map(|value| String::from_utf8_lossy(value.as_bytes()));
        let cookies: Vec<String> = lists.flat_map(|list| values(&list, &name)).collect();
        // A program on another port can add cookies of the same name for longer paths.
        let now = Instant::now();
        cookies
            .iter()
            .find_map(|cookie| self.token_of(cookie, key, now))
    }

    fn token_of(&self, cookie: &str, key: &str, now: Instant) -> Option<BearerToken> {
        let cookie = blake3::hash(cookie.as_bytes());
        let key = blake3::hash(key.as_bytes());
        let mut issued = self.lock();
        issued.sessions.retain(|session| now < session.expires);
        let mut sessions = issued.sessions.iter();
        let found = sessions.find(|session| session.cookie == cookie && session.key == key);
        found.map(|session| session.token.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Issued> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `POST /v1/tickets`
pub(super) async fn create(request: ApiRequest) -> Result<Response, Problem> {
    let ticket = request.state.tickets.create(request.caller.token.clone());
    let document = TicketDocument {
        ticket: ticket.map_err(|why| Problem::new(ProblemKind::Internal, why))?,
        expires_in_seconds: TICKET_TIME.as_secs(),
    };
    Ok(reply(StatusCode::CREATED, &document))
}

/// `POST /view/session`: exchanges a ticket.
pub(super) async fn exchange(state: Arc<HttpState>, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let headers = &parts.headers;
    let body = body::read(headers, body, MAX_BODY_BYTES).await?;
    let TicketExchange { ticket } = body::parse(&body)?;
    let secrets = state.tickets.exchange(&ticket, Instant::now());
    let PageSecrets { cookie, key } = secrets.map_err(|refusal| match refusal {
        TicketRefusal::Unknown => Problem::new(
            ProblemKind::Unauthorized,
            "the ticket is unknown, used or expired; get another one: telechir view",
        ),
        TicketRefusal::NoRandomNumbers => {
            Problem::new(ProblemKind::Internal, "the system has no random numbers")
        }
    })?;
    let token = state.tickets.token_of(&cookie, &key, Instant::now());
    let role = token.and_then(|token| state.settings.tokens.find(&token).ok()?);
    let role = role.map(|record| record.role.name());
    let is_https = one(headers, "origin").is_some_and(|origin| origin.starts_with("https:"));
    let (prefix, secure) = match is_https {
        true => (HOST_PREFIX, "; Secure"),
        false => ("", ""),
    };
    let name = cookie_name(headers);
    let cookie = format!("{prefix}{name}={cookie}; HttpOnly; SameSite=Strict; Path=/{secure}");
    let document = reply(StatusCode::OK, &json!({"key": key, "role": role}));
    Ok(([(header::SET_COOKIE, cookie)], document).into_response())
}

/// The value of a header that occurs once.
fn one<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    value.to_str().ok()
}

/// Removes the oldest of those that `fits`, if these are `max`: what one token has made takes no room
/// of another's.
fn make_room<T>(all: &mut Vec<T>, max: usize, fits: impl Fn(&T) -> bool) {
    if all.iter().filter(|one| fits(one)).count() >= max
        && let Some(oldest) = all.iter().position(fits)
    {
        all.remove(oldest);
    }
}

/// The values of a cookie in a list of cookies; with [`HOST_PREFIX`] it is the same one.
fn values(list: &str, name: &str) -> Vec<String> {
    let value = |pair: &str| {
        let (own, value) = pair.trim().split_once('=')?;
        let own = own.strip_prefix(HOST_PREFIX).unwrap_or(own);
        (own == name).then(|| value.to_owned())
    };
    list.split(';').filter_map(value).collect()
}

/// The cookie's name on the port of the request.
fn cookie_name(headers: &HeaderMap) -> String {
    let host = one(headers, "host").unwrap_or_default();
    let port = host.rsplit(':').next().unwrap_or_default();
    let digits = |port: &&str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    let port = Some(port).filter(digits).unwrap_or("default");
    format!("{COOKIE}{port}")
}

fn random() -> std::io::Result<String> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn token() -> BearerToken {
        BearerToken::new("tch_operator_x")
    }

    #[test]
    fn a_ticket_counts_once_and_for_a_minute() {
        let (tickets, now) = (ViewTickets::default(), Instant::now());
        let ticket = tickets.create_at(token(), now).unwrap();
        let late = tickets.create_at(token(), now).unwrap();
        let secrets = tickets.exchange(&ticket, now).unwrap();
        let replayed = tickets.exchange(&ticket, now);
        assert_eq!(replayed, Err(TicketRefusal::Unknown));
        let expired = tickets.exchange(&late, now + TICKET_TIME);
        assert_eq!(expired, Err(TicketRefusal::Unknown));
        let found = |at| tickets.token_of(&secrets.cookie, &secrets.key, at);
        assert_eq!(found(now), Some(token()));
        assert_eq!(found(now + SESSION_TIME), None);
    }

    #[test]
    fn cookie_and_key_count_only_together() {
        let (tickets, now) = (ViewTickets::default(), Instant::now());
        let open = || {
            let ticket = tickets.create_at(token(), now).unwrap();
            tickets.exchange(&ticket, now).unwrap()
        };
        let (one, other) = (open(), open());
        for (cookie, key) in [
            (&one.cookie, &other.key),
            (&one.key, &one.cookie),
            (&one.cookie, &String::new()),
        ] {
            assert_eq!(tickets.token_of(cookie, key, now), None);
        }
        assert!(tickets.token_of(&other.cookie, &other.key, now).is_some());
    }

    #[test]
    fn wrong_tickets_shut_nobody_out() {
        let (tickets, now) = (ViewTickets::default(), Instant::now());
        let ticket = tickets.create_at(token(), now).unwrap();
        for guess in 0..1000 {
            let wrong = tickets.exchange(&format!("{guess:064}"), now);
            assert_eq!(wrong, Err(TicketRefusal::Unknown));
        }
        assert!(tickets.exchange(&ticket, now).is_ok());
    }

    #[test]
    fn tickets_and_page_sessions_of_each_token_are_limited() {
        let (tickets, now) = (ViewTickets::default(), Instant::now());
        let viewer = || BearerToken::new("tch_viewer_y");
        let open = |token| {
            let ticket = tickets.create_at(token, now).unwrap();
            tickets.exchange(&ticket, now).unwrap()
        };
        let waiting = tickets.create_at(token(), now).unwrap();
        let opened = open(token());
        let first = tickets.create_at(viewer(), now).unwrap();
        for _ in 0..MAX_TICKETS {
            tickets.create_at(viewer(), now).unwrap();
        }
        assert_eq!(tickets.exchange(&first, now), Err(TicketRefusal::Unknown));
        for _ in 0..=MAX_SESSIONS {
            open(viewer());
        }
        assert_eq!(tickets.lock().sessions.len(), MAX_SESSIONS + 1);
        // Another token's are still there.
        assert!(tickets.token_of(&opened.cookie, &opened.key, now).is_some());
        assert!(tickets.exchange(&waiting, now).is_ok());
    }

    #[test]
    fn a_cookie_of_the_same_name_for_another_path_shuts_nobody_out() {
        let (tickets, now) = (ViewTickets::default(), Instant::now());
        let ticket = tickets.create_at(token(), now).unwrap();
        let PageSecrets { cookie, key } = tickets.exchange(&ticket, now).unwrap();
        let found = |cookies: &[&str]| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, "127.0.0.1:7878".parse().unwrap());
            headers.insert(KEY_HEADER, key.parse().unwrap());
            for list in cookies {
                let list = HeaderValue::from_bytes(list.as_bytes()).unwrap();
                headers.append(header::COOKIE, list);
            }
            tickets.token(&headers)
        };
        let own = format!("telechir_view_7878={cookie}");
        let tossed = format!("telechir_view_7878=x; a=b; {own}; telechir_view_7878=");
        let prefixed = format!("telechir_view_7878=x;__Host-{own}");
        for cookies in [
            &[own.as_str()][..],
            &[&tossed],
            &[&prefixed],
            &["telechir_view_7878=\u{e9}", &own],
        ] {
            assert_eq!(found(cookies), Some(token()), "{cookies:?}");
        }
        let other = format!("telechir_view_78780={cookie}; xtelechir_view_7878={cookie}");
        for cookies in [&[][..], &["telechir_view_7878=x"], &[&other]] {
            assert_eq!(found(cookies), None, "{cookies:?}");
        }
    }
}
