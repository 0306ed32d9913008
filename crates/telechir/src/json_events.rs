//! The events of a session as JSON lines on stdout.

use telechir_runtime::{EventReader, SessionEvent};
use tokio::task::JoinHandle;

use crate::input::write_json;

/// Writes one line per event until the session ends.
#[derive(Debug)]
pub(crate) struct JsonEvents(JoinHandle<()>);

impl JsonEvents {
    pub(crate) fn start(mut events: EventReader) -> Self {
        Self(tokio::spawn(async move {
            while let Some(event) = events.next().await {
                if let Err(error) = write_json(&*event, false) {
                    tracing::warn!(error = error.text(), "no more events are printed");
                    return;
                }
                if matches!(*event, SessionEvent::SessionClosed { .. }) {
                    return;
                }
            }
        }))
    }

    /// Waits until the last event of the closed session is written.
    pub(crate) async fn finish(self) {
        if let Err(error) = self.0.await {
            tracing::warn!(%error, "the events were not printed to their end");
        }
    }
}
