//! The events that a command shows: of its own session, or of one in a session host.

use std::sync::Arc;

use telechir_host::EventStream;
use telechir_runtime::{EventReader, SessionEvent};

/// The events of a session from now on.
#[derive(Debug)]
pub(crate) enum SessionEvents {
    /// Of a session in this process, until it is closed.
    Own(EventReader),
    /// Of a session host, until the task of this command has ended.
    Hosted(Option<EventStream>),
}

impl SessionEvents {
    /// The next event; none after the last. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<Arc<SessionEvent>> {
        match self {
            Self::Own(events) => events.next().await,
            Self::Hosted(stream) => {
                let event = next_of(stream.as_mut()?).await;
                let is_last = event.as_ref().is_none_or(is_end);
                if is_last {
                    *stream = None;
                }
                event.map(Arc::new)
            }
        }
    }
}

fn is_end(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::TaskEnded { .. })
}

/// The next event that this version knows.
async fn next_of(stream: &mut EventStream) -> Option<SessionEvent> {
    loop {
        let recorded = stream.next().await.ok()??;
        if let Ok(event) = serde_json::from_value(recorded.event) {
            return Some(event);
        }
    }
}
