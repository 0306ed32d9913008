//! Bounded fan-out of events. A slow reader loses events and never delays the session.

use std::sync::Arc;

use tokio::sync::broadcast;

use crate::SessionEvent;

/// Maximum number of events that a reader may lag behind.
const CAPACITY: usize = 1024;

#[derive(Clone, Debug)]
pub(crate) struct EventBus(broadcast::Sender<Arc<SessionEvent>>);

impl EventBus {
    pub(crate) fn new() -> Self {
        Self(broadcast::Sender::new(CAPACITY))
    }

    pub(crate) fn send(&self, event: SessionEvent) {
        // An error means that there is no reader, which is normal.
        let _receivers = self.0.send(Arc::new(event));
    }

    pub(crate) fn subscribe(&self) -> EventReader {
        EventReader(self.0.subscribe())
    }
}

/// Receives a session's events from the moment of subscribing.
#[derive(Debug)]
pub struct EventReader(broadcast::Receiver<Arc<SessionEvent>>);

impl EventReader {
    /// Returns the next event, or none when the session is gone. Cancel-safe.
    ///
    /// A reader that lagged behind gets one [`SessionEvent::EventsDropped`] instead of the lost
    /// events.
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
