//! The session's editor. Every edit requires a permission.

use telechir_device::{DeviceError, Edited, Editor};
use telechir_policy::{EditProposal, Permitted};
use telechir_protocol::{EditStep, EditTool};

use super::{no_permission, within};
use crate::SessionLimits;

/// The session's editor of text files.
#[derive(Debug)]
pub(crate) struct EditorSlot {
    editor: Box<dyn Editor>,
}

impl EditorSlot {
    pub(crate) fn new(editor: Box<dyn Editor>) -> Self {
        Self { editor }
    }

    /// The absolute paths of the workspace and the memory folder.
    pub(crate) fn folders(&self) -> (String, String) {
        let memory = self.editor.memory().unwrap_or_default();
        (self.editor.workspace(), memory)
    }

    /// Finds the files of a step without editing them.
    pub(crate) async fn locate(
        &mut self,
        tool: EditTool,
        step: &EditStep,
        limits: &SessionLimits,
    ) -> Result<EditStep, DeviceError> {
        within(
            "find the file",
            limits.action_timeout,
            self.editor.locate(tool, step),
        )
        .await
    }

    /// Performs one of the permitted steps.
    pub(crate) async fn edit(
        &mut self,
        permit: &Permitted<EditProposal>,
        at: usize,
        limits: &SessionLimits,
    ) -> Result<Edited, DeviceError> {
        let proposal = permit.proposal();
        let step = proposal.steps.get(at).ok_or_else(no_permission)?;
        let edit = self.editor.edit(proposal.tool, step);
        within("edit the file", limits.action_timeout, edit).await
    }
}
