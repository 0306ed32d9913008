//! The HTTP server: one script, one conversation, every request validated.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::Response;
use axum::routing::get;
use serde_json::Map;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::script_player::{HttpReply, JSON, ScriptPlayer};
use super::{Provider, Rejection, Script, bodies, converse, google, streams};

/// Maximum bytes of a request body, Anthropic's limit.
const MAX_BODY_BYTES: usize = 32_000_000;

/// A page that the server serves at `/page`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServedPage {
    /// Complete HTML of the page.
    pub html: String,
}

/// The course of a run, for its assertions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlayReport {
    /// Number of requests to the model, including rejected ones.
    pub requests: usize,
    /// Number of requests for `/page`.
    pub page_views: usize,
    /// Number of turns played.
    pub played: usize,
    /// Number of turns in the script.
    pub turns: usize,
    /// Number of responses that were sent as streams.
    pub streamed: usize,
    /// Number of requests from which older turns were removed.
    pub shortened: usize,
    /// Rejected requests, in order.
    pub rejections: Vec<Rejection>,
}

impl PlayReport {
    /// Whether all turns were played and no request was rejected.
    pub fn is_clean(&self) -> bool {
        self.rejections.is_empty() && self.played == self.turns
    }
}

#[derive(Debug)]
struct ServerState {
    script: Script,
    page: ServedPage,
    player: Mutex<ScriptPlayer>,
}

/// A running recorded model, stopped when dropped.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    state: Arc<ServerState>,
    task: JoinHandle<std::io::Result<()>>,
}

impl ModelServer {
    /// Starts the server on a free loopback port. `values` are known from the start; `{{address}}` is
    /// the server's address.
    ///
    /// # Errors
    /// If no port is available.
    pub async fn start(
        script: Script,
        page: ServedPage,
        values: Vec<(String, String)>,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let own = ("address".to_owned(), address.to_string());
        let player = ScriptPlayer::new(&script, values.into_iter().chain([own]).collect());
        let state = Arc::new(ServerState {
            script,
            page,
            player: Mutex::new(player),
        });
        let router = Router::new()
            .route("/page", get(page_view))
            .fallback(model)
            .with_state(Arc::clone(&state));
        let task = tokio::spawn(IntoFuture::into_future(axum::serve(listener, router)));
        Ok(Self {
            address,
            state,
            task,
        })
    }

    /// Address and port of the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL in the form in which the provider's own clients take it.
    pub fn base_url(&self) -> String {
        match self.state.script.provider {
            Provider::Anthropic
            | Provider::Converse
            | Provider::BedrockMessages
            | Provider::BedrockInvoke => format!("http://{}", self.address),
            Provider::Google | Provider::GoogleSteps => {
                format!("http://{}/v1beta", self.address)
            }
            Provider::Openai
            | Provider::Functions
            | Provider::FunctionsInline
            | Provider::MistralChat
            | Provider::MistralConversations => format!("http://{}/v1", self.address),
        }
    }

    /// The course of the run so far.
    pub fn report(&self) -> PlayReport {
        self.state.player().report.clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ServerState {
    fn player(&self) -> MutexGuard<'_, ScriptPlayer> {
        self.player.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles one request; records a rejection.
    fn answer(
        &self,
        path: &str,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<HttpReply, Rejection> {
        let mut player = self.player();
        player.report.requests += 1;
        let plain_path = streams::path_without_stream(self.script.provider, path);
        let is_streamed = plain_path.is_some();
        let path = plain_path.as_deref().unwrap_or(path);
        let outcome = self
            .check_envelope(path, headers, body)
            .and_then(|()| player.answer(&self.script, path, headers, body, is_streamed));
        if let Err(rejection) = &outcome {
            player.report.rejections.push(rejection.clone());
        }
        outcome
    }

    fn check_envelope(
        &self,
        path: &str,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<(), Rejection> {
        let is_own = match self.script.provider {
            Provider::Anthropic => path == "/v1/messages",
            Provider::Openai => path == "/v1/responses",
            Provider::Google => google::is_path(path),
            Provider::GoogleSteps => path == "/v1beta/interactions",
            Provider::Functions | Provider::FunctionsInline | Provider::MistralChat => {
                path == "/v1/chat/completions"
            }
            Provider::MistralConversations => path == "/v1/conversations",
            Provider::Converse => converse::model_of(path).is_some(),
            Provider::BedrockMessages => path == "/anthropic/v1/messages",
            Provider::BedrockInvoke => bodies::model_of(path).is_some(),
        };
        if !is_own {
            return Err(Rejection::not_found(path));
        }
        if body.len() >= MAX_BODY_BYTES {
            return Err(Rejection::too_large(body.len()));
        }
        let kind = headers
            .get(header::CONTENT_TYPE)
            .map(header::HeaderValue::as_bytes)
            .unwrap_or_default();
        if kind.starts_with(b"application/json") {
            return Ok(());
        }
        Err(Rejection::invalid("content-type: must be application/json"))
    }
}

async fn model(State(state): State<Arc<ServerState>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    if head.method == Method::GET {
        // Browsers also request the page's icon.
        return respond(HttpReply {
            status: 404,
            headers: Map::new(),
            kind: JSON,
            body: Bytes::new(),
        });
    }
    let read = to_bytes(body, MAX_BODY_BYTES).await;
    // An oversized body is replaced by one of the maximum size, which the checks reject.
    let body = read.unwrap_or_else(|_| Bytes::from(vec![b' '; MAX_BODY_BYTES]));
    let outcome = state.answer(head.uri.path(), &head.headers, &body);
    respond(outcome.unwrap_or_else(|rejection| HttpReply {
        status: rejection.status,
        headers: rejection.headers(state.script.provider),
        kind: JSON,
        body: rejection.body(state.script.provider).to_string().into(),
    }))
}

async fn page_view(State(state): State<Arc<ServerState>>) -> Response {
    state.player().report.page_views += 1;
    let mut response = Response::new(Body::from(state.page.html.clone()));
    let html = header::HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, html);
    response
}

fn respond(reply: HttpReply) -> Response {
    let mut response = Response::new(Body::from(reply.body));
    *response.status_mut() =
        StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static(reply.kind),
    );
    headers.insert(
        "request-id",
        header::HeaderValue::from_static("req_recorded"),
    );
    for (name, value) in &reply.headers {
        let (name, value) = (
            name.parse::<header::HeaderName>(),
            value.as_str().unwrap_or_default().parse(),
        );
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.insert(name, value);
        }
    }
    response
}
