//! Sends the events of a session's recording to a client that subscribes to them.
//!
//! Past and present events come from the same rows, so that none is missed between them. A slow
//! client reads older rows later: nothing is buffered for it, and the session never waits.

use telechir_runtime::{EventBatch, RecordedEvent, RecordingReader};
use tokio::sync::watch;

use super::connections::send;
use super::control::ControlSlot;
use crate::frames::MessageWriter;
use crate::message::{HostReply, Reply};

/// Number of events that are read at once.
const BATCH: usize = 64;

/// Sends events until the client unsubscribes, does not read, or the session is closed.
pub(super) async fn send_events(
    writer: &MessageWriter,
    id: u64,
    control: &ControlSlot,
    from: Option<u64>,
    mut is_over: watch::Receiver<bool>,
) {
    let started = tokio::select! {
        control = control.started() => control,
        () = over(&mut is_over) => None,
    };
    let next = match started {
        Some(control) => {
            let mut recording = control.recording.clone();
            let from = from.unwrap_or_else(|| recording.last_row() + 1);
            follow(writer, id, &mut recording, from, is_over).await
        }
        None => Ok(from.unwrap_or(1)),
    };
    let last = match next {
        Ok(next) => HostReply::EventsEnded { next },
        Err(Stop::Unreadable(message)) => HostReply::Failed { message },
        Err(Stop::Disconnected) => return,
    };
    send(writer, id, last).await;
}

/// Why no more events can be sent.
enum Stop {
    Unreadable(String),
    Disconnected,
}

/// Returns the row to read on from.
async fn follow(
    writer: &MessageWriter,
    id: u64,
    recording: &mut RecordingReader,
    mut next: u64,
    mut is_over: watch::Receiver<bool>,
) -> Result<u64, Stop> {
    loop {
        let batch = recording.events(next, BATCH).await;
        let EventBatch {
            events,
            next: after,
        } = batch.map_err(|e| Stop::Unreadable(format!("failed to {e}")))?;
        for RecordedEvent { row, at_ms, event } in events {
            if *is_over.borrow() {
                return Ok(next);
            }
            let reply = HostReply::Event { row, at_ms, event };
            let sent = writer.send(&Reply { id, reply }).await;
            sent.map_err(|_| Stop::Disconnected)?;
            next = row + 1;
        }
        next = after;
        let has_more = tokio::select! {
            biased;
            () = over(&mut is_over) => false,
            is_written = recording.wait_for_row(next) => is_written,
        };
        if !has_more {
            return Ok(next);
        }
    }
}

/// Waits until the subscription is over.
async fn over(is_over: &mut watch::Receiver<bool>) {
    let _unsubscribed = is_over.wait_for(|is_over| *is_over).await.is_ok();
}
