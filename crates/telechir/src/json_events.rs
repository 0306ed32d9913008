//! The events of a session as JSON lines on stdout.

use std::time::Duration;

use serde::Serialize;
use telechir_runtime::SessionEvent;
use tokio::task::{JoinError, JoinHandle, block_in_place};

use crate::input::write_json;
use crate::session::{Stopped, until_stopped};
use crate::session_events::{RunEvent, RunEvents};

/// Timeout for writing the last events after a signal.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// A piece of a message, which no recording has: its event has the whole.
#[derive(Serialize)]
struct MessageDelta<'a> {
    event: &'static str,
    text: &'a str,
}

/// Writes one line per event until the session ends.
#[derive(Debug)]
pub(crate) struct JsonEvents(JoinHandle<()>);

impl JsonEvents {
    /// Prints these events in a background task, at the pace of whoever reads them.
    pub(crate) fn start(mut events: RunEvents) -> Self {
        Self(tokio::spawn(async move {
            while let Some(event) = events.next().await {
                // A reader that pauses must not hold up the other tasks of this thread.
                let written = block_in_place(|| match &event {
                    RunEvent::Session(event) => write_json(&**event, false),
                    RunEvent::Text(text) => {
                        let event = "assistant_message_delta";
                        write_json(&MessageDelta { event, text }, false)
                    }
                });
                if let Err(error) = written {
                    tracing::warn!(error = error.text(), "no more events are printed");
                    return;
                }
                if let RunEvent::Session(event) = event
                    && matches!(*event, SessionEvent::SessionClosed { .. })
                {
                    return;
                }
            }
        }))
    }

    /// Waits until the last event of the closed session is written, or a signal arrives.
    pub(crate) async fn finish(mut self) -> Result<(), Stopped> {
        match until_stopped(&mut self.0).await {
            Ok(ended) => report(ended),
            Err(stopped) => {
                self.0.abort();
                return Err(stopped);
            }
        }
        Ok(())
    }

    /// Waits likewise after a signal, at most two seconds: perhaps nobody reads stdout any more.
    pub(crate) async fn finish_soon(mut self) {
        match tokio::time::timeout(FLUSH_TIMEOUT, &mut self.0).await {
            Ok(ended) => report(ended),
            Err(_too_late) => self.0.abort(),
        }
    }
}

fn report(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::warn!(%error, "the events were not printed to their end");
    }
}
