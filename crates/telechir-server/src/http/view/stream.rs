//! The live page's WebSocket: a screen of a session as it changes.
//!
//! The page grants updates, one at a time in practice. Each grant is one request to the session host,
//! which waits for a change and sends what differs from the last update; so a page that grants nothing
//! or does not read makes nobody capture, encode or store anything.
//!
//! Browsers send no header of ours with an upgrade. The key of the page session is one of the offered
//! subprotocols instead, and the cookie and the origin come as with every request.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts as _, RawPathParams, Request};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::json;
use telechir_host::tokens::Role as TokenRole;
use telechir_host::{ControlId, DeviceKind, HostClient, HostError, PersonInput, ScreenUpdate};
use telechir_protocol::Size;
use tokio::time::{interval, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message};

use crate::http::client_address::ConnectionInfo;
use crate::http::problem::{Problem, ProblemKind};
use crate::http::request::{ApiRequest, Reach};
use crate::http::state::{HttpState, Slot, TOKEN_CHECK_INTERVAL};
use crate::http::tickets::KEY_HEADER;

/// The subprotocol of the messages below.
const PROTOCOL: &str = "telechir.screen";
/// The page session's key follows, as another subprotocol.
const KEY_PREFIX: &str = "telechir.key.";
/// Updates that a page may have granted and not received.
const MAX_CREDIT: u32 = 4;
/// Longest message of a page.
const MAX_MESSAGE_BYTES: usize = 256 << 10;
/// A page that has not read an update after this time is disconnected.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

type Socket = WebSocketStream<TokioIo<Upgraded>>;
/// A request to take control, which waits for the running call.
type PendingControl<'a> = Pin<Box<dyn Future<Output = Result<ControlId, HostError>> + Send + 'a>>;
type PendingUpdate<'a> = Pin<Box<dyn Future<Output = Result<ScreenUpdate, HostError>> + Send + 'a>>;

/// What a page sends.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum PageMessage {
    /// So many more updates may be sent.
    Grant(u32),
    /// An operator takes control of the session, once no call runs.
    Take,
    /// Whoever has control acts.
    Input {
        control: ControlId,
        input: PersonInput,
    },
    /// An operator ends control, whoever has it.
    Give,
}

/// The first byte of a binary message: what it contains.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
enum FrameKind {
    /// A rectangle as a PNG.
    Png = 1,
    /// A rectangle as a JPEG.
    Jpeg = 2,
    /// The size of the screen, which precedes everything else.
    Size = 5,
    /// The end of an update.
    End = 6,
}

/// `GET /view/sessions/{id}/screen`: upgrades the connection of a page.
pub(in crate::http) async fn open(
    state: Arc<HttpState>,
    mut request: Request,
) -> Result<Response, Problem> {
    let upgrade = hyper::upgrade::on(&mut request);
    let (mut parts, _) = request.into_parts();
    let accept = accept_key(&parts.headers)?;
    let headers = page_headers(parts.headers.clone())?;
    let device = device(parts.uri.query().unwrap_or_default())?;
    let caller = state.authenticate(&headers)?;
    let path = RawPathParams::from_request_parts(&mut parts, &()).await;
    let path = path.map_err(|e| Problem::new(ProblemKind::BadRequest, e.to_string()))?;
    let path = path.iter();
    let connection = parts.extensions.get::<ConnectionInfo>();
    let connection = connection.map(|info| info.usage.clone());
    let connection = connection.unwrap_or_default();
    let request = ApiRequest {
        slot: Arc::new(state.stream_slot(&caller, &connection)?),
        state,
        caller,
        connection,
        headers,
        path: path
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        query: Vec::new(),
        body: Vec::new(),
    };
    let client = request.session(Reach::Read).await?;
    tokio::spawn(async move {
        let upgraded = match upgrade.await {
            Ok(upgraded) => upgraded,
            Err(error) => return tracing::debug!(%error, "a page's connection was not upgraded"),
        };
        let config = WebSocketConfig::default()
            .read_buffer_size(4 << 10)
            .max_message_size(Some(MAX_MESSAGE_BYTES))
            .max_frame_size(Some(MAX_MESSAGE_BYTES));
        let io = TokioIo::new(upgraded);
        let socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
        let (sink, source) = socket.split();
        let stream = ScreenStream {
            sink,
            client: &client,
            device,
            state: request.state,
            headers: request.headers,
            version: None,
            size: None,
            _slot: request.slot,
        };
        stream.serve(source).await;
    });
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    let protocol = HeaderValue::from_static(PROTOCOL);
    headers.insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
    Ok(response)
}

/// The answer to the key of the handshake, if the request is one (RFC 6455, section 4.2.1).
pub(in crate::http) fn accept_key(headers: &HeaderMap) -> Result<HeaderValue, Problem> {
    let has = |name: header::HeaderName, expected: &str| {
        let values = headers.get_all(name).iter();
        let mut values = values.filter_map(|value| value.to_str().ok());
        values.any(|list| {
            let mut tokens = list.split(',');
            tokens.any(|token| token.trim().eq_ignore_ascii_case(expected))
        })
    };
    let is_upgrade = has(header::CONNECTION, "upgrade")
        && has(header::UPGRADE, "websocket")
        && has(header::SEC_WEBSOCKET_VERSION, "13");
    let key = headers.get(header::SEC_WEBSOCKET_KEY);
    let accept = key
        .filter(|_| is_upgrade)
        .map(|key| derive_accept_key(key.as_bytes()));
    accept
        .and_then(|accept| HeaderValue::from_str(&accept).ok())
        .ok_or_else(|| {
            let detail = "expected the opening handshake of a WebSocket, version 13";
            Problem::new(ProblemKind::BadRequest, detail)
        })
}

/// The headers with the page session's key where other requests have it. Only browsers name an origin,
/// which `front` has compared with the server's own.
fn page_headers(mut headers: HeaderMap) -> Result<HeaderMap, Problem> {
    if !headers.contains_key(header::ORIGIN) {
        let detail = "expected the Origin of this server's live page, found none";
        return Err(Problem::new(ProblemKind::ForbiddenOrigin, detail));
    }
    let refused = || {
        let detail = format!("expected the subprotocols `{PROTOCOL}` and `{KEY_PREFIX}KEY`");
        Problem::new(ProblemKind::Unauthorized, detail)
    };
    let mut offers = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    let (Some(offered), None) = (offers.next(), offers.next()) else {
        return Err(refused());
    };
    let offered: Vec<&str> = offered
        .to_str()
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .collect();
    let mut keys = offered
        .iter()
        .filter_map(|name| name.strip_prefix(KEY_PREFIX));
    let (Some(key), None, true) = (keys.next(), keys.next(), offered.contains(&PROTOCOL)) else {
        return Err(refused());
    };
    let key = HeaderValue::from_str(key).map_err(|_| refused())?;
    headers.insert(KEY_HEADER, key);
    Ok(headers)
}

fn device(query: &str) -> Result<Option<DeviceKind>, Problem> {
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    match (pairs.next(), pairs.next()) {
        (None, _) => Ok(None),
        (Some((name, value)), None) if name == "device" && value == "desktop" => {
            Ok(Some(DeviceKind::Desktop))
        }
        (Some((name, value)), None) if name == "device" && value == "browser" => {
            Ok(Some(DeviceKind::Browser))
        }
        _ => {
            let detail = "`device`: expected desktop or browser, and no other parameter";
            Err(Problem::new(ProblemKind::BadRequest, detail))
        }
    }
}

/// One page that looks at one screen.
struct ScreenStream<'a> {
    sink: SplitSink<Socket, Message>,
    client: &'a HostClient,
    device: Option<DeviceKind>,
    state: Arc<HttpState>,
    /// Cookie and key, which are checked before each update.
    headers: HeaderMap,
    /// What the page has.
    version: Option<u64>,
    size: Option<Size>,
    _slot: Arc<Slot>,
}

impl<'a> ScreenStream<'a> {
    /// Sends updates until the page leaves, does not read, or its page session or the session ends.
    async fn serve(mut self, mut source: SplitStream<Socket>) {
        let mut credit = 0_u32;
        let mut pending: Option<PendingUpdate<'_>> = None;
        let mut taking: Option<PendingControl<'_>> = None;
        let mut check = interval(TOKEN_CHECK_INTERVAL);
        loop {
            if credit > 0 && pending.is_none() {
                if self.state.authenticate(&self.headers).is_err() {
                    break;
                }
                credit -= 1;
                let update = self.client.watch_screen(self.device, self.version);
                pending = Some(Box::pin(update));
            }
            let update = tokio::select! {
                message = source.next() => match message {
                    Some(Ok(Message::Text(text))) => match serde_json::from_str(&text) {
                        Ok(PageMessage::Grant(count)) => {
                            credit = credit.saturating_add(count).min(MAX_CREDIT);
                            continue;
                        }
                        Ok(message) => match self.act(message, &mut taking).await {
                            Ok(()) => continue,
                            Err(_) => break,
                        },
                        Err(_) => break,
                    },
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                    _ => break,
                },
                control = awaited(&mut taking) => {
                    taking = None;
                    match self.report_control(control.map(Some)).await {
                        Ok(()) => continue,
                        Err(_) => break,
                    }
                }
                // A page that grants nothing must not stay connected without its token.
                _now = check.tick() => match self.state.authenticate(&self.headers) {
                    Ok(_) => continue,
                    Err(_) => break,
                },
                update = awaited(&mut pending) => update,
            };
            pending = None;
            let is_lost = !self.client.is_open();
            // The token may have been revoked while nothing changed.
            if self.state.authenticate(&self.headers).is_err() {
                break;
            }
            if sent_in_time(self.send(update)).await.is_err() || is_lost {
                break;
            }
        }
        let _it_may_be_gone = timeout(SEND_TIMEOUT, self.sink.close()).await;
    }

    /// Does what a page requests for a person. The session host checks the token once more.
    async fn act(
        &mut self,
        message: PageMessage,
        taking: &mut Option<PendingControl<'a>>,
    ) -> Result<(), PageGone> {
        let token = match self.state.authenticate(&self.headers) {
            Ok(caller) if caller.role == TokenRole::Operator => caller.token,
            _ => return self.report("taking control needs the role operator").await,
        };
        let client = self.client;
        match message {
            PageMessage::Grant(_) => Ok(()),
            PageMessage::Take => {
                taking.get_or_insert_with(|| Box::pin(client.take_control(token)));
                Ok(())
            }
            PageMessage::Input { control, input } => {
                match client.control_input(control, self.device, input).await {
                    Ok(()) => Ok(()),
                    // It was given back, or has ended.
                    Err(_) => self.report_control(Ok(None)).await,
                }
            }
            PageMessage::Give => {
                let given = client.give_control_back(token).await;
                self.report_control(given.map(|()| None)).await
            }
        }
    }

    /// Sends who has control now: this page with an id, or nobody.
    async fn report_control(
        &mut self,
        control: Result<Option<ControlId>, HostError>,
    ) -> Result<(), PageGone> {
        match control {
            Ok(id) => {
                let control = json!({ "control": { "id": id } });
                let control = Message::text(control.to_string());
                sent_in_time(self.sink.send(control)).await
            }
            Err(error) => self.report(&error.to_string()).await,
        }
    }

    async fn report(&mut self, problem: &str) -> Result<(), PageGone> {
        let problem = json!({ "control_problem": problem });
        sent_in_time(self.sink.send(Message::text(problem.to_string()))).await
    }

    async fn send(
        &mut self,
        update: Result<ScreenUpdate, HostError>,
    ) -> Result<(), tungstenite::Error> {
        let update = match update {
            Ok(update) => update,
            Err(error) => {
                self.version = None;
                let problem = json!({ "problem": error.to_string() });
                return self.sink.send(Message::text(problem.to_string())).await;
            }
        };
        let (version, size) = (update.version, update.size);
        if self.size != Some(size) {
            let frame = frame(FrameKind::Size, version, (0, 0), size, &[]);
            self.sink.feed(frame).await?;
            self.size = Some(size);
        }
        for area in &update.areas {
            let kind = match area.image.media_type.as_str() {
                "image/jpeg" => FrameKind::Jpeg,
                _ => FrameKind::Png,
            };
            let frame = frame(
                kind,
                version,
                (area.x, area.y),
                area.size,
                &area.image.bytes,
            );
            self.sink.feed(frame).await?;
        }
        let end = frame(FrameKind::End, version, (0, 0), size, &[]);
        self.sink.send(end).await?;
        self.version = Some(version);
        Ok(())
    }
}

/// A page that has left, or does not read.
#[derive(Debug)]
struct PageGone;

async fn sent_in_time(
    sending: impl Future<Output = Result<(), tungstenite::Error>>,
) -> Result<(), PageGone> {
    match timeout(SEND_TIMEOUT, sending).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(PageGone),
    }
}

/// What is awaited; never, if nothing is.
async fn awaited<F: Future + Unpin>(pending: &mut Option<F>) -> F::Output {
    match pending {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

/// A binary message, little-endian: kind, three unused bytes, version (4 bytes), x, y, width, height (2
/// bytes each), then the image.
fn frame(kind: FrameKind, version: u64, (x, y): (u32, u32), size: Size, image: &[u8]) -> Message {
    let mut bytes = Vec::with_capacity(16 + image.len());
    bytes.extend_from_slice(&[kind as u8, 0, 0, 0]);
    let [low @ .., _, _, _, _] = version.to_le_bytes();
    bytes.extend_from_slice(&low);
    for pixels in [x, y, size.width, size.height] {
        // No X server and no page has more.
        let pixels = u16::try_from(pixels).unwrap_or(u16::MAX);
        bytes.extend_from_slice(&pixels.to_le_bytes());
    }
    bytes.extend_from_slice(image);
    Message::Binary(Bytes::from(bytes))
}
