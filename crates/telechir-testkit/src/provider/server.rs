//! The server: one script, one conversation, every request checked.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use axum::routing::get;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::templates::{Values, filled, filled_text, taken};
use super::{Provider, Refusal, Script, Turn, anthropic, openai};

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

#[derive(Debug, Default)]
struct Play {
    values: Values,
    said: Vec<Vec<Value>>,
    /// After a fault the very same bytes must come again.
    must_repeat: Option<Bytes>,
    tally: Tally,
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
    /// Starts it on a free port of the loopback address. `values` are known from the start, such
    /// as a page's address; `{{address}}` is the server's own.
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
        let mut play = Play {
            values: values.into_iter().collect(),
            ..Play::default()
        };
        play.values
            .insert("address".to_owned(), address.to_string());
        play.tally.turns = script.turns.len();
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
            Provider::Anthropic => format!("http://{}", self.address),
            Provider::Openai => format!("http://{}/v1", self.address),
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

    fn path(&self) -> &'static str {
        match self.script.provider {
            Provider::Anthropic => "/v1/messages",
            Provider::Openai => "/v1/responses",
        }
    }

    /// Checks one request and says the next words.
    fn answer(&self, path: &str, headers: &HeaderMap, body: &Bytes) -> Result<Response, Refusal> {
        let mut play = self.play();
        play.tally.requests += 1;
        let answered = self.answer_in(&mut play, path, headers, body);
        if let Err(refusal) = &answered {
            play.tally.refusals.push(refusal.clone());
        }
        answered
    }

    fn answer_in(
        &self,
        play: &mut Play,
        path: &str,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Response, Refusal> {
        if path != self.path() {
            return Err(Refusal::not_found(path));
        }
        if body.len() >= MOST_BYTES {
            return Err(Refusal::too_large(body.len()));
        }
        let json = headers
            .get(header::CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        if !json {
            return Err(Refusal::invalid("content-type: must be application/json"));
        }
        if play
            .must_repeat
            .as_ref()
            .is_some_and(|earlier| earlier != body)
        {
            return Err(Refusal::invalid(
                "recorded model: a retry must send the same request again",
            ));
        }
        let request: Value = serde_json::from_slice(body).map_err(|error| {
            Refusal::invalid(format!(
                "We could not parse the JSON body of your request: {error}"
            ))
        })?;
        match self.script.provider {
            Provider::Anthropic => anthropic::check(headers, &request, &play.said)?,
            Provider::Openai => openai::check(headers, &request, &play.said)?,
        }
        let turn = self.script.turns.get(play.tally.played);
        let turn = turn.ok_or_else(|| {
            Refusal::invalid(
                "recorded model: the script is at its end, and there was one more request",
            )
        })?;
        self.say(play, turn, &request, body)
    }

    fn say(
        &self,
        play: &mut Play,
        turn: &Turn,
        request: &Value,
        body: &Bytes,
    ) -> Result<Response, Refusal> {
        if let Some(fault) = &turn.fault {
            play.must_repeat = Some(body.clone());
            play.tally.played += 1;
            return Ok(self.faulty(fault));
        }
        play.must_repeat = None;
        self.learn(play, turn, request)?;
        let number = play.tally.played + 1;
        let say = turn
            .say
            .iter()
            .map(|item| filled(item, &play.values))
            .collect::<Result<Vec<_>, _>>()?;
        let with = Value::Object(turn.with.clone());
        let answer = match self.script.provider {
            Provider::Anthropic => anthropic::answer(request, number, say.clone(), &with),
            Provider::Openai => openai::answer(request, number, say.clone(), &with),
        };
        play.said.push(say);
        play.tally.played = number;
        Ok(response(
            StatusCode::OK,
            "application/json",
            answer.to_string(),
        ))
    }

    /// Compares the results with what was expected, and takes from them what later words need.
    fn learn(&self, play: &mut Play, turn: &Turn, request: &Value) -> Result<(), Refusal> {
        let results = match self.script.provider {
            Provider::Anthropic => anthropic::results(request),
            Provider::Openai => openai::results(request),
        };
        let of = |call: &str| {
            let missing =
                || Refusal::invalid(format!("recorded model: there is no new result of {call}"));
            results.get(call).ok_or_else(missing)
        };
        for rule in &turn.take {
            let value = taken(rule, of(&rule.call)?)?;
            play.values.insert(rule.name.clone(), value);
        }
        for expectation in &turn.expect {
            let wanted = filled_text(&expectation.contains, &play.values)?;
            let found = of(&expectation.call)?;
            if !found.contains(&wanted) {
                let shown: String = found.chars().take(300).collect();
                return Err(Refusal::invalid(format!(
                    "recorded model: the result of {} does not contain {wanted:?}; it says {shown:?}",
                    expectation.call
                )));
            }
        }
        Ok(())
    }

    fn faulty(&self, fault: &super::Fault) -> Response {
        let kind = match fault.status {
            429 => "rate_limit_error",
            _ => "api_error",
        };
        let refusal = Refusal {
            status: fault.status,
            kind,
            message: "a recorded fault".to_owned(),
        };
        let own = || refusal.body(self.script.provider).to_string();
        let body = fault.body.clone().unwrap_or_else(own);
        let status =
            StatusCode::from_u16(fault.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut answer = response(status, "application/json", body);
        for (name, value) in &fault.headers {
            let (name, value) = (
                name.parse::<header::HeaderName>(),
                value.as_str().unwrap_or_default().parse(),
            );
            if let (Ok(name), Ok(value)) = (name, value) {
                answer.headers_mut().insert(name, value);
            }
        }
        answer
    }
}

async fn model(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let read = to_bytes(body, MOST_BYTES).await;
    // A body that is too long is shown to the checks as one of the limit's length.
    let body = read.unwrap_or_else(|_| Bytes::from(vec![b' '; MOST_BYTES]));
    match shared.answer(head.uri.path(), &head.headers, &body) {
        Ok(answer) => answer,
        Err(refusal) => {
            let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
            response(
                status,
                "application/json",
                refusal.body(shared.script.provider).to_string(),
            )
        }
    }
}

async fn page_view(State(shared): State<Arc<Shared>>) -> Response {
    shared.play().tally.page_views += 1;
    response(
        StatusCode::OK,
        "text/html; charset=utf-8",
        shared.page.html.clone(),
    )
}

fn response(status: StatusCode, kind: &'static str, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
    response.headers_mut().insert(
        "request-id",
        header::HeaderValue::from_static("req_recorded"),
    );
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
