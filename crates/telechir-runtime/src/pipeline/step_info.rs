//! What the journal and events contain about one step.

use std::time::Duration;

use serde_json::{Value, json};
use telechir_policy::{Digest, Verdict};
use telechir_protocol::{ActionKind, CallId, Failure};

use crate::journal::{ActionKey, OpenedTurn};
use crate::recorder::millis;
use crate::{ActionEffect, DeviceKind, SessionEvent};

/// A step as events describe it.
pub(super) struct StepInfo {
    pub(super) call_id: CallId,
    pub(super) step: usize,
    pub(super) device: DeviceKind,
    /// Kind of a screen action; none for commands and edits.
    pub(super) kind: Option<ActionKind>,
    pub(super) summary: String,
    pub(super) verdict: Verdict,
}

impl StepInfo {
    /// The step's key in the journal and the body of its intent.
    pub(super) fn intent(&self, turn: OpenedTurn, body: Value) -> (ActionKey, Value) {
        let key = ActionKey {
            turn: turn.number,
            call_id: self.call_id.clone(),
            step: self.step,
            digest: Digest::of_json(&body),
        };
        let intent = json!({
            "turn": turn.number,
            "call_id": self.call_id.as_str(),
            "step": self.step,
            "digest": key.digest.to_string(),
            "verdict": self.verdict,
            "does": body,
        });
        (key, intent)
    }

    pub(super) fn started(&self) -> SessionEvent {
        SessionEvent::ActionStarted {
            call_id: self.call_id.clone(),
            step: self.step,
            device: self.device,
            kind: self.kind,
            summary: self.summary.clone(),
            verdict: self.verdict,
        }
    }

    pub(super) fn finished(
        &self,
        effect: ActionEffect,
        failure: Option<Failure>,
        outcome: Option<String>,
        took: Duration,
    ) -> SessionEvent {
        SessionEvent::ActionFinished {
            call_id: self.call_id.clone(),
            step: self.step,
            device: self.device,
            kind: self.kind,
            summary: self.summary.clone(),
            verdict: self.verdict,
            effect,
            failure,
            outcome,
            ms: millis(took),
        }
    }
}
