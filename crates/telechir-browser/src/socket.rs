//! The road to a browser that is not ours: found by its address, spoken with over a WebSocket.

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

use crate::framing::LONGEST;

/// A browser far away answers within this, or is not there.
const LIMIT: Duration = Duration::from_secs(10);
/// What a browser says of itself is short.
const DESCRIPTION: usize = 64 << 10;

/// Messages to and from a browser.
pub(crate) type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// Opens the browser's socket: at this address itself, or at the one that it tells there.
/// Says why not in words that name no part of the address that may be a secret.
pub(crate) async fn open(address: &str) -> Result<Socket, String> {
    let given = parse(address)?;
    let asked = async {
        let socket = if is_socket(&given) {
            given.clone()
        } else {
            discover(&given).await?
        };
        upgrade(&socket).await
    };
    let opened = timeout(LIMIT, asked).await;
    let opened = opened.unwrap_or_else(|_| Err(format!("no answer within {} s", LIMIT.as_secs())));
    opened.map_err(|why| format!("{}: {why}", place(&given)))
}

/// Scheme, host and port: the rest may be a secret.
pub(crate) fn place(address: &Url) -> String {
    let host = address.host_str().unwrap_or_default();
    let port = address.port().map(|port| format!(":{port}"));
    format!("{}://{host}{}", address.scheme(), port.unwrap_or_default())
}

/// The address with a scheme; `http` unless it says one.
pub(crate) fn parse(address: &str) -> Result<Url, String> {
    let whole = if address.contains("://") {
        address.to_owned()
    } else {
        format!("http://{address}")
    };
    let url = Url::parse(&whole).map_err(|error| format!("it is no address: {error}"))?;
    let is_known = matches!(url.scheme(), "http" | "https" | "ws" | "wss");
    if is_known && url.has_host() {
        Ok(url)
    } else {
        Err("an address begins with http://, https://, ws:// or wss://".to_owned())
    }
}

/// Whether it is the socket's own: one without a path is where the browser tells it.
fn is_socket(address: &Url) -> bool {
    address.scheme().starts_with("ws") && !address.path().trim_end_matches('/').is_empty()
}

/// Asks for the address of the browser's socket.
async fn discover(address: &Url) -> Result<Url, String> {
    let mut asked = to_http(address);
    let path = format!("{}/json/version", asked.path().trim_end_matches('/'));
    asked.set_path(&path);
    let response = send(Request::get(asked.as_str())).await?;
    let status = response.status();
    let body = Limited::new(response.into_body(), DESCRIPTION)
        .collect()
        .await;
    let body = body.map_err(|error| error.to_string())?.to_bytes();
    let told: Value = serde_json::from_slice(&body).unwrap_or_default();
    let socket = told["webSocketDebuggerUrl"].as_str();
    let socket = socket.and_then(|socket| Url::parse(socket).ok());
    socket.filter(is_socket).ok_or_else(|| {
        format!("/json/version answered {status} and names no socket: this is no browser's address")
    })
}

/// Turns a request into a socket.
async fn upgrade(address: &Url) -> Result<Socket, String> {
    let key = generate_key();
    let request = Request::get(to_http(address).as_str())
        .header(CONNECTION, "Upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_VERSION, "13")
        .header(SEC_WEBSOCKET_KEY, &key);
    let response = send(request).await?;
    let accept = response.headers().get(SEC_WEBSOCKET_ACCEPT);
    let is_ours =
        accept.map(HeaderValue::as_bytes) == Some(derive_accept_key(key.as_bytes()).as_bytes());
    if response.status() != StatusCode::SWITCHING_PROTOCOLS || !is_ours {
        return Err(format!("its socket answered {}", response.status()));
    }
    let upgraded = hyper::upgrade::on(response).await;
    let stream = TokioIo::new(upgraded.map_err(|error| innermost(&error))?);
    let config = WebSocketConfig::default()
        .max_message_size(Some(LONGEST))
        .max_frame_size(Some(LONGEST));
    Ok(WebSocketStream::from_raw_socket(stream, Role::Client, Some(config)).await)
}

async fn send(request: hyper::http::request::Builder) -> Result<Response<Incoming>, String> {
    let request = request
        .body(Empty::<Bytes>::new())
        .map_err(|error| error.to_string())?;
    let is_secret = request.uri().scheme_str() == Some("https");
    let host = request.uri().host().unwrap_or_default();
    if !is_secret && !is_loopback(host) {
        warn!(
            host,
            "what is said to this browser goes there in clear text"
        );
    }
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let builder = Client::builder(TokioExecutor::new());
    let sent = if is_secret {
        connector.enforce_http(false);
        let roots = HttpsConnectorBuilder::new().with_native_roots();
        let roots = roots.map_err(|error| format!("no certificates to check it by: {error}"))?;
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

/// The cause at the bottom, which says what happened.
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
    fn the_place_of_an_address_holds_no_secret() {
        let url = parse("wss://user:pass@host:8443/path?token=secret").unwrap();
        assert_eq!(place(&url), "wss://host:8443");
        assert_eq!(to_http(&url).scheme(), "https");
    }
}
