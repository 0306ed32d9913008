//! What every request must pass before its route: the form of the request, `Host` and `Origin`.
//!
//! A web page must not reach the server through a person's browser: DNS rebinding sends another
//! `Host`, and every request of another site has an `Origin`. Only the live page's own origin passes.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::problem::{Problem, ProblemKind};
use super::state::HttpState;
use super::tickets::KEY_HEADER;

/// Passes a request on if its head is in order.
pub(super) async fn check(
    State(state): State<Arc<HttpState>>,
    request: Request,
    next: Next,
) -> Response {
    let checked = check_head(&state.settings.hosts, request.uri(), request.headers());
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.closing().into_response(),
    };
    let headers = response.headers_mut();
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    let never = HeaderValue::from_static("no-store");
    headers.entry(header::CACHE_CONTROL).or_insert(never);
    response
}

fn check_head(hosts: &[String], uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    check_host(hosts, uri, headers)?;
    if headers.contains_key(header::ORIGIN) && !is_own_page(uri, headers) {
        let detail = "the request has the Origin of a page that is not this server's live page";
        return Err(Problem::new(ProblemKind::ForbiddenOrigin, detail));
    }
    // With both headers, two servers in a row can disagree about where the request ends.
    if headers.contains_key(header::TRANSFER_ENCODING) {
        let detail = "expected a body with Content-Length, found Transfer-Encoding";
        return Err(Problem::new(ProblemKind::LengthRequired, detail));
    }
    // Somebody before this server may have judged the decoded body.
    let encodings = headers.get_all(header::CONTENT_ENCODING).iter();
    for encoding in encodings.map(|value| String::from_utf8_lossy(value.as_bytes())) {
        if !encoding.trim().eq_ignore_ascii_case("identity") {
            let detail = format!(
                "expected a body without Content-Encoding, found `{}`",
                encoding.escape_debug()
            );
            return Err(Problem::new(ProblemKind::UnsupportedMedia, detail));
        }
    }
    let is_secret = |name: &str| {
        let name = name.to_ascii_lowercase();
        name.contains("token") || name == "authorization" || name == "bearer"
    };
    let query = uri.query().unwrap_or_default();
    let mut names = url::form_urlencoded::parse(query.as_bytes());
    if names.any(|(name, _)| is_secret(&name)) {
        let detail = "a token in the address is written to logs; send it as the header \
                      `Authorization: Bearer TOKEN`, and revoke this one";
        return Err(Problem::new(ProblemKind::BadRequest, detail));
    }
    Ok(())
}

/// Whether the request has this server's origin and either comes from the live page, without a token,
/// which no page has, or is one of the Model Context Protocol, some of whose clients send the origin.
fn is_own_page(uri: &Uri, headers: &HeaderMap) -> bool {
    let one = |name: HeaderName| {
        let mut values = headers.get_all(name).iter();
        let value = values.next().filter(|_| values.next().is_none());
        value.and_then(|value| value.to_str().ok())
    };
    let origin = one(header::ORIGIN).unwrap_or_default();
    let host = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"));
    let is_same = host
        .is_some_and(|host| one(header::HOST).is_some_and(|own| own.eq_ignore_ascii_case(host)));
    // Browsers send the origin with requests for scripts, too.
    let is_page = headers.contains_key(KEY_HEADER) || uri.path().starts_with("/view/");
    is_same && (uri.path() == "/mcp" || is_page && !headers.contains_key(header::AUTHORIZATION))
}

fn check_host(hosts: &[String], uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let mut values = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (values.next(), values.next()) else {
        let detail = format!(
            "expected one Host header, found {}",
            headers.get_all(header::HOST).iter().count()
        );
        return Err(Problem::new(ProblemKind::BadRequest, detail));
    };
    let host = String::from_utf8_lossy(host.as_bytes()).to_ascii_lowercase();
    let target = uri.authority().map(|target| target.as_str());
    if target.is_some_and(|target| !target.eq_ignore_ascii_case(&host)) {
        let detail = "the address of the request and its Host header differ";
        return Err(Problem::new(ProblemKind::BadRequest, detail));
    }
    if hosts.contains(&host) {
        return Ok(());
    }
    let detail = format!(
        "expected the Host {}, found `{}`; name others with --host",
        hosts.join(" or "),
        host.escape_debug()
    );
    Err(Problem::new(ProblemKind::ForbiddenHost, detail))
}
