//! Answers one request of a program: a tunnel, or a URL to fetch.

use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode, Uri, client};
use hyper_util::rt::TokioIo;
use telechir_policy::Remote;

use super::{ProxyConnection, tunnel};
use crate::connect::{self, Connected};
use crate::refusal::ProxyRefusal;

type Body = Either<Incoming, Full<Bytes>>;

/// Answers a request; refusals become responses, too.
pub(super) async fn answer(conn: ProxyConnection, request: Request<Incoming>) -> Response<Body> {
    let response = match conn.refusal() {
        Some(refusal) => Err(refusal),
        None if request.method() == Method::CONNECT => open_tunnel(&conn, request).await,
        None => fetch(&conn, request).await,
    };
    response.unwrap_or_else(|refusal| refusal_response(&refusal))
}

/// A refusal as a plain-text page for the user.
fn refusal_response(refusal: &ProxyRefusal) -> Response<Body> {
    let text = format!("{refusal}\n");
    let mut response = Response::new(Either::Right(Full::from(text)));
    *response.status_mut() = refusal.status();
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    headers.insert(
        "proxy-status",
        HeaderValue::from_static(refusal.proxy_status()),
    );
    headers.insert("cache-control", HeaderValue::from_static("no-store"));
    response
}

async fn open_tunnel(
    conn: &ProxyConnection,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, ProxyRefusal> {
    let remote = parse_target(conn, request.uri(), Remote::for_tunnel)?;
    let connected = connect::connect(&conn.inner, &remote).await?;
    let upgrade = hyper::upgrade::on(&mut request);
    conn.tasks
        .spawn(run_tunnel(conn.clone(), upgrade, remote, connected));
    Ok(Response::new(Either::Right(Full::default())))
}

/// Runs a tunnel; the connection counts against the limit until it ends.
async fn run_tunnel(
    conn: ProxyConnection,
    upgrade: OnUpgrade,
    remote: Remote,
    connected: Connected,
) {
    match upgrade.await {
        Ok(program) => tunnel::run(&conn.inner, &remote, TokioIo::new(program), connected).await,
        Err(error) => tracing::debug!(%error, "a tunnel was not established"),
    }
}

async fn fetch(
    conn: &ProxyConnection,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, ProxyRefusal> {
    if request.uri().authority().is_none() {
        return Err(ProxyRefusal::NotAProxyRequest(
            "expected an absolute URL in the request line, found a path",
        ));
    }
    let remote = parse_target(conn, request.uri(), Remote::for_fetch)?;
    let host = remote.host();
    let no_answer = |error: hyper::Error| ProxyRefusal::NoAnswer {
        host: host.clone(),
        why: error.to_string(),
    };
    let network = connect::connect(&conn.inner, &remote).await?.network;
    let handshake = client::conn::http1::Builder::new()
        .preserve_header_case(true)
        .handshake(TokioIo::new(network))
        .await;
    let (mut sender, connection) = handshake.map_err(no_answer)?;
    conn.tasks.spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "a host's connection failed");
        }
    });
    let program = hyper::upgrade::on(&mut request);
    rewrite_for_host(&mut request, &remote);
    let mut response = sender.send_request(request).await.map_err(no_answer)?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        let network = hyper::upgrade::on(&mut response);
        conn.tasks
            .spawn(tunnel::join_upgraded(conn.clone(), program, network));
    } else {
        remove_hop_by_hop_headers(response.headers_mut(), Upgrades::Removed);
    }
    Ok(response.map(Either::Left))
}

/// Parses the target of a request.
fn parse_target<E: Into<ProxyRefusal>>(
    conn: &ProxyConnection,
    uri: &Uri,
    parse: impl Fn(&str) -> Result<Remote, E>,
) -> Result<Remote, ProxyRefusal> {
    parse(&uri.to_string()).map_err(|error| {
        let refusal = error.into();
        // Without path and user info, which may be secret.
        let target = uri.authority().map_or("", |authority| authority.as_str());
        let target = target.rsplit_once('@').map_or(target, |(_, host)| host);
        connect::invalid_target(&conn.inner, target, &refusal);
        refusal
    })
}

/// Rewrites a proxy request for the host itself; `Host` becomes the judged host.
fn rewrite_for_host(request: &mut Request<Incoming>, remote: &Remote) {
    let path = request
        .uri()
        .path_and_query()
        .map_or("/", |path| path.as_str());
    let path = path.parse().unwrap_or_else(|_| Uri::from_static("/"));
    *request.uri_mut() = path;
    let host = match remote.port() {
        80 => remote.host(),
        port => format!("{}:{port}", remote.host()),
    };
    let upgrades = if request.headers().contains_key(UPGRADE) {
        Upgrades::Forwarded
    } else {
        Upgrades::Removed
    };
    let headers = request.headers_mut();
    remove_hop_by_hop_headers(headers, upgrades);
    if let Ok(host) = HeaderValue::from_str(&host) {
        headers.insert(HOST, host);
    }
}

/// Whether upgrades to another protocol, such as WebSocket, are forwarded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Upgrades {
    Forwarded,
    Removed,
}

/// Removes headers that apply only between the program and the proxy.
fn remove_hop_by_hop_headers(headers: &mut HeaderMap, upgrades: Upgrades) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let fixed = [
        CONNECTION,
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        HeaderName::from_static("keep-alive"),
        HeaderName::from_static("proxy-connection"),
    ];
    for name in named.into_iter().chain(fixed) {
        if name != UPGRADE {
            headers.remove(name);
        }
    }
    match upgrades {
        Upgrades::Forwarded => {
            headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        }
        Upgrades::Removed => {
            headers.remove(UPGRADE);
        }
    }
}
