//! One session's hand on the journal and the bus: what is said is said to both.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::Value;
use telechir_protocol::{CallId, Content};

use crate::bus::Bus;
use crate::journal::{
    ActionKey, Begun, BegunTurn, Journal, Known, Receipt, RecordKind, Repeat, RunId,
};
use crate::{JournalError, SessionEvent};

/// Says what happens.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    pub(crate) run: RunId,
    pub(crate) journal: Journal,
    pub(crate) bus: Bus,
    /// Of outcomes that were handed over.
    receipts: Arc<Mutex<Vec<Receipt>>>,
}

impl Recorder {
    pub(crate) fn new(run: RunId, journal: Journal) -> Self {
        Self {
            run,
            journal,
            bus: Bus::new(),
            receipts: Arc::default(),
        }
    }

    /// Tells everyone; the journal has it before anything that is waited for later.
    pub(crate) fn announce(&self, event: SessionEvent) {
        self.journal.post_event(&self.run, &event);
        self.bus.send(event);
    }

    /// Keeps a call as the model made it; durable before any intent of it.
    pub(crate) async fn call(&self, content: &Content) -> Result<(), JournalError> {
        let body = serde_json::to_value(content).unwrap_or_default();
        self.journal
            .hand_over(&self.run, RecordKind::Call, body)
            .await
    }

    /// Keeps a call's result, its pictures by their digests.
    pub(crate) async fn answer(&self, content: &Content) -> Result<(), JournalError> {
        let mut body = serde_json::to_value(content).unwrap_or_default();
        for (digest, bytes) in take_screenshots(&mut body) {
            tracing::debug!(%digest, bytes = bytes.len(), "keep a picture");
            self.journal.put_blob(bytes).await?;
        }
        self.journal
            .write(&self.run, RecordKind::Answer, body)
            .await?;
        self.outcomes_are_written().await
    }

    /// What was handed over is written by now, or could not be: then nothing rests on it.
    async fn outcomes_are_written(&self) -> Result<(), JournalError> {
        let receipts = {
            let mut receipts = self.receipts.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *receipts)
        };
        for receipt in receipts {
            receipt.done().await?;
        }
        Ok(())
    }

    /// The steps of a call that were begun before.
    pub(crate) async fn known(
        &self,
        turn: BegunTurn,
        call_id: &CallId,
    ) -> Result<Vec<Known>, JournalError> {
        if !turn.is_known {
            return Ok(Vec::new());
        }
        self.journal.known(&self.run, turn.number, call_id).await
    }

    /// Makes a step's intent durable.
    pub(crate) async fn begin(
        &self,
        key: &ActionKey,
        body: Value,
        repeat: Repeat,
    ) -> Result<Begun, JournalError> {
        let begun = self.journal.begin(&self.run, key, body, repeat).await?;
        self.outcomes_are_written().await?;
        Ok(begun)
    }
}

/// Replaces every picture inside a value by its digest and hands out the bytes.
fn take_screenshots(value: &mut Value) -> Vec<(String, Vec<u8>)> {
    let mut screenshots = Vec::new();
    match value {
        Value::String(text) => {
            let bytes = text
                .strip_prefix("data:image/")
                .and_then(|rest| rest.split_once(";base64,"))
                .filter(|(kind, _)| matches!(*kind, "png" | "webp" | "jpeg"))
                .and_then(|(_, data)| base64::engine::general_purpose::STANDARD.decode(data).ok());
            if let Some(bytes) = bytes {
                let digest = blake3::hash(&bytes).to_hex().to_string();
                *text = format!("blob:{digest}");
                screenshots.push((digest, bytes));
            }
        }
        Value::Array(items) => screenshots.extend(items.iter_mut().flat_map(take_screenshots)),
        Value::Object(members) => {
            screenshots.extend(members.values_mut().flat_map(take_screenshots))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    screenshots
}

/// A step that was begun. Dropped before its end, it is recorded as cancelled.
#[derive(Debug)]
pub(crate) struct OpenStep {
    recorder: Recorder,
    key: ActionKey,
    /// The event of its end, as it would be were it cancelled.
    ended: Option<SessionEvent>,
    began: Instant,
}

impl OpenStep {
    pub(crate) fn new(recorder: &Recorder, key: ActionKey, cancelled: SessionEvent) -> Self {
        let recorder = recorder.clone();
        Self {
            recorder,
            key,
            ended: Some(cancelled),
            began: Instant::now(),
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Hands the outcome over, then tells everyone. It is durable before the next effect and before
    /// the answer.
    pub(crate) async fn finish(
        mut self,
        body: Value,
        event: SessionEvent,
    ) -> Result<(), JournalError> {
        let (journal, run) = (self.recorder.journal.clone(), self.recorder.run.clone());
        // Written even when this future is dropped while it waits: it happened.
        self.ended = None;
        let receipt = journal.finish(&run, &self.key, body).await?;
        let receipts = &self.recorder.receipts;
        let mut receipts = receipts.lock().unwrap_or_else(PoisonError::into_inner);
        receipts.push(receipt);
        drop(receipts);
        self.recorder.announce(event);
        Ok(())
    }
}

impl Drop for OpenStep {
    fn drop(&mut self) {
        let Some(event) = self.ended.take() else {
            return;
        };
        let body = serde_json::json!({ "cancelled": true });
        self.recorder
            .journal
            .post_finish(&self.recorder.run, &self.key, body);
        self.recorder.announce(event);
    }
}

/// A turn that was begun. Dropped before its end, it is over all the same.
#[derive(Debug)]
pub(crate) struct OpenTurn {
    recorder: Recorder,
    pub(crate) turn: BegunTurn,
    began: Instant,
    is_answered: bool,
}

impl OpenTurn {
    /// Begins a turn with so many calls, or goes on with the earlier one that had one of `seen`.
    /// `next` is its number, where the last one is known to have ended.
    pub(crate) async fn begin(
        recorder: &Recorder,
        calls: usize,
        seen: Vec<CallId>,
        next: Option<u64>,
    ) -> Result<Self, JournalError> {
        let (journal, run) = (&recorder.journal, &recorder.run);
        let turn = match next.filter(|_| seen.is_empty()) {
            Some(number) => journal.next_turn(run, number).await?,
            None => journal.begin_turn(run, seen).await?,
        };
        recorder.announce(SessionEvent::TurnStarted {
            turn: turn.number,
            calls,
        });
        let (recorder, began) = (recorder.clone(), Instant::now());
        Ok(Self {
            recorder,
            turn,
            began,
            is_answered: false,
        })
    }

    pub(crate) fn end(mut self) {
        self.is_answered = true;
        let (turn, ms) = (self.turn.number, millis(self.began.elapsed()));
        self.recorder
            .announce(SessionEvent::TurnCompleted { turn, ms });
    }
}

impl Drop for OpenTurn {
    fn drop(&mut self) {
        self.recorder
            .journal
            .post_turn_end(&self.recorder.run, self.turn.number);
        if !self.is_answered {
            let message = format!("Turn {} was stopped before its end.", self.turn.number);
            self.recorder.announce(SessionEvent::Warning { message });
        }
    }
}

/// A duration as events say it.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
