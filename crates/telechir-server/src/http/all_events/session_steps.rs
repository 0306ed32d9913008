//! The events of one session in order: as they happen, or from its recording after its end.

use std::sync::Arc;

use futures_util::stream::{Stream, StreamExt as _, iter, unfold};
use serde_json::Value;
use telechir_host::{EventStream, EventsFrom, HostClient, RecordedEvent};

use crate::http::recordings::{RecordingRow, RecordingStore, RowRange};

/// Rows that are read of a recording at once, and their bytes.
const MAX_ROWS: usize = 256;
const MAX_BYTES: usize = 1 << 20;

/// What a session's events come to.
#[derive(Debug)]
pub(super) enum SessionStep {
    /// The first of them that counts has this row or a later one.
    At(u64),
    Event(RecordedEvent),
    /// The session was closed, and this was all.
    Ended,
    /// There are no more for now: the connection was lost.
    Lost,
}

enum Live {
    Begins(HostClient, EventsFrom),
    /// With whether the last event was the end of a session, after which its host may exit at any time.
    Reads(HostClient, EventStream, bool),
    Over,
}

/// The events of a session that is open.
pub(super) fn of_session(
    client: HostClient,
    started: Option<EventStream>,
    from: EventsFrom,
) -> impl Stream<Item = SessionStep> + Send + 'static {
    let live = match started {
        Some(events) => Live::Reads(client, events, false),
        None => Live::Begins(client, from),
    };
    unfold(live, async |live| match live {
        Live::Begins(client, from) => match client.follow_events(from).await {
            Ok(events) => {
                let at = SessionStep::At(events.next_row());
                Some((at, Live::Reads(client, events, false)))
            }
            Err(error) => {
                tracing::debug!(%error, "the events of a session are not read");
                Some((SessionStep::Lost, Live::Over))
            }
        },
        Live::Reads(client, mut events, is_closed) => match events.next().await {
            Ok(Some(event)) => {
                let is_closed = event.event["event"] == "session_closed";
                let step = SessionStep::Event(event);
                Some((step, Live::Reads(client, events, is_closed)))
            }
            Err(_) if is_closed => Some((SessionStep::Ended, Live::Over)),
            Ok(None) => Some((SessionStep::Ended, Live::Over)),
            Err(error) => {
                tracing::debug!(%error, "the events of a session are read again");
                Some((SessionStep::Lost, Live::Over))
            }
        },
        Live::Over => None,
    })
}

/// The events that the recording of a session has from this row on.
pub(super) fn of_recording(
    store: Arc<dyn RecordingStore>,
    id: String,
    from: u64,
) -> impl Stream<Item = SessionStep> + Send + 'static {
    let batches = unfold(Some(from), move |from| {
        let (store, id) = (Arc::clone(&store), id.clone());
        async move {
            let from = from?;
            let (steps, next) = read(store, id, from).await;
            Some((iter(steps), next))
        }
    });
    batches.flatten()
}

/// Some steps, and the row to read on from unless they are the last.
async fn read(
    store: Arc<dyn RecordingStore>,
    id: String,
    from: u64,
) -> (Vec<SessionStep>, Option<u64>) {
    let range = RowRange {
        from,
        max_rows: MAX_ROWS,
        max_bytes: MAX_BYTES,
        events_only: true,
    };
    let run = id.clone();
    let rows = tokio::task::spawn_blocking(move || store.rows(&id, range)).await;
    let rows = match rows {
        Ok(Ok(Some(rows))) => rows,
        Ok(Ok(None)) | Err(_) => return (vec![SessionStep::Lost], None),
        Ok(Err(why)) => {
            tracing::warn!(why, "the last events of a session are not sent");
            return (vec![SessionStep::Lost], None);
        }
    };
    let Some(last) = rows.last() else {
        return (vec![SessionStep::Ended], None);
    };
    let next = last.row + 1;
    let own = rows.into_iter().filter(|row| row.run == run);
    let event = |RecordingRow {
                     row, at_ms, body, ..
                 }: RecordingRow| {
        let event: Value = body;
        SessionStep::Event(RecordedEvent { row, at_ms, event })
    };
    (own.map(event).collect(), Some(next))
}
