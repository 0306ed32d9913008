//! An editor of the files of a workspace and of a model's memory.

use std::future::Future;

use telechir_protocol::{EditStep, EditTool};

use crate::DeviceError;

/// What an edit says and did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// For the model: what it asked to see, or what is there now.
    pub text: String,
    /// Whether a file is another than before.
    pub changed: bool,
}

/// An editor.
///
/// Contract: nothing outside of the workspace and the memory is read or written, whatever a path
/// says and wherever links lead; a file is either as it was or as it was asked to be, never half
/// of it, whenever the power goes; what only looks changes nothing.
pub trait Editor: Send {
    /// The step with the paths of the files themselves, absolute, no link among them. A path
    /// that is not absolute is one of the workspace.
    ///
    /// # Errors
    /// When a path leads out, or names nothing an editor can open.
    fn locate(
        &mut self,
        tool: EditTool,
        step: &EditStep,
    ) -> impl Future<Output = Result<EditStep, DeviceError>> + Send;

    /// Carries out a step that was located. When links changed meanwhile it is not carried out.
    ///
    /// # Errors
    /// When it cannot be done; then no file is changed.
    fn edit(
        &mut self,
        tool: EditTool,
        located: &EditStep,
    ) -> impl Future<Output = Result<Edited, DeviceError>> + Send;

    /// The folder that located paths of the workspace begin with.
    fn workspace(&self) -> String;

    /// The folder that located paths of the memory begin with; none without a memory.
    fn memory(&self) -> Option<String>;
}
