//! The exact thing that is judged: a call as it would be carried out.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use telechir_protocol::{Action, CallId, Command, EditStep, EditTool, SafetyCheck, ShellAction};

use crate::Digest;

/// Which of a session's screens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Device {
    /// The desktop.
    Desktop,
    /// The browser.
    Browser,
}

impl Device {
    /// The name in calls, flags and policy files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Desktop => "desktop",
            Self::Browser => "browser",
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Something that can be judged and has one canonical form.
pub trait Proposal {
    /// The call it comes from.
    fn call_id(&self) -> &CallId;

    /// Everything that decides what happens, as JSON. Two proposals with the same JSON do the same.
    fn to_json(&self) -> Value;

    /// The digest of that.
    fn digest(&self) -> Digest {
        Digest::of_json(&self.to_json())
    }
}

/// Actions on one screen, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct ScreenProposal {
    /// The call it comes from.
    pub call_id: CallId,
    /// Which screen.
    pub device: Device,
    /// The actions. Addresses in them are as they will be gone to.
    pub actions: Vec<Action>,
    /// Checks that the provider wants a person to see.
    pub safety_checks: Vec<SafetyCheck>,
}

impl Proposal for ScreenProposal {
    fn call_id(&self) -> &CallId {
        &self.call_id
    }

    fn to_json(&self) -> Value {
        let actions: Vec<Value> = self
            .actions
            .iter()
            .map(|action| Value::Object(action.to_json()))
            .collect();
        json!({
            "call_id": self.call_id.as_str(),
            "device": self.device.name(),
            "actions": actions,
            "safety_checks": self.safety_checks.iter().map(|check| json!([check.id, check.code, check.message])).collect::<Vec<_>>(),
        })
    }
}

/// What is to be done with a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShellTask {
    /// Run these commands, one after another.
    Run(Vec<Command>),
    /// End the shell and start a new one.
    Restart,
    /// Start these commands in the background.
    Start(Vec<Command>),
    /// Type something into a command that runs.
    Send {
        /// What: one of the actions that are input.
        input: ShellAction,
        /// The background job it is for; absent means the command that waits in front.
        job: Option<String>,
        /// Whether the terminal does not show it: then nobody else is to see it either.
        is_hidden: bool,
    },
    /// Look at background jobs: list them, or read one.
    Look(ShellAction),
    /// End a background job.
    Stop(String),
}

/// The record's words for input: its text is left out when the terminal hides it.
fn shown_input(input: &ShellAction, is_hidden: bool) -> Value {
    match input.text().filter(|_| is_hidden) {
        Some(text) => json!({"action": input.name(), "hidden_characters": text.chars().count()}),
        None => json!(input),
    }
}

/// Commands for the shell, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct ShellProposal {
    /// The call it comes from.
    pub call_id: CallId,
    /// What is to be done.
    pub task: ShellTask,
    /// The folder to run in.
    pub cwd: Option<String>,
    /// Variables to set.
    pub env: Map<String, Value>,
}

impl Proposal for ShellProposal {
    fn call_id(&self) -> &CallId {
        &self.call_id
    }

    fn to_json(&self) -> Value {
        let task = match &self.task {
            ShellTask::Run(commands) => json!({ "run": commands }),
            ShellTask::Restart => json!("restart"),
            ShellTask::Start(commands) => json!({ "start": commands }),
            ShellTask::Send {
                input,
                job,
                is_hidden,
            } => json!({ "send": shown_input(input, *is_hidden), "job": job }),
            ShellTask::Look(look) => json!({ "look": look }),
            ShellTask::Stop(job) => json!({ "stop": job }),
        };
        json!({
            "call_id": self.call_id.as_str(),
            "shell": task,
            "cwd": self.cwd,
            "env": self.env,
        })
    }
}

/// Edits of files, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditProposal {
    /// The call it comes from.
    pub call_id: CallId,
    /// Which tool the model thinks it uses.
    pub tool: EditTool,
    /// What is to be done; paths in it are those of the files themselves, no link among them.
    pub steps: Vec<EditStep>,
}

impl Proposal for EditProposal {
    fn call_id(&self) -> &CallId {
        &self.call_id
    }

    fn to_json(&self) -> Value {
        json!({
            "call_id": self.call_id.as_str(),
            "edit": self.tool,
            "steps": self.steps,
        })
    }
}
