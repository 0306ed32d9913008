//! Shell calls and their results, with one output per command.

mod input_request;
mod json;
mod text;
mod view;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use input_request::{InputRequest, InputRequestKind};
pub use view::CommandExecution;

use crate::json::or_default;
use crate::{CallId, Failure, Meta};

/// What a shell call does.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum ShellAction {
    /// Run the commands in order.
    #[default]
    Execute,
    /// End the shell and start a new one.
    Restart,
    /// Send text to a command that waits for input.
    SendText(String),
    /// Send a key, such as `ctrl+c`, to a command that waits for input.
    SendKey(String),
    /// Close the input of a command that waits for it.
    CloseInput,
    /// Interrupt the command, like Ctrl+C.
    Interrupt,
    /// Start the commands in the background.
    Start,
    /// List the background jobs.
    List,
    /// Read a background job's output since the last read.
    Read(String),
    /// End a background job.
    Stop(String),
    /// An unknown action, retained verbatim.
    Other(String),
}

/// A command as the provider wrote it: a line for the shell, or a list of arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    untagged,
    expecting = "the value is not a command: a line, or a list of arguments"
)]
pub enum Command {
    /// A line or script for bash.
    Line(String),
    /// A program and its arguments (OpenAI `local_shell`), run without a shell.
    Argv(Vec<String>),
}

impl Command {
    /// The command as a bash line with the same effect.
    pub fn to_line(&self) -> String {
        match self {
            Self::Line(line) => line.clone(),
            Self::Argv(argv) => argv
                .iter()
                .map(|argument| quote(argument))
                .collect::<Vec<_>>()
                .join(" "),
        }
    }
}

fn quote(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

/// Who runs a shell call.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ShellEnvironment {
    /// This program runs it.
    #[default]
    Local,
    /// The provider runs it in its own container; the call is only decoded.
    Hosted {
        /// The provider's id of the container.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        container_id: Option<String>,
    },
}

impl ShellEnvironment {
    fn is_local(&self) -> bool {
        *self == Self::Local
    }
}

/// A model's call to a shell: any number of commands, one result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ShellCall", transform = crate::schema::forms::never_null)
)]
#[serde(remote = "Self")]
pub struct ShellCall {
    /// Pairs the call with its result.
    pub call_id: CallId,
    /// The provider's id of the item (OpenAI `sh_…`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// What the call does.
    #[serde(flatten, with = "json::action_members")]
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::forms::shell_action")
    )]
    pub action: ShellAction,
    /// The commands in order; empty for actions without commands.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub commands: Vec<Command>,
    /// The background job to send input to; absent means the foreground command.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Maximum time of all commands together in milliseconds; absent means the session's limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Maximum output in characters; absent means the session's limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// Working directory for this call only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Environment variables for this call only.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Map::is_empty"
    )]
    pub env: Map<String, Value>,
    /// The user to run as, if the provider sends one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Who runs the call.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "ShellEnvironment::is_local"
    )]
    pub environment: ShellEnvironment,
    /// The provider's status of the call, such as `completed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Why the call cannot be executed: it could not be decoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exception: Option<String>,
    /// Members common to all contents.
    #[serde(flatten)]
    pub meta: Meta,
}

impl ShellCall {
    /// Creates a call that runs these commands.
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
    /// It was stopped because its timeout expired.
    Timeout,
    /// It was stopped, or refused.
    Cancelled,
    /// It was not started.
    NotStarted,
    /// It is still running and waits for input on its terminal.
    AwaitingInput,
    /// It is running in the background.
    Running,
    /// An outcome of another vocabulary, retained verbatim.
    #[serde(untagged)]
    Other(String),
}

/// The output of one command.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandOutput {
    /// Standard output; only head and tail if it was long.
    pub stdout: String,
    /// Standard error; only head and tail if it was long.
    #[serde(default)]
    pub stderr: String,
    /// Exit code; absent if the command did not exit by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// How the command ended.
    #[serde(default)]
    pub outcome: ShellOutcome,
    /// Number of bytes omitted from `stdout` and `stderr`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub truncated_bytes: u64,
    /// Duration of the command in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The input that the command waits for; absent if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaiting: Option<InputRequest>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// The result of a [`ShellCall`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ShellResult", transform = crate::schema::forms::never_null)
)]
#[serde(remote = "Self")]
pub struct ShellResult {
    /// Pairs the result with its call.
    pub call_id: CallId,
    /// The provider's id of the item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// One output per command, in order.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(required))]
    pub outputs: Vec<CommandOutput>,
    /// Whether stdout and stderr are one text, as in histories of dialects that join them.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub combined: bool,
    /// The shell's working directory after the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The output limit in the model's call, which some dialects echo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// Why nothing was run: refused, not understood, no sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// Members common to all contents.
    #[serde(flatten)]
    pub meta: Meta,
}

impl ShellResult {
    /// Creates a result with these outputs.
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

    /// Standard output of all commands: the decision record's single view.
    pub fn stdout(&self) -> String {
        self.outputs
            .iter()
            .map(|output| output.stdout.as_str())
            .collect()
    }

    /// Standard error of all commands.
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
