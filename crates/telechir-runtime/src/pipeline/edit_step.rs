//! The steps of an edit call.

use serde_json::{Value, json};
use telechir_device::Edited;
use telechir_policy::{EditProposal, Permitted, Verdict, summarize_edit};
use telechir_protocol::{EditCall, EditStep, Failure, FailureKind};

use super::step::{Performed, Step};
use super::step_info::StepInfo;
use crate::journal::Repeat;
use crate::recorder::StepGuard;
use crate::session_state::SessionState;
use crate::{ActionEffect, DeviceKind, RuntimeError};

/// One step of an edit call.
pub(super) struct EditOfFile<'a> {
    call: &'a EditCall,
    index: usize,
    /// The step with the model's own paths.
    requested: &'a EditStep,
    /// The step with the paths that events show.
    shown: &'a EditStep,
}

impl<'a> EditOfFile<'a> {
    pub(super) fn all(
        call: &'a EditCall,
        requested: &'a [EditStep],
        shown: &'a [EditStep],
    ) -> Vec<Self> {
        let steps = requested.iter().zip(shown).enumerate();
        let step = |(index, (requested, shown))| Self {
            call,
            index,
            requested,
            shown,
        };
        steps.map(step).collect()
    }
}

impl Step for EditOfFile<'_> {
    type Proposal = EditProposal;
    type Output = Result<String, Failure>;

    const INTERRUPTED: &'static str = "A crash happened during this edit, so the file is either unchanged or edited; check it before you continue.";
    const IS_REWRITTEN: bool = false;

    fn info(&self, verdict: Verdict) -> StepInfo {
        StepInfo {
            call_id: self.call.call_id.clone(),
            step: self.index,
            device: DeviceKind::Editor,
            kind: None,
            summary: summarize_edit(self.shown),
            verdict,
        }
    }

    fn intent(&self) -> Value {
        json!({ "device": "editor", "tool": self.call.tool, "step": self.requested })
    }

    fn repeat(&self) -> Repeat {
        if self.requested.is_read_only() {
            Repeat::Harmless
        } else {
            Repeat::Never
        }
    }

    async fn perform(
        &self,
        session: &mut SessionState,
        permit: &Permitted<EditProposal>,
        guard: &StepGuard,
    ) -> Result<Performed<Self::Output>, RuntimeError> {
        let edited = match &mut session.editor {
            Some(editor) => {
                let edited = editor.edit(permit, self.index, &session.limits).await;
                edited.map_err(|error| error.to_failure())
            }
            None => Err(editor_gone()),
        };
        let took = guard.elapsed();
        Ok(match edited {
            Ok(Edited { text, changed }) => Performed {
                body: json!({ "edited": text, "changed": changed }),
                effect: ActionEffect::Confirmed,
                failure: None,
                ended: Some(if changed { "changed" } else { "looked" }.to_owned()),
                took,
                output: Ok(text),
            },
            Err(failure) => Performed::failed(failure.clone(), Err(failure), took),
        })
    }

    fn recorded(&self, body: Value) -> Self::Output {
        match (body.get("edited"), body.get("failed")) {
            (Some(Value::String(text)), _) => Ok(text.clone()),
            (_, Some(failure)) => {
                Err(serde_json::from_value(failure.clone()).unwrap_or_else(|_| {
                    let message = "The edit failed; the recording has no reason.";
                    Failure::new(FailureKind::Device, message)
                }))
            }
            _ => Err(Failure::new(
                FailureKind::Cancelled,
                "The edit was stopped before it was complete; check the file before you continue.",
            )),
        }
    }

    fn interrupted(&self, failure: Failure) -> Self::Output {
        Err(failure)
    }

    fn failure(output: &Self::Output) -> Option<Failure> {
        output.as_ref().err().cloned()
    }
}

pub(super) fn editor_gone() -> Failure {
    Failure::new(FailureKind::Device, "The editor is gone.")
}
