//! Shell calls and their results, one output a command.

mod awaiting;
mod json;
mod text;
mod view;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use awaiting::{InputRequest, InputRequestKind};
pub use view::CommandExecution;

use crate::{CallId, Failure, Meta};

/// What is asked of the shell.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum ShellAction {
    /// Run the commands, one after another.
    #[default]
    Execute,
    /// End the shell and start a new one.
    Restart,
    /// Send text to a command that waits for input.
    SendText(String),
    /// Send a key, such as `ctrl+c`, to it.
    SendKey(String),
    /// Tell it that no more input comes.
    CloseInput,
    /// Interrupt it, as control-C does.
    Interrupt,
    /// Start the commands in the background.
    Start,
    /// Which background jobs are there?
    List,
    /// What did a background job print since the last read?
    Read(String),
    /// End a background job.
    Stop(String),
    /// An action nobody here knows.
    Other(String),
}

/// A command as the provider wrote it: a line for the shell, or a list of arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Command {
    /// A line or script that bash reads.
    Line(String),
    /// A program and its arguments (OpenAI `local_shell`); no shell reads them.
    Argv(Vec<String>),
}

impl Command {
    /// The command as a line that bash reads to the same effect.
    pub fn to_line(&self) -> String {
        match self {
            Self::Line(line) => line.clone(),
            Self::Argv(argv) => argv
                .iter()
                .map(|word| quote(word))
                .collect::<Vec<_>>()
                .join(" "),
        }
    }
}

fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Who is meant to run a shell call.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ShellEnvironment {
    /// We are.
    #[default]
    Local,
    /// The provider does, in a container of its own: the call is only read.
    Hosted {
        /// The provider's name of the container.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        container_id: Option<String>,
    },
}

/// What a model asks of a shell: one call, any number of commands, one result.
#[derive(Clone, Debug, PartialEq)]
pub struct ShellCall {
    /// Joins call and result.
    pub call_id: CallId,
    /// The provider's name of the item (OpenAI `sh_…`).
    pub item_id: Option<String>,
    /// What is asked.
    pub action: ShellAction,
    /// The commands in order; empty where the action needs none.
    pub commands: Vec<Command>,
    /// The background job that input is for; absent means the command that waits in front.
    pub job: Option<String>,
    /// Milliseconds the commands may take together; absent means our own limit.
    pub timeout_ms: Option<u64>,
    /// Characters of output the model wants at most; absent means our own limit.
    pub max_output: Option<u64>,
    /// The folder to run in, for this call only.
    pub cwd: Option<String>,
    /// Variables to set, for this call only.
    pub env: Map<String, Value>,
    /// The user to run as, where a provider says one.
    pub user: Option<String>,
    /// Who runs it.
    pub environment: ShellEnvironment,
    /// How far the model was with writing it.
    pub status: Option<String>,
    /// Why the call cannot be carried out at all: it could not be understood.
    pub exception: Option<String>,
    /// What every content carries.
    pub meta: Meta,
}

impl ShellCall {
    /// A call that runs these commands with nothing else.
    pub fn execute(call_id: impl Into<CallId>, commands: Vec<Command>) -> Self {
        Self {
            call_id: call_id.into(),
            item_id: None,
            action: ShellAction::Execute,
            commands,
            job: None,
            timeout_ms: None,
            max_output: None,
            cwd: None,
            env: Map::new(),
            user: None,
            environment: ShellEnvironment::Local,
            status: None,
            exception: None,
            meta: Meta::default(),
        }
    }
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ShellOutcome {
    /// It ended with exit code 0.
    #[default]
    Success,
    /// It ended with another exit code, or could not be run.
    Error,
    /// It was stopped because its time was over.
    Timeout,
    /// It was stopped, or refused.
    Cancelled,
    /// It was never begun.
    NotStarted,
    /// It waits for input on its terminal and still runs.
    AwaitingInput,
    /// It runs in the background.
    Running,
    /// A word of another vocabulary.
    #[serde(untagged)]
    Other(String),
}

/// What one command did.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandOutput {
    /// Standard output, head and tail when it was long.
    pub stdout: String,
    /// Standard error, likewise.
    #[serde(default)]
    pub stderr: String,
    /// Its exit code; absent when it did not end by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// How it ended.
    #[serde(default)]
    pub outcome: ShellOutcome,
    /// Bytes of both streams that were left out of `stdout` and `stderr`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub truncated_bytes: u64,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// What it waits for, when it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaiting: Option<InputRequest>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// The one result of a [`ShellCall`].
#[derive(Clone, Debug, PartialEq)]
pub struct ShellResult {
    /// Joins call and result.
    pub call_id: CallId,
    /// The provider's name of the item.
    pub item_id: Option<String>,
    /// One entry a command, in order.
    pub outputs: Vec<CommandOutput>,
    /// Whether stdout and stderr came as one text (a history of a dialect that joins them).
    pub combined: bool,
    /// The shell's folder afterwards.
    pub cwd: Option<String>,
    /// The limit the model asked for, to be echoed.
    pub max_output: Option<u64>,
    /// Why nothing was run at all: refused, not understood, no sandbox.
    pub error: Option<Failure>,
    /// What every content carries.
    pub meta: Meta,
}

impl ShellResult {
    /// A result of these outputs.
    pub fn new(call_id: impl Into<CallId>, outputs: Vec<CommandOutput>) -> Self {
        Self {
            call_id: call_id.into(),
            item_id: None,
            outputs,
            combined: false,
            cwd: None,
            max_output: None,
            error: None,
            meta: Meta::default(),
        }
    }

    /// All standard output together: the decision record's single view.
    pub fn stdout(&self) -> String {
        self.outputs
            .iter()
            .map(|output| output.stdout.as_str())
            .collect()
    }

    /// All standard error together.
    pub fn stderr(&self) -> String {
        self.outputs
            .iter()
            .map(|output| output.stderr.as_str())
            .collect()
    }

    /// The first exit code that is not 0, else the last one.
    pub fn exit_code(&self) -> Option<i32> {
        let codes = || self.outputs.iter().filter_map(|output| output.exit_code);
        codes()
            .find(|code| *code != 0)
            .or_else(|| codes().next_back())
    }

    /// The first outcome that is not a success, else success.
    pub fn outcome(&self) -> ShellOutcome {
        let outcomes = self.outputs.iter().map(|output| &output.outcome);
        outcomes
            .into_iter()
            .find(|outcome| **outcome != ShellOutcome::Success)
            .cloned()
            .unwrap_or_default()
    }
}
