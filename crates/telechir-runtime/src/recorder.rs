//! Sends everything that happens in one session to the journal and the event bus.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::Value;
use telechir_protocol::{CallId, Content, Failure, FailureKind, ModelTurn, ToolCall};

use crate::bus::EventBus;
use crate::journal::{
    ActionKey, BeginOutcome, ConversationEntry, Journal, OpenedTurn, RecordKind, RecordedStep,
    Repeat, RunId, WriteReceipt,
};
use crate::{CallKind, JournalError, SessionEvent, TurnIdentity};

/// Writes to one session's journal and event bus.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    pub(crate) run: RunId,
    pub(crate) journal: Journal,
    pub(crate) bus: EventBus,
    /// Receipts of enqueued outcomes that are not yet confirmed.
    receipts: Arc<Mutex<Vec<WriteReceipt>>>,
}

impl Recorder {
    pub(crate) fn new(run: RunId, journal: Journal) -> Self {
        Self {
            run,
            journal,
            bus: EventBus::new(),
            receipts: Arc::default(),
        }
    }

    /// Emits an event. The journal has it before anything that is waited for later.
    pub(crate) fn emit(&self, event: SessionEvent) {
        self.journal.send_event(&self.run, &event);
        self.bus.send(event);
    }

    /// Records a call as the model made it; durable before any of its intents.
    pub(crate) async fn call(&self, content: &Content) -> Result<(), JournalError> {
        let body = serde_json::to_value(content).unwrap_or_default();
        self.journal
            .enqueue(&self.run, RecordKind::Call, body)
            .await
    }

    /// Records an entry of the conversation; durable when this returns.
    pub(crate) async fn converse(&self, entry: &ConversationEntry) -> Result<(), JournalError> {
        let body = serde_json::to_value(entry).unwrap_or_default();
        self.journal
            .write(&self.run, RecordKind::Conversation, body)
            .await
    }

    /// Records a call's result, with images replaced by their digests.
    pub(crate) async fn answer(&self, content: &Content) -> Result<(), JournalError> {
        let mut body = serde_json::to_value(content).unwrap_or_default();
        for (digest, bytes) in take_screenshots(&mut body) {
            tracing::debug!(%digest, bytes = bytes.len(), "store an image");
            self.journal.put_blob(bytes).await?;
        }
        self.journal
            .write(&self.run, RecordKind::Answer, body)
            .await?;
        self.outcomes_are_written().await
    }

    /// Waits for the enqueued outcomes. An error means that nothing may depend on them.
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

    /// The steps of a call that were started earlier.
    pub(crate) async fn recorded_steps(
        &self,
        turn: OpenedTurn,
        call_id: &CallId,
    ) -> Result<Vec<RecordedStep>, JournalError> {
        if !turn.is_retry {
            return Ok(Vec::new());
        }
        self.journal
            .recorded_steps(&self.run, turn.number, call_id)
            .await
    }

    /// Makes a step's intent durable.
    pub(crate) async fn begin(
        &self,
        key: &ActionKey,
        body: Value,
        repeat: Repeat,
    ) -> Result<BeginOutcome, JournalError> {
        let outcome = self.journal.begin(&self.run, key, body, repeat).await?;
        self.outcomes_are_written().await?;
        Ok(outcome)
    }
}

/// Replaces every image in a value by its digest and returns the bytes.
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

/// A step that has started. If dropped before it ends, it is recorded as cancelled.
#[derive(Debug)]
pub(crate) struct StepGuard {
    recorder: Recorder,
    key: ActionKey,
    /// The event to emit if the step is cancelled.
    cancelled_event: Option<SessionEvent>,
    started_at: Instant,
}

impl StepGuard {
    pub(crate) fn new(recorder: &Recorder, key: ActionKey, cancelled: SessionEvent) -> Self {
        let recorder = recorder.clone();
        Self {
            recorder,
            key,
            cancelled_event: Some(cancelled),
            started_at: Instant::now(),
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started_at.elapsed()
    }

    /// Enqueues the outcome, then emits the event. The outcome is durable before the next effect
    /// and before the answer.
    pub(crate) async fn finish(
        mut self,
        body: Value,
        event: SessionEvent,
    ) -> Result<(), JournalError> {
        let (journal, run) = (self.recorder.journal.clone(), self.recorder.run.clone());
        // The action has happened, so its outcome is written even if this future is dropped.
        self.cancelled_event = None;
        let receipt = journal.finish(&run, &self.key, body).await?;
        let receipts = &self.recorder.receipts;
        let mut receipts = receipts.lock().unwrap_or_else(PoisonError::into_inner);
        receipts.push(receipt);
        drop(receipts);
        self.recorder.emit(event);
        Ok(())
    }
}

impl Drop for StepGuard {
    fn drop(&mut self) {
        let Some(mut event) = self.cancelled_event.take() else {
            return;
        };
        if let SessionEvent::ActionFinished { ms, .. } = &mut event {
            *ms = u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX);
        }
        let body = serde_json::json!({ "cancelled": true });
        self.recorder
            .journal
            .send_outcome(&self.recorder.run, &self.key, body);
        self.recorder.emit(event);
    }
}

/// A call that was announced. If dropped before its answer, it is announced as cancelled.
#[derive(Debug)]
pub(crate) struct CallGuard {
    recorder: Recorder,
    /// None once the end is announced.
    call_id: Option<CallId>,
    started_at: Instant,
}

impl CallGuard {
    /// Announces the call, which arrived at `started_at`.
    pub(crate) fn begin(
        recorder: &Recorder,
        call_id: CallId,
        kind: CallKind,
        steps: Vec<String>,
        started_at: Instant,
    ) -> Self {
        recorder.emit(SessionEvent::CallReceived {
            call_id: call_id.clone(),
            kind,
            steps,
        });
        Self {
            recorder: recorder.clone(),
            call_id: Some(call_id),
            started_at,
        }
    }

    /// Announces the result, which is recorded.
    pub(crate) fn answered(mut self, failure: Option<Failure>) {
        self.end(failure);
    }

    fn end(&mut self, failure: Option<Failure>) {
        if let Some(call_id) = self.call_id.take() {
            let ms = millis(self.started_at.elapsed());
            self.recorder.emit(SessionEvent::CallAnswered {
                call_id,
                failure,
                ms,
            });
        }
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        let message = "The call was stopped before it had a result.";
        self.end(Some(Failure::new(FailureKind::Cancelled, message)));
    }
}

/// Whether a turn may have been delivered before.
#[derive(Debug)]
pub(crate) enum Delivery {
    /// A new turn, even if its call ids equal those of earlier turns.
    First,
    /// Possibly a retry, recognized by these ids of its calls.
    MaybeRetry(Vec<CallId>),
    /// The turn with this number, which an earlier process started.
    Continued(u64),
}

impl Delivery {
    /// A turn that may be a retry, recognized by the ids of its calls.
    pub(crate) fn maybe_retry(turn: &ModelTurn) -> Self {
        let calls = turn.calls();
        Self::MaybeRetry(
            calls
                .iter()
                .filter_map(ToolCall::call_id)
                .cloned()
                .collect(),
        )
    }
}

/// A turn that has started. If dropped, its end is recorded with a warning.
#[derive(Debug)]
pub(crate) struct TurnGuard {
    recorder: Recorder,
    pub(crate) turn: OpenedTurn,
    started_at: Instant,
    is_answered: bool,
}

impl TurnGuard {
    /// Starts a turn of `calls` calls, or continues an earlier turn, as `delivery` says.
    /// `next` is its number if the previous turn is known to have ended.
    pub(crate) async fn begin(
        recorder: &Recorder,
        calls: usize,
        delivery: Delivery,
        next: Option<u64>,
        identity: Option<TurnIdentity>,
    ) -> Result<Self, JournalError> {
        let (journal, run) = (&recorder.journal, &recorder.run);
        let turn = match (delivery, next) {
            (Delivery::Continued(number), _) => OpenedTurn {
                number,
                is_retry: true,
            },
            (Delivery::First, Some(number)) => journal.next_turn(run, number).await?,
            (Delivery::First, None) => journal.begin_turn(run, Vec::new()).await?,
            (Delivery::MaybeRetry(ids), Some(number)) if ids.is_empty() => {
                journal.next_turn(run, number).await?
            }
            (Delivery::MaybeRetry(ids), _) => journal.begin_turn(run, ids).await?,
        };
        recorder.emit(SessionEvent::TurnStarted {
            turn: turn.number,
            calls,
            identity,
        });
        let (recorder, started_at) = (recorder.clone(), Instant::now());
        Ok(Self {
            recorder,
            turn,
            started_at,
            is_answered: false,
        })
    }

    pub(crate) fn end(mut self) {
        self.is_answered = true;
        let (turn, ms) = (self.turn.number, millis(self.started_at.elapsed()));
        self.recorder.emit(SessionEvent::TurnCompleted { turn, ms });
    }
}

impl Drop for TurnGuard {
    fn drop(&mut self) {
        self.recorder
            .journal
            .send_turn_end(&self.recorder.run, self.turn.number);
        if !self.is_answered {
            let message = format!(
                "Turn {} was stopped before it was complete.",
                self.turn.number
            );
            self.recorder.emit(SessionEvent::Warning { message });
        }
    }
}

/// A duration in milliseconds, as events contain it.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
