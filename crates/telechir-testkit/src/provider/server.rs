//! The server: one script, one conversation, every request checked.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::Response;
use axum::routing::get;
use serde_json::{Map, Value};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::script_player::{Play, Reply};
use super::{Provider, Refusal, Script, bodies, converse, google};

/// Bytes of a request body that are read; Anthropic takes 32 MB.
const MOST_BYTES: usize = 32_000_000;

/// A page the server serves beside the model, at `/page`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Its HTML.
    pub html: String,
}

/// What happened, for whoever decides whether the run was good.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Requests to the model, refused ones included.
    pub requests: usize,
    /// How often `/page` was fetched.
    pub page_views: usize,
    /// Turns that were played.
    pub played: usize,
    /// Turns of the script.
    pub turns: usize,
    /// What was refused, in order.
    pub refusals: Vec<Refusal>,
}

impl Tally {
    /// Whether the script was played to its end and nothing was refused.
    pub fn is_clean(&self) -> bool {
        self.refusals.is_empty() && self.played == self.turns
    }
}

#[derive(Debug)]
struct Shared {
    script: Script,
    page: Page,
    play: Mutex<Play>,
}

/// A running recorded model. Dropping it ends it.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<std::io::Result<()>>,
}

impl ModelServer {
    /// Starts it on a free port of the loopback address. `values` are known from the start;
    /// `{{address}}` is the server's own.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn start(
        script: Script,
        page: Page,
        values: Vec<(String, String)>,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let own = ("address".to_owned(), address.to_string());
        let play = Play::new(&script, values.into_iter().chain([own]).collect());
        let shared = Arc::new(Shared {
            script,
            page,
            play: Mutex::new(play),
        });
        let router = Router::new()
            .route("/page", get(page_view))
            .fallback(model)
            .with_state(Arc::clone(&shared));
        let task = tokio::spawn(IntoFuture::into_future(axum::serve(listener, router)));
        Ok(Self {
            address,
            shared,
            task,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base address in the form the provider's own clients take it.
    pub fn base_url(&self) -> String {
        match self.shared.script.provider {
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

    /// What happened so far.
    pub fn tally(&self) -> Tally {
        self.shared.play().tally.clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    fn play(&self) -> MutexGuard<'_, Play> {
        self.play.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers one request; what is refused is remembered.
    fn answer(&self, path: &str, headers: &HeaderMap, body: &Bytes) -> Result<Reply, Refusal> {
        let mut play = self.play();
        play.tally.requests += 1;
        let answered = self
            .check_envelope(path, headers, body)
            .and_then(|()| play.answer(&self.script, path, headers, body));
        if let Err(refusal) = &answered {
            play.tally.refusals.push(refusal.clone());
        }
        answered
    }

    fn check_envelope(&self, path: &str, headers: &HeaderMap, body: &Bytes) -> Result<(), Refusal> {
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
            return Err(Refusal::not_found(path));
        }
        if body.len() >= MOST_BYTES {
            return Err(Refusal::too_large(body.len()));
        }
        let kind = headers
            .get(header::CONTENT_TYPE)
            .map(header::HeaderValue::as_bytes)
            .unwrap_or_default();
        if kind.starts_with(b"application/json") {
            return Ok(());
        }
        Err(Refusal::invalid("content-type: must be application/json"))
    }
}

async fn model(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    if head.method == Method::GET {
        // A browser that is shown the page asks for more, such as its icon.
        return respond(Reply {
            status: 404,
            headers: Map::new(),
            body: String::new(),
        });
    }
    let read = to_bytes(body, MOST_BYTES).await;
    // A body that is too long is shown to the checks as one of the limit's length.
    let body = read.unwrap_or_else(|_| Bytes::from(vec![b' '; MOST_BYTES]));
    let answered = shared.answer(head.uri.path(), &head.headers, &body);
    respond(answered.unwrap_or_else(|refusal| Reply {
        status: refusal.status,
        headers: refusal.headers(shared.script.provider),
        body: refusal.body(shared.script.provider).to_string(),
    }))
}

async fn page_view(State(shared): State<Arc<Shared>>) -> Response {
    shared.play().tally.page_views += 1;
    let mut response = Response::new(Body::from(shared.page.html.clone()));
    let html = header::HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, html);
    response
}

fn respond(reply: Reply) -> Response {
    let mut response = Response::new(Body::from(reply.body));
    *response.status_mut() =
        StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static("application/json"),
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

/// Puts the members of `with` over those of `answer`.
pub(super) fn merge(answer: &mut Value, with: &Value) {
    if let (Some(answer), Some(with)) = (answer.as_object_mut(), with.as_object()) {
        for (name, value) in with {
            answer.insert(name.clone(), value.clone());
        }
    }
}
