//! The metrics of all sessions as one answer, and from which sessions they are counted.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use telechir_host::SessionPaths;

use super::metrics::CONTENT_TYPE;
use super::metrics_follower::CountFrom;
use super::problem::Problem;
use super::request::ApiRequest;
use super::sessions;
use super::state::HttpState;

/// `GET /metrics`
pub(super) async fn serve(request: ApiRequest) -> Result<Response, Problem> {
    let mut states = Vec::new();
    let mut approvals = 0;
    for client in sessions::all(&request.state).await? {
        if !sessions::is_http(&client) {
            continue;
        }
        states.push(client.description().state);
        match client.approvals().await {
            Ok(open) => approvals += open.len(),
            Err(error) => tracing::debug!(%error, "the questions of a session are not counted"),
        }
    }
    let text = request.state.metrics.text(&states, approvals)?;
    Ok((StatusCode::OK, [(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response())
}

/// Follows the sessions that an earlier server opened.
pub(super) async fn follow_all(state: &HttpState) {
    match sessions::all(state).await {
        Ok(clients) => {
            for client in clients.iter().filter(|client| sessions::is_http(client)) {
                let name = client.description().name.parse();
                let paths = name.map(|name| SessionPaths::new(&state.settings.sockets, name));
                if let Ok(Ok(paths)) = paths {
                    let tokens = &state.settings.tokens;
                    state
                        .followers
                        .follow(&state.metrics, tokens, &paths, CountFrom::Now);
                }
            }
        }
        Err(problem) => {
            tracing::warn!(
                why = problem.detail(),
                "earlier sessions are not counted in metrics"
            );
        }
    }
}
