//! A persistent shell: working directory, variables and functions persist between commands.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use telechir_protocol::{Chord, Command, CommandOutput, ShellOutcome};

use crate::DeviceError;

/// One command with its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCommand {
    /// The command to run.
    pub command: Command,
    /// After this time the command and all its descendants are ended; the shell stays.
    pub timeout: Duration,
    /// Maximum retained output in bytes, of both streams together, as head and tail.
    pub max_output_bytes: usize,
    /// Working directory for this command only.
    pub cwd: Option<String>,
    /// Environment variables for this command only.
    pub env: Vec<(String, String)>,
}

/// Input for a running command.
#[derive(Clone, PartialEq, Eq)]
pub enum Typed {
    /// Text that is sent unchanged, without an added newline.
    Text(String),
    /// Keys that are pressed together.
    Key(Chord),
    /// End of input, like Ctrl+D on an empty line.
    End,
    /// An interrupt, like Ctrl+C.
    Interrupt,
}

/// Omits the text, which may be a password.
impl fmt::Debug for Typed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "Text({} characters)", text.chars().count()),
            Self::Key(_) => f.write_str("Key(..)"),
            Self::End => f.write_str("End"),
            Self::Interrupt => f.write_str("Interrupt"),
        }
    }
}

/// Input for a running command, and the limits of its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellInput {
    /// The background job; absent means the foreground command that waits.
    pub job: Option<String>,
    /// The input to send.
    pub typed: Typed,
    /// After this time a foreground command is ended with all its descendants; a job continues.
    pub timeout: Duration,
    /// Maximum retained output in bytes, of both streams together, as head and tail.
    pub max_output_bytes: usize,
}

/// The present state of a background job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellJob {
    /// Name of the job.
    pub name: String,
    /// The command of the job.
    pub command: Command,
    /// How long it has run.
    pub ran: Duration,
    /// Outcome: [`ShellOutcome::Running`] or [`ShellOutcome::AwaitingInput`] while it runs.
    pub outcome: ShellOutcome,
    /// Exit code, if it exited by itself.
    pub exit_code: Option<i32>,
}

/// Gets the output of commands while they run.
pub trait OutputObserver: Send + Sync + fmt::Debug {
    /// A part of the output of the running command, as its program wrote it. Must not block.
    fn output(&self, bytes: &[u8]);
}

/// A persistent shell.
///
/// Contract: every command has exactly one output, whose end is reported by an event and not by
/// polling or by text in the output; a command that was ended is never a success; after any outcome
/// the next command can run, and if the shell was restarted its output says so.
#[async_trait]
pub trait Shell: Send + fmt::Debug {
    /// Runs one command until it ends, times out, or waits for input.
    ///
    /// Dropping the future discards the output and does not wait for the end: the command may still
    /// have effects until the next `run`, [`Shell::end_command`], [`Shell::restart`] or
    /// [`Shell::close`], each of which first ends it with all its descendants. So a dropped command
    /// never runs beside a later one, and none of its output is in a later one's.
    ///
    /// # Errors
    /// When no shell can be started. Errors of the command are part of its output.
    async fn run(&mut self, command: &ShellCommand) -> Result<CommandOutput, DeviceError>;

    /// Sends input to the command that waits for it, or to a background job, and follows it until
    /// it ends, times out, or waits again. The output is what was printed since the last output.
    ///
    /// # Errors
    /// When no such command runs, or this shell does not support it.
    async fn send(&mut self, _input: &ShellInput) -> Result<CommandOutput, DeviceError> {
        unsupported("send input")
    }

    /// Whether the terminal of the command would not echo input now, such as a password, which must
    /// not be recorded.
    fn hides_input(&self, _job: Option<&str>) -> bool {
        false
    }

    /// Starts a command in the background, in the shell's working directory and environment. Its
    /// output is [`ShellOutcome::Running`] and names the job.
    ///
    /// # Errors
    /// When it cannot be started, or this shell does not support it.
    async fn start(&mut self, _command: &ShellCommand) -> Result<CommandOutput, DeviceError> {
        unsupported("start")
    }

    /// Lists the background jobs, oldest first.
    ///
    /// # Errors
    /// When this shell does not support it.
    async fn jobs(&mut self) -> Result<Vec<ShellJob>, DeviceError> {
        unsupported("list")
    }

    /// Returns the output of a background job since the last read, and its outcome.
    ///
    /// # Errors
    /// When there is no such job, or this shell does not support it.
    async fn read(
        &mut self,
        _job: &str,
        _max_output_bytes: usize,
    ) -> Result<CommandOutput, DeviceError> {
        unsupported("read")
    }

    /// Ends a background job with all its descendants, and returns its last output.
    ///
    /// # Errors
    /// When there is no such job, or this shell does not support it.
    async fn stop(
        &mut self,
        _job: &str,
        _max_output_bytes: usize,
    ) -> Result<CommandOutput, DeviceError> {
        unsupported("stop")
    }

    /// Ends the running command: one whose `run` was dropped, or that waits for input. The shell
    /// stays. Its last output is [`ShellOutcome::Cancelled`]; none if nothing was running.
    ///
    /// # Errors
    /// When the shell was lost with it.
    async fn end_command(&mut self) -> Result<Option<CommandOutput>, DeviceError> {
        Ok(None)
    }

    /// Ends the shell with all its descendants and starts a new one.
    ///
    /// # Errors
    /// When no new shell can be started.
    async fn restart(&mut self) -> Result<(), DeviceError>;

    /// Passes the output of the commands that are run from now on to this observer, too, while they
    /// run. Those in the background are not observed.
    fn observe_output(&mut self, _observer: Arc<dyn OutputObserver>) {}

    /// Working directory after the last command.
    fn cwd(&self) -> Option<String>;

    /// Whether commands run in a sandbox; false on the host.
    fn is_sandboxed(&self) -> bool;

    /// Resource limits of all its commands together, as text for users; none if there are none or
    /// they are unknown.
    fn bounds(&self) -> Option<String> {
        None
    }

    /// Ends the shell and every process that it started.
    ///
    /// # Errors
    /// When something could not be ended.
    async fn close(self: Box<Self>) -> Result<(), DeviceError>;
}

fn unsupported<T>(action: &str) -> Result<T, DeviceError> {
    Err(DeviceError::Unsupported {
        action: action.to_owned(),
        device: "shell",
    })
}
