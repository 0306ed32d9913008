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

use crate::framing::MAX_MESSAGE_BYTES;

/// A remote browser answers within this time or counts as unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The reply of `/json/version` is short.
const MAX_VERSION_BYTES: usize = 64 << 10;

/// A stream of CDP messages.
pub(crate) type CdpSocket = WebSocketStream<TokioIo<Upgraded>>;

/// Opens the browser's WebSocket at this URL, or at the one that `/json/version` reports. Errors
/// contain no part of the URL that may be secret.
pub(crate) async fn open(address: &str) -> Result<CdpSocket, String> {
    let given = parse(address)?;
    let connecting = async {
        let socket = if is_socket(&given) {
            given.clone()
        } else {
            discover(&given).await?
        };
        upgrade(&socket).await
    };
    let opened = timeout(CONNECT_TIMEOUT, connecting).await;
    let opened =
        opened.unwrap_or_else(|_| Err(format!("no answer within {} s", CONNECT_TIMEOUT.as_secs())));
    opened.map_err(|reason| format!("{}: {reason}", origin(&given)))
}

/// Scheme, host and port; the rest of the URL may be secret.
pub(crate) fn origin(address: &Url) -> String {
    let host = address.host_str().unwrap_or_default();
    let port = address.port().map(|port| format!(":{port}"));
    format!("{}://{host}{}", address.scheme(), port.unwrap_or_default())
}

/// The URL, with `http` as the default scheme.
pub(crate) fn parse(address: &str) -> Result<Url, String> {
    let with_scheme = if address.contains("://") {
        address.to_owned()
    } else {
        format!("http://{address}")
    };
    let url = Url::parse(&with_scheme).map_err(|error| format!("invalid URL: {error}"))?;
    let is_known = matches!(url.scheme(), "http" | "https" | "ws" | "wss");
    if is_known && url.has_host() {
        Ok(url)
    } else {
        Err("expected a URL with http://, https://, ws:// or wss://".to_owned())
    }
}

/// Whether the URL is that of the socket; one without a path is for discovery.
fn is_socket(address: &Url) -> bool {
    address.scheme().starts_with("ws") && !address.path().trim_end_matches('/').is_empty()
}

/// Requests the URL of the browser's socket.
async fn discover(address: &Url) -> Result<Url, String> {
    let mut version_url = to_http(address);
    let path = format!("{}/json/version", version_url.path().trim_end_matches('/'));
    version_url.set_path(&path);
    let response = send(Request::get(version_url.as_str())).await?;
    let status = response.status();
    let body = Limited::new(response.into_body(), MAX_VERSION_BYTES)
        .collect()
        .await;
    let body = body.map_err(|error| error.to_string())?.to_bytes();
    let version: Value = serde_json::from_slice(&body).unwrap_or_default();
    let socket = version["webSocketDebuggerUrl"].as_str();
    let socket = socket.and_then(|socket| Url::parse(socket).ok());
    socket.filter(is_socket).ok_or_else(|| {
        format!("/json/version returned {status} without a socket URL; expected the DevTools address of a browser")
    })
}

/// Performs the WebSocket handshake.
async fn upgrade(address: &Url) -> Result<CdpSocket, String> {
    let key = generate_key();
    let request = Request::get(to_http(address).as_str())
        .header(CONNECTION, "Upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_VERSION, "13")
        .header(SEC_WEBSOCKET_KEY, &key);
    let response = send(request).await?;
    let accept = response.headers().get(SEC_WEBSOCKET_ACCEPT);
    let is_accepted =
        accept.map(HeaderValue::as_bytes) == Some(derive_accept_key(key.as_bytes()).as_bytes());
    if response.status() != StatusCode::SWITCHING_PROTOCOLS || !is_accepted {
        return Err(format!(
            "the WebSocket handshake returned {}",
            response.status()
        ));
    }
    let upgraded = hyper::upgrade::on(response).await;
    let stream = TokioIo::new(upgraded.map_err(|error| innermost(&error))?);
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE_BYTES))
        .max_frame_size(Some(MAX_MESSAGE_BYTES));
    Ok(WebSocketStream::from_raw_socket(stream, Role::Client, Some(config)).await)
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

    #[test]
    fn an_address_is_one_of_four_schemes() {
        let parsed = |text| parse(text).map(String::from).ok();
        assert_eq!(
            parsed("127.0.0.1:9222").as_deref(),
            Some("http://127.0.0.1:9222/")
        );
        assert!(parsed("wss://host/devtools/browser/x?token=y").is_some());
        for wrong in ["", "file:///etc/passwd", "http://", "a b"] {
            assert_eq!(parsed(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn only_an_address_with_a_path_is_a_socket() {
        let is = |text| is_socket(&parse(text).unwrap());
        assert!(is("ws://h:1/devtools/browser/x"));
        assert!(!is("ws://h:1") && !is("ws://h:1/") && !is("http://h:1/x"));
    }

    #[test]
    fn the_origin_of_an_address_has_no_secret() {
        let url = parse("wss://user:pass@host:8443/path?token=secret").unwrap();
        assert_eq!(origin(&url), "wss://host:8443");
        assert_eq!(to_http(&url).scheme(), "https");
    }
}
