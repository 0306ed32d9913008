//! The session's editor, which edits what is permitted.

use telechir_device::{BoxEditor, DeviceError, Edited, Editor as _};
use telechir_policy::{EditProposal, Permitted};
use telechir_protocol::{EditStep, EditTool};

use super::{unpermitted, within};
use crate::Limits;

/// The editor of the session.
#[derive(Debug)]
pub(crate) struct EditorSlot {
    editor: BoxEditor,
}

impl EditorSlot {
    pub(crate) fn new(editor: BoxEditor) -> Self {
        Self { editor }
    }

    /// The folders that paths of the workspace and of the memory begin with.
    pub(crate) fn folders(&self) -> (String, String) {
        let memory = self.editor.memory().unwrap_or_default();
        (self.editor.workspace(), memory)
    }

    /// Finds the files of a step; nothing is done yet.
    pub(crate) async fn locate(
        &mut self,
        tool: EditTool,
        step: &EditStep,
        limits: &Limits,
    ) -> Result<EditStep, DeviceError> {
        within(
            "find the file",
            limits.action,
            self.editor.locate(tool, step),
        )
        .await
    }

    /// Carries out one of the permitted steps.
    pub(crate) async fn edit(
        &mut self,
        permit: &Permitted<EditProposal>,
        at: usize,
        limits: &Limits,
    ) -> Result<Edited, DeviceError> {
        let proposal = permit.proposal();
        let step = proposal.steps.get(at).ok_or_else(unpermitted)?;
        let edit = self.editor.edit(proposal.tool, step);
        within("edit the file", limits.action, edit).await
    }
}
