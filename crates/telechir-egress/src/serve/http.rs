//! One request of a program: a tunnel, or an address that is fetched for it.

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

use super::{Door, tunnel};
use crate::connect;
use crate::metered::Metered;
use crate::refusal::Refusal;

type Body = Either<Incoming, Full<Bytes>>;

/// Answers a request; what cannot be done is an answer too.
pub(super) async fn answer(door: Door, request: Request<Incoming>) -> Response<Body> {
    let answered = match door.refusal() {
        Some(refusal) => Err(refusal),
        None if request.method() == Method::CONNECT => open_tunnel(&door, request).await,
        None => fetch(&door, request).await,
    };
    answered.unwrap_or_else(|refusal| say(&refusal))
}

/// A refusal as a page that a person can read.
fn say(refusal: &Refusal) -> Response<Body> {
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
    door: &Door,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, Refusal> {
    let remote = read(door, request.uri(), Remote::tunnel)?;
    let network = connect::connect(&door.inner, &remote).await?;
    let upgrade = hyper::upgrade::on(&mut request);
    door.tasks
        .spawn(carry(door.clone(), upgrade, remote, network));
    Ok(Response::new(Either::Right(Full::default())))
}

/// Holds the tunnel's place among all connections until its end.
async fn carry(door: Door, upgrade: OnUpgrade, remote: Remote, network: Metered) {
    match upgrade.await {
        Ok(program) => tunnel::run(&door.inner, &remote, TokioIo::new(program), network).await,
        Err(error) => tracing::debug!(%error, "a tunnel was not taken up"),
    }
}

async fn fetch(door: &Door, mut request: Request<Incoming>) -> Result<Response<Body>, Refusal> {
    if request.uri().authority().is_none() {
        return Err(Refusal::Request(
            "it names no host in its first line, as requests to a proxy do",
        ));
    }
    let remote = read(door, request.uri(), Remote::fetched)?;
    let host = remote.host();
    let no_answer = |error: hyper::Error| Refusal::NoAnswer {
        host: host.clone(),
        why: error.to_string(),
    };
    let network = connect::connect(&door.inner, &remote).await?;
    let handshake = client::conn::http1::Builder::new()
        .preserve_header_case(true)
        .handshake(TokioIo::new(network))
        .await;
    let (mut sender, connection) = handshake.map_err(no_answer)?;
    door.tasks.spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "a host ended its connection");
        }
    });
    let program = hyper::upgrade::on(&mut request);
    address(&mut request, &remote);
    let mut response = sender.send_request(request).await.map_err(no_answer)?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        let network = hyper::upgrade::on(&mut response);
        door.tasks
            .spawn(tunnel::join(door.clone(), program, network));
    } else {
        end_to_end(response.headers_mut(), Upgrades::Removed);
    }
    Ok(response.map(Either::Left))
}

/// The place that a request names.
fn read<E: Into<Refusal>>(
    door: &Door,
    uri: &Uri,
    read: impl Fn(&str) -> Result<Remote, E>,
) -> Result<Remote, Refusal> {
    read(&uri.to_string()).map_err(|error| {
        let refusal = error.into();
        // Without what may be a secret in a path.
        let place = uri.authority().map_or("", |authority| authority.as_str());
        let place = place.rsplit_once('@').map_or(place, |(_, host)| host);
        connect::unreadable(&door.inner, place, &refusal);
        refusal
    })
}

/// Makes a proxy's request one for the host itself, which is the host that was judged.
fn address(request: &mut Request<Incoming>, remote: &Remote) {
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
        Upgrades::Kept
    } else {
        Upgrades::Removed
    };
    let headers = request.headers_mut();
    end_to_end(headers, upgrades);
    if let Ok(host) = HeaderValue::from_str(&host) {
        headers.insert(HOST, host);
    }
}

/// Whether a request for another protocol, as a WebSocket's, is passed on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Upgrades {
    Kept,
    Removed,
}

/// Removes what is between a program and its proxy only.
fn end_to_end(headers: &mut HeaderMap, upgrades: Upgrades) {
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
        Upgrades::Kept => {
            headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        }
        Upgrades::Removed => {
            headers.remove(UPGRADE);
        }
    }
}
