//! The result of a call in the form that the tools return: named members, and at most a screenshot.

use std::time::Duration;

use serde_json::{Map, Value};
use telechir_protocol::{
    CommandOutput, ComputerResult, Failure, FailureKind, Media, ShellOutcome, ShellResult,
    ToolResult,
};

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolStatus {
    /// All of it was executed; a command ended with exit code 0, or runs in the background.
    Success,
    /// It failed; the message tells why.
    Error,
    /// The policy or the user denied it; it must not be worked around.
    Denied,
    /// It did not end in time.
    Timeout,
    /// A command waits for input on its terminal.
    AwaitingInput,
    /// It was stopped before its end; what it did until then stays.
    Cancelled,
}

impl ToolStatus {
    /// The word in the member `status`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Denied => "denied",
            Self::Timeout => "timeout",
            Self::AwaitingInput => "awaiting_input",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether the model should read the answer as an error.
    pub fn is_error(self) -> bool {
        matches!(
            self,
            Self::Error | Self::Denied | Self::Timeout | Self::Cancelled
        )
    }

    fn of(failure: &Failure) -> Self {
        match failure.kind {
            FailureKind::Denied => Self::Denied,
            FailureKind::Timeout => Self::Timeout,
            FailureKind::Cancelled => Self::Cancelled,
            FailureKind::InvalidInput
            | FailureKind::Unsupported
            | FailureKind::Stale
            | FailureKind::Device
            | FailureKind::NotExecuted
            | FailureKind::Interrupted => Self::Error,
        }
    }
}

/// What a tool returns.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolAnswer {
    /// How the call ended.
    pub status: ToolStatus,
    /// Named members, `status`, `duration_ms` and `voice_message` among them.
    pub members: Map<String, Value>,
    /// The screen afterwards, if the tool returns it.
    pub screenshot: Option<Media>,
}

impl ToolAnswer {
    /// The answer to a call that took `elapsed`.
    pub fn of(result: &ToolResult, elapsed: Duration) -> Self {
        let (status, members, screenshot) = match result {
            ToolResult::Shell(result) => shell(result),
            ToolResult::Computer(result) => computer(result),
            ToolResult::Edit(_) | ToolResult::Function(_) => {
                return Self::failed(
                    ToolStatus::Error,
                    "the session returned a result of another kind",
                    elapsed,
                );
            }
        };
        Self::with(status, members, screenshot, elapsed)
    }

    /// The answer to a call that was not executed, or that the session could not execute.
    pub fn failed(status: ToolStatus, message: &str, elapsed: Duration) -> Self {
        let mut members = Map::new();
        members.insert("message".to_owned(), message.into());
        Self::with(status, members, None, elapsed)
    }

    /// An answer with these members.
    pub fn success(members: Map<String, Value>, elapsed: Duration) -> Self {
        Self::with(ToolStatus::Success, members, None, elapsed)
    }

    fn with(
        status: ToolStatus,
        rest: Map<String, Value>,
        screenshot: Option<Media>,
        elapsed: Duration,
    ) -> Self {
        let mut members = Map::new();
        members.insert("status".to_owned(), status.name().into());
        members.extend(rest);
        let milliseconds = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        members.insert("duration_ms".to_owned(), milliseconds.into());
        members.insert("voice_message".to_owned(), spoken(status).into());
        Self {
            status,
            members,
            screenshot,
        }
    }

    /// The members as JSON text, after one sentence if the call failed.
    pub fn text(&self) -> String {
        let json = Value::Object(self.members.clone()).to_string();
        let message = self.members.get("message").and_then(Value::as_str);
        match message.filter(|_| self.status.is_error()) {
            Some(message) => format!("{message}\n{json}"),
            None => json,
        }
    }
}

/// A short sentence without paths, to be read aloud.
fn spoken(status: ToolStatus) -> &'static str {
    match status {
        ToolStatus::Success => "Done.",
        ToolStatus::Error => "That did not work.",
        ToolStatus::Denied => "That was not allowed.",
        ToolStatus::Timeout => "That took too long and was stopped.",
        ToolStatus::AwaitingInput => "The command waits for input.",
        ToolStatus::Cancelled => "That was stopped.",
    }
}

type Parts = (ToolStatus, Map<String, Value>, Option<Media>);

fn shell(result: &ShellResult) -> Parts {
    let mut members = Map::new();
    if let Some(error) = &result.error {
        members.insert("message".to_owned(), error.message.clone().into());
    }
    members.insert("stdout".to_owned(), result.stdout().into());
    members.insert("stderr".to_owned(), result.stderr().into());
    members.insert("exit_code".to_owned(), result.exit_code().into());
    let outcome = result.outcome();
    let word = serde_json::to_value(&outcome).unwrap_or_default();
    members.insert("outcome".to_owned(), word);
    let truncated: u64 = result
        .outputs
        .iter()
        .map(|output| output.truncated_bytes)
        .sum();
    if truncated > 0 {
        members.insert("truncated".to_owned(), true.into());
        members.insert("truncated_bytes".to_owned(), truncated.into());
    }
    if let Some(cwd) = &result.cwd {
        members.insert("cwd".to_owned(), cwd.clone().into());
    }
    if let Some(awaiting) = result.outputs.iter().find_map(awaiting) {
        members.insert("awaiting".to_owned(), awaiting);
    }
    let status = match &result.error {
        Some(error) => ToolStatus::of(error),
        None => status_of(&outcome),
    };
    (status, members, None)
}

fn awaiting(output: &CommandOutput) -> Option<Value> {
    serde_json::to_value(output.awaiting.as_ref()?).ok()
}

fn status_of(outcome: &ShellOutcome) -> ToolStatus {
    match outcome {
        ShellOutcome::Success | ShellOutcome::Running => ToolStatus::Success,
        ShellOutcome::Error | ShellOutcome::Other(_) | ShellOutcome::NotStarted => {
            ToolStatus::Error
        }
        ShellOutcome::Timeout => ToolStatus::Timeout,
        ShellOutcome::Cancelled => ToolStatus::Cancelled,
        ShellOutcome::AwaitingInput => ToolStatus::AwaitingInput,
    }
}

fn computer(result: &ComputerResult) -> Parts {
    let mut members = Map::new();
    let status = result
        .error
        .as_ref()
        .map_or(ToolStatus::Success, ToolStatus::of);
    if let Some(error) = &result.error {
        members.insert("message".to_owned(), error.message.clone().into());
    }
    let mut texts: Vec<&str> = result.text_output.as_deref().into_iter().collect();
    if texts.is_empty() {
        texts.extend(result.steps.iter().filter_map(|step| step.text.as_deref()));
    }
    if !texts.is_empty() {
        members.insert("stdout".to_owned(), texts.join("\n").into());
    }
    if let Some(url) = &result.current_url {
        members.insert("url".to_owned(), url.clone().into());
    }
    if let Some(frame) = &result.frame {
        members.insert("frame".to_owned(), frame.to_string().into());
    }
    if let Some(size) = result.display {
        members.insert("width".to_owned(), size.width.into());
        members.insert("height".to_owned(), size.height.into());
    }
    if let Some(settling) = &result.settling {
        members.insert("settled".to_owned(), settling.settled.into());
    }
    let own = result
        .steps
        .iter()
        .rev()
        .find_map(|step| step.screenshot.clone());
    (status, members, own.or_else(|| result.screenshot.clone()))
}
