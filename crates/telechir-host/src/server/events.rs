//! Sends the events of a session's recording to a client that subscribes to them.
//!
//! Past and present events come from the same rows, so that none is missed between them. A slow
//! client reads older rows later: nothing is buffered for it, and the session never waits.

use std::sync::Arc;

use telechir_runtime::{EventBatch, RecordedEvent, RecordingReader};
use tokio::sync::{Semaphore, SemaphorePermit, watch};

use super::connections::{failed, send};
use super::control::ControlSlot;
use crate::frames::MessageWriter;
use crate::message::{EventsFrom, HostReply, Reply};

/// Number of events that are read at once.
const BATCH: usize = 64;

/// A client's subscription, as its connection keeps it.
#[derive(Debug)]
pub(super) struct Subscription {
    is_over: watch::Sender<bool>,
    /// How many events may be sent.
    room: Arc<Semaphore>,
}

/// What is sent before the first event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstReply {
    /// Nothing.
    Event,
    /// The row from which events count.
    Row,
}

/// The same, as the task that sends the events has it.
#[derive(Debug)]
pub(super) struct SubscriptionState {
    is_over: watch::Receiver<bool>,
    room: Arc<Semaphore>,
}

impl Subscription {
    /// A subscription with so many events under way at most; without a window, any number.
    pub(super) fn new(window: Option<u32>) -> (Self, SubscriptionState) {
        let (over, is_over) = watch::channel(false);
        let room = window.map_or(Semaphore::MAX_PERMITS, |window| window as usize);
        let room = Arc::new(Semaphore::new(room));
        let state = SubscriptionState {
            is_over,
            room: Arc::clone(&room),
        };
        (
            Self {
                is_over: over,
                room,
            },
            state,
        )
    }

    /// Makes room for events that the client has read.
    pub(super) fn add_room(&self, count: u32) {
        let left = Semaphore::MAX_PERMITS - self.room.available_permits();
        self.room.add_permits(left.min(count as usize));
    }

    /// Ends it.
    pub(super) fn end(self) {
        // Dropping the sender would not end it.
        self.is_over.send_replace(true);
    }
}

/// Sends events until the client unsubscribes, does not read, or the session is closed.
pub(super) async fn send_events(
    writer: &MessageWriter,
    id: u64,
    control: &ControlSlot,
    from: EventsFrom,
    first: FirstReply,
    mut subscription: SubscriptionState,
) {
    let started = tokio::select! {
        control = control.started() => control,
        () = over(&mut subscription.is_over) => None,
    };
    let next = match started {
        Some(control) => {
            let mut recording = control.recording.clone();
            let from = match from {
                EventsFrom::Row(row) => row,
                EventsFrom::Session => recording.first_row(),
                EventsFrom::Now => recording.last_row() + 1,
            };
            if first == FirstReply::Row {
                send(writer, id, HostReply::EventsFrom { row: from }).await;
            }
            follow(writer, id, &mut recording, from, subscription).await
        }
        None => Ok(match from {
            EventsFrom::Row(row) => row,
            EventsFrom::Session | EventsFrom::Now => 1,
        }),
    };
    let last = match next {
        Ok(next) => HostReply::EventsEnded { next },
        Err(Stop::Unreadable(message)) => failed(message),
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
    subscription: SubscriptionState,
) -> Result<u64, Stop> {
    let SubscriptionState { mut is_over, room } = subscription;
    loop {
        let batch = recording.events(next, BATCH).await;
        let EventBatch {
            events,
            next: after,
        } = batch.map_err(|e| Stop::Unreadable(format!("failed to {e}")))?;
        for RecordedEvent { row, at_ms, event } in events {
            let has_room = tokio::select! {
                biased;
                () = over(&mut is_over) => false,
                // Never closed.
                room = room.acquire() => room.map(SemaphorePermit::forget).is_ok(),
            };
            if !has_room {
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
