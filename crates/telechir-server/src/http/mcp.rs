//! The Model Context Protocol over streamable HTTP: each principal has one session for it, which starts
//! with the first call.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::Json;
use axum::body::{Body, Bytes};
use axum::http::{Method, Request, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Collected, Full};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use telechir_host::approvals::{CallerReply, OpenApproval};
use telechir_host::{HostClient, QuestionPrompt, ScreenshotsFor, SessionPaths, TurnRequest};
use telechir_policy::Interface;
use telechir_protocol::{Content, ModelTurn, ToolResult};
use telechir_tools::OpenOptions;

use super::owning_body::keep_until_read;
use super::problem::{Problem, ProblemKind};
use super::request::ApiRequest;
use super::sessions::{find_or_start, session_name};
use super::state::{HttpState, SessionOptions};
use crate::mcp::McpServer;
use crate::mcp::messages::{ReadMessage, read_message};
use crate::sent_calls::{IdentifiedCall, SentCalls};
use crate::session_access::{Approvals, SessionAccess, session_members};

/// How long a call waits while others use the same session; clients end a call after 60 seconds.
const QUEUE_TIME: Duration = Duration::from_secs(45);
/// Names the session of a principal; no client can send this as its key.
const SESSION_KEY: &str = "mcp session";

/// `POST /mcp`
pub(super) async fn post(request: ApiRequest) -> Result<Response, Problem> {
    answer(request, Method::POST).await
}

/// `GET /mcp`
pub(super) async fn get(request: ApiRequest) -> Result<Response, Problem> {
    answer(request, Method::GET).await
}

/// `DELETE /mcp`
pub(super) async fn delete(request: ApiRequest) -> Result<Response, Problem> {
    answer(request, Method::DELETE).await
}

async fn answer(request: ApiRequest, method: Method) -> Result<Response, Problem> {
    let ApiRequest {
        state,
        caller,
        connection,
        mut headers,
        body,
        slot,
        ..
    } = request;
    let Some(catalog) = state.settings.catalog.clone() else {
        let detail = "this server has no tools: start it with --desktop, --browser or --shell";
        return Err(Problem::new(ProblemKind::NotFound, detail));
    };
    // An answer may be a stream, which lives as long as its client reads it.
    let slot = match method {
        Method::GET => Arc::new(state.stream_slot(&caller, &connection)?),
        _ => slot,
    };
    // The SDK would read the body without limits on its values, and answers what is no message by a text.
    if method == Method::POST
        && let ReadMessage::Error(error) = read_message(&body)
    {
        return Ok((StatusCode::BAD_REQUEST, Json(error)).into_response());
    }
    let version = state.settings.version.clone();
    let session = McpSession::new(&state, caller.principal.clone())?;
    let mcp_endpoint = state.settings.mcp_endpoint;
    let make = || mcp_endpoint(McpServer::new(catalog, Arc::new(session), &version));
    let endpoint = state.mcp.of(&caller.principal, make);
    if begins_session(&body) && endpoint.is_full().await {
        let detail = "too many protocol sessions are open; end one with DELETE, or use a version of \
                      the protocol without them";
        return Err(Problem::new(ProblemKind::TooMany, detail).retry_after(60));
    }
    // The protocol's own messages need no token.
    headers.remove(header::AUTHORIZATION);
    let body = Bytes::from(body);
    let mut inner = Request::new(Full::new(body));
    *inner.method_mut() = method;
    *inner.headers_mut() = headers;
    let response = endpoint.answer(inner).await;
    let response = match error_kind(&response) {
        None => response,
        Some(kind) => return Ok(problem_of(kind, response).await),
    };
    Ok(keep_until_read(response.map(Body::new), slot))
}

/// An error of HTTP as a problem, with its text and its headers, such as `Allow`.
async fn problem_of(
    kind: ProblemKind,
    response: axum::http::Response<BoxBody<Bytes, Infallible>>,
) -> Response {
    let (head, body) = response.into_parts();
    let text = body.collect().await.map(Collected::to_bytes);
    let text = text.unwrap_or_default();
    let detail = match String::from_utf8_lossy(&text).trim() {
        "" => kind.title().to_owned(),
        text => text.to_owned(),
    };
    let mut problem = Problem::new(kind, detail).into_response();
    for (name, value) in &head.headers {
        let entry = problem.headers_mut().entry(name);
        entry.or_insert_with(|| value.clone());
    }
    problem.headers_mut().remove(header::CONTENT_LENGTH);
    problem
}

/// The kind of an error of HTTP. An error with a message of the protocol, which is JSON, is none.
fn error_kind<B>(response: &axum::http::Response<B>) -> Option<ProblemKind> {
    let content_type = response.headers().get(header::CONTENT_TYPE);
    let is_json =
        content_type.is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
    if is_json {
        return None;
    }
    match response.status() {
        StatusCode::BAD_REQUEST => Some(ProblemKind::BadRequest),
        StatusCode::UNAUTHORIZED => Some(ProblemKind::Unauthorized),
        StatusCode::FORBIDDEN => Some(ProblemKind::Forbidden),
        StatusCode::NOT_FOUND => Some(ProblemKind::NotFound),
        StatusCode::METHOD_NOT_ALLOWED => Some(ProblemKind::MethodNotAllowed),
        StatusCode::NOT_ACCEPTABLE => Some(ProblemKind::NotAcceptable),
        StatusCode::PAYLOAD_TOO_LARGE => Some(ProblemKind::TooLarge),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Some(ProblemKind::UnsupportedMedia),
        StatusCode::UNPROCESSABLE_ENTITY => Some(ProblemKind::Unreadable),
        status if status.is_server_error() => Some(ProblemKind::Internal),
        status if status.is_client_error() => Some(ProblemKind::BadRequest),
        _ => None,
    }
}

/// Whether a message is the handshake of a protocol session.
fn begins_session(message: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Message {
        method: String,
    }
    serde_json::from_slice(message).is_ok_and(|message: Message| message.method == "initialize")
}

/// The session of a principal's MCP clients.
struct McpSession {
    state: Arc<HttpState>,
    paths: SessionPaths,
    http: Value,
    sent: SentCalls,
}

impl McpSession {
    fn new(state: &Arc<HttpState>, principal: String) -> Result<Self, Problem> {
        let name = session_name(&principal, Some(SESSION_KEY))?;
        let paths = SessionPaths::new(&state.settings.sockets, name);
        let paths = paths.map_err(super::request::failure)?;
        Ok(Self {
            state: Arc::clone(state),
            paths,
            http: json!({"principal": principal, "name": SESSION_KEY}),
            sent: SentCalls::default(),
        })
    }

    /// A connection to the session, which is started if there is none.
    async fn client(&self) -> Result<HostClient, String> {
        let options = SessionOptions {
            devices: self.state.launcher.devices(),
            display: None,
            profile: None,
            idle_seconds: None,
            policy: None,
            record: None,
            remote: None,
            http: self.http.clone(),
        };
        let client = find_or_start(&self.state, &self.paths, options, None).await;
        client.map_err(|problem| problem.detail().to_owned())
    }
}

#[async_trait]
impl SessionAccess for McpSession {
    async fn execute(
        &self,
        call: Content,
        shows_screen: bool,
        approvals: Box<dyn Approvals>,
    ) -> Result<ToolResult, String> {
        let IdentifiedCall {
            call,
            key,
            may_be_retry,
        } = IdentifiedCall::of(call);
        let client = self.client().await?;
        // A session that continues a recording has the results of all its calls.
        let is_recorded = client.description().config["record"].is_string();
        if may_be_retry && !is_recorded {
            self.sent.check(&key, client.description().pid)?;
        }
        let turn = ModelTurn::new(vec![call]).map_err(|e| e.to_string())?;
        let request = TurnRequest {
            key,
            screenshots: ScreenshotsFor::Mcp {
                on_request: !shows_screen,
            },
            interface: Interface::Other,
            queue_ms: u64::try_from(QUEUE_TIME.as_millis()).unwrap_or(u64::MAX),
            runs_on: false,
            may_be_retry,
            contents: turn.without_left_calls(),
            is_new: false,
            hosted_source: turn.hosted_source(),
        };
        let failed = |error: telechir_host::HostError| error.to_string();
        let mut running = client.execute(request).await.map_err(failed)?;
        let mut prompt = AnsweredElsewhere {
            approvals,
            is_closed: false,
        };
        let results = running.results(&mut prompt, || {}).await;
        let answered = turn.answer(results.map_err(failed)?);
        let answered = answered.map_err(|e| format!("failed to {e}"))?;
        let result = answered.results().first().cloned();
        result.ok_or_else(|| "the session returned no result".to_owned())
    }

    async fn open(&self, options: &OpenOptions) -> Result<(), String> {
        let given = [
            ("context_id", options.context_id.is_some()),
            ("persist", options.persist.is_some()),
            ("proxy", options.proxy.is_some()),
            ("proxy_country", options.proxy_country.is_some()),
        ];
        if let Some((name, _)) = given.iter().find(|(_, is_given)| *is_given) {
            return Err(format!(
                "{name}: only the flags of the server decide about it; omit it."
            ));
        }
        match options.timeout {
            Some(seconds) => self.extend(seconds).await,
            None => Ok(()),
        }
    }

    async fn extend(&self, seconds: u64) -> Result<(), String> {
        let client = self.client().await?;
        let extended = client.extend(Duration::from_secs(seconds)).await;
        extended.map_err(|error| error.to_string())
    }

    async fn describe(&self) -> Map<String, Value> {
        session_members(&self.paths).await
    }

    async fn close(&self) -> Result<(), String> {
        let closed = HostClient::close_session(&self.paths).await;
        closed.map(drop).map_err(|error| error.to_string())
    }
}

/// The client of an agent's token must not answer questions, so its user is not asked there. The call
/// waits for an answer elsewhere.
struct AnsweredElsewhere {
    approvals: Box<dyn Approvals>,
    /// Whether the session knows of it.
    is_closed: bool,
}

impl QuestionPrompt for AnsweredElsewhere {
    async fn show(&mut self, open: OpenApproval) {
        self.is_closed = false;
        let open_to_caller = false;
        let open = OpenApproval {
            open_to_caller,
            ..open
        };
        self.approvals.show(open).await;
    }

    fn withdraw(&mut self, _settled: Option<&str>) {}

    async fn reply(&mut self) -> CallerReply {
        if !self.is_closed {
            self.is_closed = true;
            return CallerReply::Closed;
        }
        // The end of the call's patience is the only reply that counts.
        loop {
            if self.approvals.reply().await == CallerReply::Parked {
                return CallerReply::Parked;
            }
        }
    }
}
