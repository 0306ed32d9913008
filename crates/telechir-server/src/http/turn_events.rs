//! A turn as server-sent events: what the session does about its calls, and then the answer.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::unfold;
use serde::Serialize;
use serde_json::Value;
use telechir_host::approvals::{ApprovalCode, CallerReply};
use telechir_host::{
    CallUpdate, EventStream, EventsFrom, HostClient, HostError, HostErrorKind, RecordedEvent,
    RunningCall, TurnKey,
};
use telechir_protocol::ToolResult;
use tokio::time::{Instant, timeout};

use super::events::{KEEP_ALIVE, recorded_event};
use super::problem::Problem;
use super::request::failure;
use super::state::Slot;
use super::turns::{FIRST_REPORT, turn_state, until};

/// The end of a turn is recorded right after its results, but a machine may be slow.
const END_TIMEOUT: Duration = Duration::from_secs(30);

/// Makes the answer of a turn's results, as JSON.
type EncodeAnswer = Box<dyn FnOnce(Vec<ToolResult>, &TurnKey) -> Result<String, Problem> + Send>;

/// Whether the client prefers events to the answer alone. A range with a star is no preference.
pub(super) fn are_wanted(headers: &HeaderMap) -> bool {
    let values = headers.get_all("accept").iter();
    let values = values.filter_map(|value| value.to_str().ok());
    let (mut events, mut json) = (0.0, 0.0);
    for range in values.flat_map(|value| value.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default().to_ascii_lowercase();
        let quality = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok());
        let quality: f32 = quality.unwrap_or(1.0);
        match media.as_str() {
            "text/event-stream" => events = quality,
            "application/json" => json = quality,
            _ => {}
        }
    }
    events > json
}

/// The events of a turn with this key: new ones, or all that its session has if an earlier request
/// began the turn.
pub(super) async fn subscribe(
    client: &HostClient,
    key: Option<&TurnKey>,
) -> Result<EventStream, Problem> {
    let from = match key {
        Some(key) if is_known(client, key).await? => EventsFrom::Row(1),
        Some(_) | None => EventsFrom::Now,
    };
    client.follow_events(from).await.map_err(failure)
}

/// Whether the session has a turn with this key.
async fn is_known(client: &HostClient, key: &TurnKey) -> Result<bool, Problem> {
    let mut earlier = client.await_turn(key.clone()).await.map_err(failure)?;
    match timeout(FIRST_REPORT, earlier.next()).await {
        Ok(Err(error)) => Ok(error.kind() != HostErrorKind::Other),
        // It waits or runs without news.
        Ok(Ok(_)) | Err(_) => Ok(true),
    }
}

/// A turn that is followed, and what its stream owns.
pub(super) struct TurnEvents {
    call: RunningCall,
    /// Absent after the last event of the turn.
    events: Option<EventStream>,
    /// The turn's number in its session, from its first event on.
    number: Option<u64>,
    /// When the client has waited long enough.
    deadline: Option<Instant>,
    phase: TurnPhase,
    /// What the client was told last, and the question that the turn waits for.
    known: (&'static str, Option<ApprovalCode>),
    finish: Option<EncodeAnswer>,
    _client: HostClient,
    _slot: Arc<Slot>,
}

enum TurnPhase {
    Runs,
    /// Its last events are sent before its answer.
    HasResults(Vec<ToolResult>),
    Over,
}

impl TurnEvents {
    /// Follows a turn for this time, or to its end.
    pub(super) fn new<D: Serialize>(
        call: RunningCall,
        events: EventStream,
        wait: Option<Duration>,
        finish: impl FnOnce(Vec<ToolResult>, &TurnKey) -> Result<D, Problem> + Send + 'static,
        (client, slot): (HostClient, Arc<Slot>),
    ) -> Self {
        let finish = |results: Vec<ToolResult>, key: &TurnKey| {
            let document = finish(results, key)?;
            Ok(serde_json::to_string(&document).unwrap_or_default())
        };
        Self {
            call,
            events: Some(events),
            number: None,
            deadline: wait.and_then(|wait| Instant::now().checked_add(wait.max(FIRST_REPORT))),
            phase: TurnPhase::Runs,
            known: ("queued", None),
            finish: Some(Box::new(finish)),
            _client: client,
            _slot: slot,
        }
    }

    /// The events as the answer. Closing it cancels the turn, unless it goes on without its connection.
    pub(super) fn into_response(self) -> Response {
        let events = unfold(self, async |mut turn| {
            let event = turn.next().await?;
            Some((Ok::<Event, Infallible>(event), turn))
        });
        let keep_alive = KeepAlive::new().interval(KEEP_ALIVE).text("keep-alive");
        Sse::new(events).keep_alive(keep_alive).into_response()
    }

    async fn next(&mut self) -> Option<Event> {
        loop {
            let event = match std::mem::replace(&mut self.phase, TurnPhase::Over) {
                TurnPhase::Runs => self.run().await,
                TurnPhase::HasResults(results) => self.last(results).await,
                TurnPhase::Over => return None,
            };
            if event.is_some() {
                return event;
            }
        }
    }

    /// The next event of a turn that has no results; none if it is not one to send.
    async fn run(&mut self) -> Option<Event> {
        // All futures are cancel-safe.
        let update = tokio::select! {
            biased;
            recorded = next_event(&mut self.events) => {
                self.phase = TurnPhase::Runs;
                return self.own(recorded);
            }
            update = self.call.next() => update,
            () = until(self.deadline) => {
                let state = turn_state(&self.call, self.known.clone());
                return Some(document("pending", &state));
            }
        };
        match self.updated(update).await {
            Ok(event) => event,
            Err(error) => Some(problem(failure(error))),
        }
    }

    async fn updated(
        &mut self,
        update: Result<CallUpdate, HostError>,
    ) -> Result<Option<Event>, HostError> {
        self.known = match update? {
            CallUpdate::Queued => ("queued", None),
            CallUpdate::Started => ("running", None),
            CallUpdate::Question(open) => {
                // Questions are answered elsewhere.
                let code = open.code.clone();
                let closed = CallerReply::Closed;
                self.call.reply_to(code.clone(), closed).await?;
                ("awaiting_approval", Some(code))
            }
            CallUpdate::Answered(results) => {
                self.phase = TurnPhase::HasResults(results);
                return Ok(None);
            }
        };
        self.phase = TurnPhase::Runs;
        let state = turn_state(&self.call, self.known.clone());
        Ok(Some(document("state", &state)))
    }

    /// The events that the session still has of a turn with results, and then its answer.
    async fn last(&mut self, results: Vec<ToolResult>) -> Option<Event> {
        // A turn without calls has none.
        if self.events.is_some() && !results.is_empty() {
            if let Ok(recorded) = timeout(END_TIMEOUT, next_event(&mut self.events)).await {
                self.phase = TurnPhase::HasResults(results);
                return self.own(recorded);
            }
            tracing::debug!("the last events of a turn are not sent");
        }
        let finish = self.finish.take()?;
        Some(match finish(results, self.call.key()) {
            Ok(answer) => Event::default().event("result").data(answer),
            Err(failed) => problem(failed),
        })
    }

    /// What is sent of a recorded event: the turn's own ones.
    fn own(&mut self, recorded: Option<RecordedEvent>) -> Option<Event> {
        let Some(recorded) = recorded else {
            self.events = None;
            return None;
        };
        let event = &recorded.event;
        let number = event["turn"].as_u64();
        match event["event"].as_str() {
            Some("turn_started") if event["key"] == self.call.key().as_str() => {
                self.number = number;
            }
            Some("turn_completed") if number.is_some() && number == self.number => {
                self.events = None;
            }
            Some(_) if self.number.is_some() => {}
            Some(_) | None => return None,
        }
        let row = recorded.row;
        let (kind, data): (String, Value) = recorded_event(recorded);
        let event = Event::default().id(row.to_string());
        Some(event.event(kind).data(data.to_string()))
    }
}

/// The next event; never, if there are none any more. Cancel-safe.
async fn next_event(events: &mut Option<EventStream>) -> Option<RecordedEvent> {
    match events {
        Some(events) => events.next().await.ok().flatten(),
        None => std::future::pending().await,
    }
}

fn document(kind: &str, document: &impl Serialize) -> Event {
    let text = serde_json::to_string(document).unwrap_or_default();
    Event::default().event(kind).data(text)
}

fn problem(problem: Problem) -> Event {
    document("problem", &problem.document())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn events_are_sent_to_clients_that_prefer_them() {
        for (accept, expected) in [
            (&[][..], false),
            (&["*/*"], false),
            (&["application/json"], false),
            (&["text/*"], false),
            (&["application/json, text/event-stream"], false),
            (&["text/event-stream"], true),
            (&["Text/Event-Stream; charset=utf-8"], true),
            (&["text/event-stream, */*"], true),
            (&["application/json;q=0.5, text/event-stream"], true),
            (&["application/json;q=0.5", "text/event-stream"], true),
            (&["text/event-stream;q=0"], false),
            (&["text/event-stream;q=0.2, application/json;q=0.1"], true),
        ] {
            let mut headers = HeaderMap::new();
            for value in accept {
                headers.append("accept", HeaderValue::from_static(value));
            }
            assert_eq!(are_wanted(&headers), expected, "{accept:?}");
        }
    }
}
