//! Bounded fan-out of events. A slow reader loses events, never holds up the run.

use std::sync::Arc;

use tokio::sync::broadcast;

use crate::SessionEvent;

/// Events a reader may be behind.
const CAPACITY: usize = 1024;

#[derive(Clone, Debug)]
pub(crate) struct Bus(broadcast::Sender<Arc<SessionEvent>>);

impl Bus {
    pub(crate) fn new() -> Self {
        Self(broadcast::Sender::new(CAPACITY))
    }

    pub(crate) fn send(&self, event: SessionEvent) {
        // Nobody listening is fine.
        let _receivers = self.0.send(Arc::new(event));
    }

    pub(crate) fn subscribe(&self) -> EventReader {
        EventReader(self.0.subscribe())
    }
}

/// Reads a session's events from the moment of subscribing.
#[derive(Debug)]
pub struct EventReader(broadcast::Receiver<Arc<SessionEvent>>);

impl EventReader {
    /// The next event; none when the session is gone. Cancel-safe.
    ///
    /// A reader that fell behind gets one [`SessionEvent::Missed`] in place of what it lost.
    pub async fn next(&mut self) -> Option<Arc<SessionEvent>> {
        match self.0.recv().await {
            Ok(event) => Some(event),
            Err(broadcast::error::RecvError::Lagged(count)) => {
                Some(Arc::new(SessionEvent::EventsDropped { count }))
            }
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}
