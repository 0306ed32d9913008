//! The WebSocket to a running browser, found by its DevTools address.

use std::error::Error;
use std::net::IpAddr;
use std::time::Duration;

use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION};
use hyper::header::{HeaderValue, UPGRADE};
use hyper::upgrade::Upgraded;
use hyper::{Request, Response, StatusCode};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tracing::warn;
use url::Url;

use crate::endpoint::CdpEndpoint;
use crate::framing::MAX_MESSAGE_BYTES;

/// A remote browser answers within this time or counts as unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The reply of `/json/version` is short.
const MAX_VERSION_BYTES: usize = 64 << 10;
/// As much of a refusal's text explains it.
const MAX_QUOTED_CHARS: usize = 200;

/// The error for a page's own socket.
pub(crate) const PAGE_SOCKET: &str = "this is the socket of a single page; pass the browser's address, such as \
                           http://127.0.0.1:9222, and choose the page with --cdp-tab=URL";

/// A stream of CDP messages.
pub(crate) type CdpSocket = WebSocketStream<TokioIo<Upgraded>>;

/// Opens the browser's WebSocket at this endpoint, or at the one that its `/json/version` reports.
/// Errors contain no part of the endpoint that may be secret.
pub(crate) async fn open(endpoint: &CdpEndpoint) -> Result<CdpSocket, String> {
    let opened = timeout(CONNECT_TIMEOUT, find_and_upgrade(endpoint)).await;
    let opened =
        opened.unwrap_or_else(|_| Err(format!("no answer within {} s", CONNECT_TIMEOUT.as_secs())));
    opened.map_err(|reason| format!("{}: {}", endpoint.origin(), endpoint.redact(&reason)))
}

async fn find_and_upgrade(endpoint: &CdpEndpoint) -> Result<CdpSocket, String> {
    let given = &endpoint.url;
    if is_page_socket(given) {
        return Err(PAGE_SOCKET.to_owned());
    }
    if is_socket(given) {
        return upgrade(given, endpoint).await.map_err(String::from);
    }
    let mut refused = None;
    if given.scheme().starts_with("ws") {
        // The socket of a service may be at the root; Chromium answers 404 there. Another answer to a
        // key is its refusal.
        match upgrade(given, endpoint).await {
            Err(HandshakeError::Status { status, quoted })
                if status == StatusCode::NOT_FOUND
                    || (status.is_client_error() && given.query().is_none()) =>
            {
                refused = given
                    .query()
                    .map(|_| HandshakeError::Status { status, quoted });
            }
            opened => return opened.map_err(String::from),
        }
    }
    let socket = match (discover(endpoint).await, refused) {
        (Ok(socket), _) => socket,
        (Err(_), Some(refused)) => return Err(refused.into()),
        (Err(reason), None) => return Err(reason),
    };
    upgrade(&socket, endpoint).await.map_err(String::from)
}

/// Whether the URL is certainly that of the socket: then it has a path.
fn is_socket(address: &Url) -> bool {
    let has_path = !address.path().trim_end_matches('/').is_empty();
    address.scheme().starts_with("ws") && has_path
}

/// Whether the URL is that of a single page's socket in Chromium.
fn is_page_socket(address: &Url) -> bool {
    address.path().starts_with("/devtools/page/")
}

/// Requests the URL of the browser's socket.
async fn discover(endpoint: &CdpEndpoint) -> Result<Url, String> {
    let mut version_url = to_http(&endpoint.url);
    let path = format!("{}/json/version", version_url.path().trim_end_matches('/'));
    version_url.set_path(&path);
    let request = with_headers(Request::get(version_url.as_str()), endpoint);
    let response = send(request).await?;
    let status = response.status();
    let body = read_body(response, MAX_VERSION_BYTES).await?;
    let version: Value = serde_json::from_slice(&body).unwrap_or_default();
    let socket = version["webSocketDebuggerUrl"].as_str();
    let socket = socket.and_then(|socket| Url::parse(socket).ok());
    let socket = socket.filter(|socket| socket.scheme().starts_with("ws"));
    match socket {
        Some(socket) => reachable(&endpoint.url, socket),
        None if status.is_success() => Err(format!(
            "/json/version returned {status} without a socket URL; expected the DevTools address of a browser"
        )),
        None => Err(format!(
            "/json/version returned {status} without a socket URL{}; expected the DevTools address of a browser",
            quoted(endpoint, &body)
        )),
    }
}

/// The discovered socket as it is reached from here: services behind a gateway report the address
/// that they have inside, without the token of the given one.
fn reachable(given: &Url, mut socket: Url) -> Result<Url, String> {
    let (given_host, found_host) = (host(given), host(&socket));
    let is_inner = is_loopback(&found_host) || is_unspecified(&found_host);
    if found_host != given_host {
        if !is_inner {
            return Err(format!(
                "/json/version names a socket at another host, {found_host}, where it would get the \
                 headers and the query of this one; if you trust it, pass its own address"
            ));
        }
        if !is_loopback(&given_host) || is_unspecified(&found_host) {
            let replaced = socket.set_host(Some(&given_host)).is_ok()
                && socket.set_port(given.port_or_known_default()).is_ok();
            if !replaced {
                return Err("/json/version names an invalid socket URL".to_owned());
            }
        }
    }
    if matches!(given.scheme(), "https" | "wss") && socket.scheme() == "ws" {
        // TLS ends at the given port.
        let _always_possible = socket.set_scheme("wss");
        let _always_possible = socket.set_port(given.port());
    }
    if socket.query().is_none() {
        socket.set_query(given.query());
    }
    Ok(socket)
}

fn host(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_ascii_lowercase()
}

/// Why the WebSocket handshake failed.
enum HandshakeError {
    /// The server refused it.
    Status {
        status: StatusCode,
        /// The start of the response as part of a message.
        quoted: String,
    },
    Other(String),
}

impl From<HandshakeError> for String {
    fn from(error: HandshakeError) -> Self {
        match error {
            HandshakeError::Status { status, quoted } => {
                format!("the WebSocket handshake returned {status}{quoted}")
            }
            HandshakeError::Other(reason) => reason,
        }
    }
}

/// Performs the WebSocket handshake.
async fn upgrade(address: &Url, endpoint: &CdpEndpoint) -> Result<CdpSocket, HandshakeError> {
    let other = HandshakeError::Other;
    let key = generate_key();
    let request = Request::get(to_http(address).as_str())
        .header(CONNECTION, "Upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_VERSION, "13")
        .header(SEC_WEBSOCKET_KEY, &key);
    let response = send(with_headers(request, endpoint)).await.map_err(other)?;
    let accept = response.headers().get(SEC_WEBSOCKET_ACCEPT);
    let is_accepted =
        accept.map(HeaderValue::as_bytes) == Some(derive_accept_key(key.as_bytes()).as_bytes());
    let status = response.status();
    if status != StatusCode::SWITCHING_PROTOCOLS || !is_accepted {
        // A body that cannot be read adds nothing to the status.
        let body = read_body(response, MAX_VERSION_BYTES).await;
        let quoted = quoted(endpoint, &body.unwrap_or_default());
        return Err(HandshakeError::Status { status, quoted });
    }
    let upgraded = hyper::upgrade::on(response).await;
    let stream = TokioIo::new(upgraded.map_err(|error| other(innermost(&error)))?);
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE_BYTES))
        .max_frame_size(Some(MAX_MESSAGE_BYTES));
    Ok(WebSocketStream::from_raw_socket(stream, Role::Client, Some(config)).await)
}

async fn read_body(response: Response<Incoming>, max_bytes: usize) -> Result<Bytes, String> {
    let body = Limited::new(response.into_body(), max_bytes)
        .collect()
        .await;
    Ok(body.map_err(|error| error.to_string())?.to_bytes())
}

/// The start of a response as part of a message; empty without text. Secrets are removed before the
/// text is cut, because a part of one would not be recognized.
fn quoted(endpoint: &CdpEndpoint, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let text = endpoint.redact(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    let clean: String = text
        .chars()
        .filter(|c| !c.is_control())
        .take(MAX_QUOTED_CHARS)
        .collect();
    match clean.as_str() {
        "" => String::new(),
        clean => format!(" ({clean})"),
    }
}

fn with_headers(
    mut request: hyper::http::request::Builder,
    endpoint: &CdpEndpoint,
) -> hyper::http::request::Builder {
    for (name, value) in endpoint.headers() {
        request = request.header(name, value);
    }
    request
}

async fn send(request: hyper::http::request::Builder) -> Result<Response<Incoming>, String> {
    let request = request
        .body(Empty::<Bytes>::new())
        .map_err(|error| error.to_string())?;
    let is_tls = request.uri().scheme_str() == Some("https");
    let host = request.uri().host().unwrap_or_default();
    if !is_tls && !is_loopback(host) {
        warn!(host, "the connection to this browser is not encrypted");
    }
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let builder = Client::builder(TokioExecutor::new());
    let sent = if is_tls {
        connector.enforce_http(false);
        let roots = HttpsConnectorBuilder::new().with_native_roots();
        let roots = roots.map_err(|error| format!("failed to load root certificates: {error}"))?;
        let tls = roots.https_only().enable_http1().wrap_connector(connector);
        builder.build(tls).request(request).await
    } else {
        builder.build(connector).request(request).await
    };
    sent.map_err(|error| innermost(&error))
}

fn to_http(address: &Url) -> Url {
    let text = address.as_str();
    let http = text.replacen("ws", "http", usize::from(text.starts_with("ws")));
    Url::parse(&http).unwrap_or_else(|_| address.clone())
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || bare
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback())
}

/// The address of a server on all of its interfaces, as it sees itself.
fn is_unspecified(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.parse()
        .is_ok_and(|address: IpAddr| address.is_unspecified())
}

/// The root cause, which names the failure.
fn innermost(error: &dyn Error) -> String {
    let mut error = error;
    while let Some(cause) = error.source() {
        error = cause;
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn an_address_with_a_path_is_a_socket() {
        let is = |text| is_socket(&url(text));
        assert!(is("ws://h:1/devtools/browser/x"));
        assert!(
            !is("wss://h/?token=t")
                && !is("ws://h:1")
                && !is("ws://h:1/")
                && !is("http://h:1/x?token=t")
        );
        assert!(is_page_socket(&url("ws://h:1/devtools/page/x")));
    }

    #[test]
    fn a_discovered_socket_is_reached_like_the_given_address() {
        for (given, found, expected) in [
            ("http://h:1/?token=t", "ws://h:1", "ws://h:1/?token=t"),
            ("http://h:1/?token=t", "ws://h:1/x?id=1", "ws://h:1/x?id=1"),
            ("https://h/?k=1", "ws://h/x", "wss://h/x?k=1"),
            ("https://h", "ws://0.0.0.0:3000/x", "wss://h/x"),
            ("http://h:8", "ws://127.0.0.1:9222/x", "ws://h:8/x"),
            (
                "http://localhost:8",
                "ws://127.0.0.1:9/x",
                "ws://127.0.0.1:9/x",
            ),
            (
                "http://127.0.0.1:8",
                "ws://0.0.0.0:3000/x",
                "ws://127.0.0.1:8/x",
            ),
            ("http://h:1", "wss://h/x", "wss://h/x"),
        ] {
            let socket = reachable(&url(given), url(found));
            assert_eq!(socket.unwrap(), url(expected), "{given} {found}");
        }
        let other = reachable(&url("https://h/?token=t"), url("wss://evil.example/x"));
        let error = other.unwrap_err();
        assert!(error.contains("evil.example"), "{error}");
    }
}
