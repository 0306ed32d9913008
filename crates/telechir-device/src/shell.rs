//! A shell that remembers: folder, variables and functions last from command to command.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use telechir_protocol::{Chord, Command, CommandOutput, ShellOutcome};

use crate::DeviceError;

/// One command with its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCommand {
    /// What to run.
    pub command: Command,
    /// After so long the command and all it started is ended; the shell stays.
    pub timeout: Duration,
    /// How many bytes of output are kept, of both streams together, as head and tail.
    pub max_output_bytes: usize,
    /// The folder to run in, for this command only.
    pub cwd: Option<String>,
    /// Variables to set, for this command only.
    pub env: Vec<(String, String)>,
}

/// What is typed into a command that runs.
#[derive(Clone, PartialEq, Eq)]
pub enum Typed {
    /// Text, as it is.
    Text(String),
    /// Keys that are pressed together.
    Key(Chord),
    /// That no more input comes.
    End,
    /// An interrupt, as control-C gives.
    Interrupt,
}

/// Without the text: it may be a password.
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

/// Input for a command that runs, and how long what follows is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellInput {
    /// The background job it is for; absent means the command that waits in front.
    pub job: Option<String>,
    /// What is typed.
    pub typed: Typed,
    /// After so long the command in front is ended with all it started; a job goes on.
    pub timeout: Duration,
    /// How many bytes of output are kept, of both streams together, as head and tail.
    pub max_output_bytes: usize,
}

/// A background job as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellJob {
    /// Its name.
    pub name: String,
    /// What it runs.
    pub command: Command,
    /// How long it runs, or ran.
    pub ran: Duration,
    /// What became of it: [`ShellOutcome::Running`] or [`ShellOutcome::AwaitingInput`] while it
    /// runs.
    pub outcome: ShellOutcome,
    /// Its exit code, when it ended by itself.
    pub exit_code: Option<i32>,
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

    /// Types into the command that waits for input, or into a background job, and follows it to
    /// its end, its time-out, or until it waits again. The output is what came since the last.
    ///
    /// # Errors
    /// When no such command runs, or this shell cannot do it.
    fn send(
        &mut self,
        input: &ShellInput,
    ) -> impl Future<Output = Result<CommandOutput, DeviceError>> + Send {
        let _not_here = input;
        std::future::ready(unsupported("send input"))
    }

    /// Whether what is typed into the command now is not shown on its terminal: a password, which
    /// must not be recorded.
    fn hides_input(&self, job: Option<&str>) -> bool {
        let _not_here = job;
        false
    }

    /// Starts a command in the background, in the shell's folder and with its environment. Its
    /// output is [`ShellOutcome::Running`] and names the job.
    ///
    /// # Errors
    /// When it cannot be started, or this shell cannot do it.
    fn start(
        &mut self,
        command: &ShellCommand,
    ) -> impl Future<Output = Result<CommandOutput, DeviceError>> + Send {
        let _not_here = command;
        std::future::ready(unsupported("start"))
    }

    /// The background jobs, oldest first.
    ///
    /// # Errors
    /// When this shell cannot do it.
    fn jobs(&mut self) -> impl Future<Output = Result<Vec<ShellJob>, DeviceError>> + Send {
        std::future::ready(unsupported("list"))
    }

    /// What a background job printed since it was last read, and what became of it.
    ///
    /// # Errors
    /// When there is no such job, or this shell cannot do it.
    fn read(
        &mut self,
        job: &str,
        max_output_bytes: usize,
    ) -> impl Future<Output = Result<CommandOutput, DeviceError>> + Send {
        let _not_here = (job, max_output_bytes);
        std::future::ready(unsupported("read"))
    }

    /// Ends a background job with all it started; its last output.
    ///
    /// # Errors
    /// When there is no such job, or this shell cannot do it.
    fn stop(
        &mut self,
        job: &str,
        max_output_bytes: usize,
    ) -> impl Future<Output = Result<CommandOutput, DeviceError>> + Send {
        let _not_here = (job, max_output_bytes);
        std::future::ready(unsupported("stop"))
    }

    /// Ends the command that is still running: one whose `run` was dropped, or that waits for
    /// input. The shell stays. Its last output is [`ShellOutcome::Cancelled`]; none when nothing ran.
    ///
    /// # Errors
    /// When the shell was lost with it.
    fn end_command(
        &mut self,
    ) -> impl Future<Output = Result<Option<CommandOutput>, DeviceError>> + Send {
        std::future::ready(Ok(None))
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

    /// What its commands may use up all together, in words for people; none where nothing bounds
    /// them or nobody can say.
    fn bounds(&self) -> Option<String> {
        None
    }

    /// Ends the shell and every process it started.
    ///
    /// # Errors
    /// When something could not be ended.
    fn close(self) -> impl Future<Output = Result<(), DeviceError>> + Send;
}

fn unsupported<T>(action: &str) -> Result<T, DeviceError> {
    Err(DeviceError::Unsupported {
        action: action.to_owned(),
        device: "shell",
    })
}
