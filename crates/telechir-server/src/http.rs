//! The HTTP API: sessions, calls, events and approvals for programs in any language.
//!
//! One table (`routes`) makes the router and the OpenAPI document. `front` checks what every request
//! must pass, `state` who sent it. `view` has the files of the live page, and `tickets` how a person's
//! browser gets to use it. Sessions live in session hosts: a server that is restarted finds
//! them again.

mod action_service;
mod all_events;
mod approvals;
mod body;
mod calls;
mod cdp;
mod client_address;
mod connections;
mod context_claims;
mod context_store;
mod contexts;
mod conversions;
mod documents;
mod events;
mod free_memory;
mod front;
mod listener;
mod mcp;
mod mcp_endpoints;
mod mcp_sessions;
mod metrics;
mod metrics_endpoint;
mod metrics_follower;
mod openapi;
mod owning_body;
mod problem;
mod recordings;
mod remote_choice;
mod request;
mod route;
mod routes;
mod screenshots;
mod session_addresses;
mod sessions;
mod short_hash;
mod state;
mod tickets;
mod tls;
mod tools;
mod turn_events;
mod turns;
mod view;
mod write_limit;

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequestParts as _, RawPathParams, Request};
use axum::http::header;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, on};

use futures_util::StreamExt as _;

use client_address::ConnectionInfo;
use connections::{ConnectionTable, ConnectionUse, MAX_CONNECTIONS};
use problem::{Problem, ProblemKind};
use request::ApiRequest;
use route::{Handler, Method, Route};
use state::{Caller, HttpState};

pub use context_store::{ContextError, ContextKey, ContextStore, ContextSummary};
pub use listener::{Listener, Shutdown};
pub use mcp_endpoints::McpEndpoint;
pub use openapi::document as openapi_document;
pub use recordings::{RecordingRow, RecordingStore, RecordingSummary, RowRange};
pub use remote_choice::RemoteChoice;
pub use state::{HttpSettings, OpenSessionLimits, SessionLauncher, SessionOptions};
pub use tickets::ViewTickets;
pub use tls::ServerTls;

/// Serves the API until `stop` ends, and then lets running requests end; the sessions go on.
pub async fn serve(
    listener: Listener,
    settings: HttpSettings,
    launcher: Arc<dyn SessionLauncher>,
    stop: impl Future<Output = ()>,
    shutdown: Shutdown,
) {
    let state = Arc::new(HttpState::new(settings, launcher));
    metrics_endpoint::follow_all(&state).await;
    let router = router(&state);
    let table = ConnectionTable::new(MAX_CONNECTIONS);
    listener::serve(listener, table, router, stop, shutdown, &state.stopping).await;
}

fn router(state: &Arc<HttpState>) -> Router {
    let mut router = Router::new();
    for route in routes::all() {
        for path in std::iter::once(&route.path).chain(route.aliases) {
            let state = Arc::clone(state);
            let handler = move |request: Request| dispatch(Arc::clone(&state), route, request);
            router = router.route(path, on(route.method.filter(), handler));
        }
    }
    for file in view::FILES {
        router = router.route(file.0, get(async move || view::serve(file)));
    }
    router
        .fallback(async || Problem::new(ProblemKind::NotFound, "no route has this path"))
        .method_not_allowed_fallback(async || {
            let detail = "the OpenAPI document lists the methods: /v1/openapi.json";
            Problem::new(ProblemKind::MethodNotAllowed, detail)
        })
        .layer(from_fn_with_state(Arc::clone(state), front::check))
}

async fn dispatch(state: Arc<HttpState>, route: &'static Route, request: Request) -> Response {
    let started = Instant::now();
    let connection = request.extensions().get::<ConnectionInfo>();
    let client = connection.and_then(|info| info.peer.client(request.headers()));
    let connection = connection.map(|info| info.usage.clone());
    let (owner, answered) = match route.handler {
        Handler::OfRequest(handler) => (None, handler(Arc::clone(&state), request).await),
        Handler::OfCaller(handler) => match state.authenticate(request.headers()) {
            Ok(caller) => {
                let owner = caller.principal.clone();
                let connection = connection.unwrap_or_default();
                let checked = check(Arc::clone(&state), route, caller, connection, request);
                (Some(owner), answer(route, checked.await, handler).await)
            }
            Err(problem) => (None, Err(problem)),
        },
    };
    let response = answered.unwrap_or_else(Problem::into_response);
    let (took, status) = (started.elapsed(), response.status().as_u16());
    state.metrics.request(route.operation, status, took);
    tracing::info!(
        operation = route.operation,
        status,
        ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        owner,
        client = client.map(|client| client.to_string()),
        "answered a request"
    );
    match route.method {
        Method::Get => until_stopping(response, &state),
        Method::Post | Method::Delete => response,
    }
}

fn is_event_stream(response: &Response) -> bool {
    let content_type = response.headers().get(header::CONTENT_TYPE);
    content_type.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// Ends a stream of events with the server.
fn until_stopping(response: Response, state: &HttpState) -> Response {
    let mut stopping = state.stopping.subscribe();
    let stop = async move {
        // An error means that the server is gone.
        let _or_gone = stopping.wait_for(|stopping| *stopping).await;
    };
    match is_event_stream(&response) {
        true => read_until(response, stop),
        false => response,
    }
}

/// Ends the body of an answer early.
fn read_until(response: Response, end: impl Future<Output = ()> + Send + 'static) -> Response {
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(end)))
}

async fn answer(
    route: &Route,
    request: Result<ApiRequest, Problem>,
    handler: fn(ApiRequest) -> route::Answer,
) -> Result<Response, Problem> {
    let request = request?;
    let slot = Arc::clone(&request.slot);
    let (state, caller) = (Arc::clone(&request.state), request.caller.clone());
    let response = match route.method {
        // A token for one session ends with it, and its holder is told that it is closed.
        Method::Delete => handler(request).await?,
        Method::Get | Method::Post => state.while_accepted(&caller, handler(request)).await?,
    };
    // The request goes on until its client has the answer. Streams have slots of their own.
    Ok(match is_event_stream(&response) {
        true => read_until(response, state.until_revoked(&caller)),
        false => owning_body::keep_until_read(response, slot),
    })
}

/// The request of a caller who may send it.
async fn check(
    state: Arc<HttpState>,
    route: &'static Route,
    caller: Caller,
    connection: ConnectionUse,
    request: Request,
) -> Result<ApiRequest, Problem> {
    let (mut parts, body) = request.into_parts();
    if !route.roles.contains(&caller.role) {
        let roles: Vec<&str> = route.roles.iter().map(|role| role.name()).collect();
        let detail = format!("{} needs the role {}", route.operation, roles.join(" or "));
        return Err(Problem::new(ProblemKind::Forbidden, detail));
    }
    if caller.session.is_some() && !route.is_for_session_tokens() {
        let detail = format!("{} is not for a token of one session", route.operation);
        return Err(Problem::new(ProblemKind::Forbidden, detail));
    }
    let body_bytes = body::length(&parts.headers);
    let slot = Arc::new(state.request_slot(&caller, &connection, body_bytes)?);
    let query = query(route, parts.uri.query().unwrap_or_default())?;
    let path = RawPathParams::from_request_parts(&mut parts, &()).await;
    let path = path.map_err(|e| Problem::new(ProblemKind::BadRequest, e.to_string()))?;
    let path = path.iter();
    let path = path.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let path = path.collect();
    let body = match &route.body {
        Some(expected) => body::read(&parts.headers, body, expected.max_bytes).await?,
        None => Vec::new(),
    };
    Ok(ApiRequest {
        state,
        caller,
        connection,
        headers: parts.headers,
        path,
        query,
        body,
        slot,
    })
}

/// The parameters of the query, all of which the route must know.
fn query(route: &Route, query: &str) -> Result<Vec<(String, String)>, Problem> {
    let bad = |detail: String| Problem::new(ProblemKind::BadRequest, detail);
    let mut pairs: Vec<(String, String)> = Vec::new();
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()).into_owned() {
        if !route.query.iter().any(|known| known.name == name) {
            let name = name.escape_debug();
            return Err(bad(format!(
                "{} has no parameter `{name}`",
                route.operation
            )));
        }
        if pairs.iter().any(|(known, _)| *known == name) {
            return Err(bad(format!("the parameter `{name}` occurs more than once")));
        }
        pairs.push((name, value));
    }
    let is_missing = |known: &&route::Parameter| {
        known.is_required && !pairs.iter().any(|(n, _)| n == known.name)
    };
    match route.query.iter().find(is_missing) {
        Some(missing) => Err(bad(format!(
            "expected the query parameter `{}`",
            missing.name
        ))),
        None => Ok(pairs),
    }
}

#[cfg(test)]
mod tests;
