//! The CDP gateway: a program drives a session's browser over a WebSocket of this server.
//!
//! The session host decides about every message; here it only gets to the right session. Programs that
//! can send headers use their token. For others there are addresses with a secret of their own, which
//! stands for the token with which it was made, and for one session.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::{SinkExt as _, StreamExt as _};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use telechir_host::{DevtoolsId, HostClient, HostError};
use tokio::time::{interval, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::problem::{Problem, ProblemKind};
use super::request::{ApiRequest, Reach, failure, reply};
use super::session_addresses::{self, ADDRESS_TIME, AddressUse, caller, host};
use super::state::{HttpState, TOKEN_CHECK_INTERVAL};
use super::view::stream::accept_key;

/// Longest message of a program.
const MAX_MESSAGE_BYTES: usize = 16 << 20;
/// A program that has not read a message after this time is disconnected.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

type PendingMessages<'a> =
    Pin<Box<dyn Future<Output = Result<Vec<String>, HostError>> + Send + 'a>>;

/// An address for one program.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CdpAddressDocument {
    /// Where CDP is spoken. It is a secret: whoever has it drives the browser.
    url: String,
    /// For programs that send the header `Authorization`: the same without a secret.
    url_with_header: String,
    /// Seconds until no program can connect to `url` any more.
    expires_in_seconds: u64,
}

/// `POST /v1/sessions/{id}/cdp`
pub(super) async fn create(request: ApiRequest) -> Result<Response, Problem> {
    check(&request.state)?;
    // Only to sessions that the caller may act in.
    request.session(Reach::Act).await?;
    let id = request.path("id");
    let addresses = &request.state.addresses;
    let secret = addresses.create(request.caller.token.clone(), id, AddressUse::Cdp)?;
    let (scheme, host) = (scheme(&request.state), host(&request.headers));
    let document = CdpAddressDocument {
        url: format!("{scheme}://{host}/cdp/{secret}"),
        url_with_header: format!("{scheme}://{host}/v1/sessions/{id}/cdp"),
        expires_in_seconds: ADDRESS_TIME.as_secs(),
    };
    Ok(reply(StatusCode::CREATED, &document))
}

/// `GET /v1/sessions/{id}/cdp` and `GET /cdp/{secret}`: upgrades the connection of a program.
pub(super) async fn open(state: Arc<HttpState>, mut request: Request) -> Result<Response, Problem> {
    let upgrade = hyper::upgrade::on(&mut request);
    let mut program = CdpProgram::of(state, request).await?;
    let accept = accept_key(&program.request.headers)?;
    let client = program.request.session(Reach::Act).await?;
    // Before the upgrade, so that the program reads why it may not.
    let id = client.open_devtools().await.map_err(failure)?;
    let slot = program
        .request
        .state
        .stream_slot(&program.request.caller, &program.request.connection)?;
    program.request.slot = Arc::new(slot);
    tokio::spawn(async move {
        let upgraded = match upgrade.await {
            Ok(upgraded) => upgraded,
            Err(error) => return tracing::debug!(%error, "a program's connection was not upgraded"),
        };
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE_BYTES))
            .max_frame_size(Some(MAX_MESSAGE_BYTES));
        let io = TokioIo::new(upgraded);
        let socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
        program.serve(socket, &client, id).await;
    });
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    Ok(response)
}

/// `GET …/json/version`: where clients look for the address of the WebSocket.
pub(super) async fn version(state: Arc<HttpState>, request: Request) -> Result<Response, Problem> {
    let path = request.uri().path().to_owned();
    let program = CdpProgram::of(state, request).await?;
    program.request.session(Reach::Act).await?;
    let state = &program.request.state;
    let scheme = scheme(state);
    let base = path.trim_end_matches('/');
    let base = base.strip_suffix("/json/version").unwrap_or(base);
    let host = host(&program.request.headers);
    let document = json!({
        "Browser": format!("telechir/{}", state.settings.version),
        "Protocol-Version": "1.3",
        "webSocketDebuggerUrl": format!("{scheme}://{host}{base}"),
    });
    Ok(Json(document).into_response())
}

fn check(state: &HttpState) -> Result<(), Problem> {
    let detail = "this server has no CDP gateway; start it with --cdp-gateway";
    match state.settings.cdp_gateway {
        true => Ok(()),
        false => Err(Problem::new(ProblemKind::NotFound, detail)),
    }
}

fn scheme(state: &HttpState) -> &'static str {
    match state.settings.is_https {
        true => "wss",
        false => "ws",
    }
}

/// A program, and how its token is checked again.
struct CdpProgram {
    request: ApiRequest,
    /// Absent if the token is in its headers.
    secret: Option<String>,
}

impl CdpProgram {
    async fn of(state: Arc<HttpState>, request: Request) -> Result<Self, Problem> {
        let (parts, _) = request.into_parts();
        let (request, secret) =
            session_addresses::request(Arc::clone(&state), parts, AddressUse::Cdp, 0).await?;
        check(&state)?;
        Ok(Self { request, secret })
    }

    /// Whether its token still counts.
    fn is_authorized(&self) -> bool {
        let request = &self.request;
        let secret = self.secret.as_deref();
        caller(&request.state, &request.headers, secret, AddressUse::Cdp).is_ok()
    }

    /// Carries messages until the program or the browser is gone, or its token ends.
    async fn serve(
        self,
        socket: WebSocketStream<TokioIo<Upgraded>>,
        client: &HostClient,
        id: DevtoolsId,
    ) {
        let (mut sink, mut source) = socket.split();
        let mut check = interval(TOKEN_CHECK_INTERVAL);
        let mut stopping = self.request.state.stopping.subscribe();
        let mut stopped = Box::pin(async move {
            // An error means that the server is gone.
            let _or_gone = stopping.wait_for(|stopping| *stopping).await.is_ok();
        });
        let mut pending: PendingMessages<'_> = Box::pin(client.receive_devtools(id));
        loop {
            let messages = tokio::select! {
                message = source.next() => {
                    let text = match message {
                        Some(Ok(Message::Text(text))) => text.as_str().to_owned(),
                        Some(Ok(Message::Binary(bytes))) => match String::from_utf8(bytes.into()) {
                            Ok(text) => text,
                            Err(_) => break,
                        },
                        Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                        _ => break,
                    };
                    // The token may have been revoked since the last message.
                    if !self.is_authorized() || client.send_devtools(id, text).await.is_err() {
                        break;
                    }
                    continue;
                }
                messages = &mut pending => messages,
                _now = check.tick() => match self.is_authorized() {
                    true => continue,
                    false => break,
                },
                () = &mut stopped => break,
            };
            let Ok(messages) = messages else { break };
            if messages.is_empty() || !self.is_authorized() {
                break;
            }
            let send = async {
                for message in messages {
                    sink.feed(Message::text(message)).await?;
                }
                sink.flush().await
            };
            if !matches!(timeout(SEND_TIMEOUT, send).await, Ok(Ok(()))) {
                break;
            }
            pending = Box::pin(client.receive_devtools(id));
        }
        let _it_may_be_gone = timeout(SEND_TIMEOUT, sink.close()).await;
    }
}
