//! The events of a session as server-sent events, with the rows of its recording as their ids.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::{Stream, unfold};
use serde_json::Value;
use telechir_host::{EventStream, HostClient, RecordedEvent};

use super::problem::{Problem, ProblemKind};
use super::request::{ApiRequest, Reach, failure};
use super::state::{Caller, HttpState, Slot};

/// A comment is sent after this time without an event, so that proxies do not close the connection.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How long a client waits before it connects again.
pub(super) const RETRY: Duration = Duration::from_secs(1);

/// What a stream owns while it is read.
struct Events {
    events: EventStream,
    /// Absent once the client knows when to connect again.
    retry: Option<Duration>,
    state: std::sync::Arc<HttpState>,
    caller: Caller,
    _client: HostClient,
    _slot: Slot,
}

/// `GET /v1/sessions/{id}/events`
pub(super) async fn follow(request: ApiRequest) -> Result<Response, Problem> {
    let from = first_row(&request)?;
    let client = request.session(Reach::Read).await?;
    let events = client.subscribe(from).await.map_err(failure)?;
    let ApiRequest {
        state,
        caller,
        connection,
        slot,
        ..
    } = request;
    let stream_slot = state.stream_slot(&caller, &connection)?;
    drop(slot);
    let events = Events {
        events,
        retry: Some(RETRY),
        state,
        caller,
        _client: client,
        _slot: stream_slot,
    };
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE).text("keep-alive");
    Ok(Sse::new(stream(events))
        .keep_alive(keep_alive)
        .into_response())
}

/// Ends with the session, and with the token of its reader.
fn stream(events: Events) -> impl Stream<Item = Result<Event, Infallible>> {
    unfold(events, |mut events| async move {
        let next = events.events.next().await;
        let recorded = next.inspect_err(|error| tracing::debug!(%error, "a stream of events ends"));
        let recorded = recorded.ok().flatten()?;
        let tokens = &events.state.settings.tokens;
        tokens.find(&events.caller.token).ok().flatten()?;
        let row = recorded.row;
        let (kind, data) = recorded_event(recorded);
        let mut event = Event::default()
            .id(row.to_string())
            .event(kind)
            .data(data.to_string());
        if let Some(retry) = events.retry.take() {
            event = event.retry(retry);
        }
        Some((Ok(event), events))
    })
}

/// The kind of an event and what is sent of it.
pub(super) fn recorded_event(recorded: RecordedEvent) -> (String, Value) {
    let mut data = recorded.event;
    let kind = data["event"].as_str().unwrap_or("event").to_owned();
    if let Some(members) = data.as_object_mut() {
        members.insert("at_ms".to_owned(), recorded.at_ms.into());
    }
    (kind, data)
}

/// The first row that the client has not read; none for new events alone.
fn first_row(request: &ApiRequest) -> Result<Option<u64>, Problem> {
    let bad = |name: &str| {
        let detail = format!("{name}: expected the number of a row of the recording");
        Problem::new(ProblemKind::BadRequest, detail)
    };
    if let Some(last) = request.headers.get("last-event-id") {
        let last = last.to_str().ok().and_then(|last| last.parse::<u64>().ok());
        let last = last.ok_or_else(|| bad("Last-Event-ID"))?;
        return Ok(Some(last.saturating_add(1)));
    }
    let from = request.query("from").map(str::parse).transpose();
    from.map_err(|_| bad("from"))
}
