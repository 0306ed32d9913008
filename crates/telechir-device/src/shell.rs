//! A shell that remembers: folder, variables and functions last from command to command.

use std::future::Future;
use std::time::Duration;

use telechir_protocol::{Command, CommandOutput};

use crate::DeviceError;

/// One command with its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCommand {
    /// What to run.
    pub command: Command,
    /// After so long the command and all it started is ended; the shell stays.
    pub timeout: Duration,
    /// How many bytes of each stream are kept, as head and tail.
    pub max_output_bytes: usize,
    /// The folder to run in, for this command only.
    pub cwd: Option<String>,
    /// Variables to set, for this command only.
    pub env: Vec<(String, String)>,
}

/// A persistent shell.
///
/// Contract: every command has exactly one output, known by an event and not by polling or by
/// text in the output; a command that was ended is never a success; after any outcome the next
/// command can run, and when the shell had to be started anew its output says so.
pub trait Shell: Send {
    /// Runs one command to its end, its time-out, or until it waits for input.
    ///
    /// Dropping the future gives its output up and does not wait for its end: the command may
    /// still have effects until the next `run`, [`Shell::end_command`], [`Shell::restart`] or
    /// [`Shell::close`], each of which ends it first with all it started. So a command that was
    /// dropped never runs beside a later one, and none of its output is in a later one's.
    ///
    /// # Errors
    /// When no shell can be had. What a command does wrong is in its output.
    fn run(
        &mut self,
        command: &ShellCommand,
    ) -> impl Future<Output = Result<CommandOutput, DeviceError>> + Send;

    /// Ends the command that is still running: one whose `run` was dropped, or that waits for
    /// input. The shell stays. A shell that leaves nothing running has nothing to do.
    ///
    /// # Errors
    /// When the shell was lost with it.
    fn end_command(&mut self) -> impl Future<Output = Result<(), DeviceError>> + Send {
        std::future::ready(Ok(()))
    }

    /// Ends the shell with all it started and begins a new one.
    ///
    /// # Errors
    /// When no new shell can be had.
    fn restart(&mut self) -> impl Future<Output = Result<(), DeviceError>> + Send;

    /// The folder after the last command.
    fn cwd(&self) -> Option<String>;

    /// Whether commands run in a sandbox; false when the user chose the host.
    fn is_sandboxed(&self) -> bool;

    /// Ends the shell and every process it started.
    ///
    /// # Errors
    /// When something could not be ended.
    fn close(self) -> impl Future<Output = Result<(), DeviceError>> + Send;
}
