//! An editor of the files in a workspace and in a model's memory.

use std::fmt;

use async_trait::async_trait;
use telechir_protocol::{EditStep, EditTool};

use crate::DeviceError;

/// The result of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// Text for the model: the requested view, or the new state.
    pub text: String,
    /// Whether a file was changed.
    pub changed: bool,
}

/// An editor of text files.
///
/// Contract: nothing outside the workspace and the memory is read or written, whatever the path and
/// wherever links lead; a file has either its old or its new content, never a mixture, even after a
/// power failure; a step that only reads changes nothing.
#[async_trait]
pub trait Editor: Send + fmt::Debug {
    /// Returns the step with absolute paths of the files, without symbolic links. A relative path
    /// is relative to the workspace.
    ///
    /// # Errors
    /// When a path leads outside, or to something that cannot be edited.
    async fn locate(&mut self, tool: EditTool, step: &EditStep) -> Result<EditStep, DeviceError>;

    /// Performs a located step. If links changed since, it is not performed.
    ///
    /// # Errors
    /// When it cannot be performed; then no file is changed.
    async fn edit(&mut self, tool: EditTool, located: &EditStep) -> Result<Edited, DeviceError>;

    /// Absolute path of the workspace folder.
    fn workspace(&self) -> String;

    /// Absolute path of the memory folder; none without a memory.
    fn memory(&self) -> Option<String>;
}
