//! The exact subject of a judgement: a call as it would be executed.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use telechir_protocol::{Action, CallId, Command, EditStep, EditTool, SafetyCheck, ShellAction};

use crate::Digest;

/// A kind of screen of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Device {
    /// The desktop with its windows.
    Desktop,
    /// The browser with its tabs.
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

/// A call that can be judged and has one canonical form.
pub trait Proposal {
    /// Id of the call.
    fn call_id(&self) -> &CallId;

    /// Everything that determines the effect, as JSON. Two proposals with the same JSON have the
    /// same effect.
    fn to_json(&self) -> Value;

    /// Digest of the JSON.
    fn digest(&self) -> Digest {
        Digest::of_json(&self.to_json())
    }

    /// Digest of the action without the ids that each call has of its own. None if the JSON does not
    /// contain all that the action consists of.
    fn action_digest(&self) -> Option<Digest> {
        let mut json = self.to_json();
        json.as_object_mut()?.remove("call_id");
        Some(Digest::of_json(&json))
    }
}

/// Actions on one screen, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct ScreenProposal {
    /// Id of the call.
    pub call_id: CallId,
    /// The screen to act on.
    pub device: Device,
    /// The actions, with URLs in canonical form.
    pub actions: Vec<Action>,
    /// Checks for which the provider requires the user's approval.
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

    fn action_digest(&self) -> Option<Digest> {
        let mut json = self.to_json();
        let checks = self.safety_checks.iter();
        json["safety_checks"] = checks
            .map(|check| json!([check.code, check.message]))
            .collect();
        json.as_object_mut()?.remove("call_id");
        Some(Digest::of_json(&json))
    }
}

/// A task for a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShellTask {
    /// Run these commands in order.
    Run(Vec<Command>),
    /// End the shell and start a new one.
    Restart,
    /// Start these commands in the background.
    Start(Vec<Command>),
    /// Send input to a running command.
    Send {
        /// The input: one of the input actions.
        input: ShellAction,
        /// The background job to send it to; absent means the foreground command.
        job: Option<String>,
        /// Whether the terminal does not echo it; then it is not shown or recorded either.
        is_hidden: bool,
    },
    /// Read background jobs: list them, or read the output of one.
    ReadJobs(ShellAction),
    /// End a background job.
    Stop(String),
}

/// The recorded form of input, without text that the terminal hides.
fn shown_input(input: &ShellAction, is_hidden: bool) -> Value {
    match input.text().filter(|_| is_hidden) {
        Some(text) => json!({"action": input.name(), "hidden_characters": text.chars().count()}),
        None => json!(input),
    }
}

/// Commands for the shell, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct ShellProposal {
    /// Id of the call.
    pub call_id: CallId,
    /// The task to perform.
    pub task: ShellTask,
    /// Working directory; absent means the shell's current one.
    pub cwd: Option<String>,
    /// Environment variables to set.
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
            ShellTask::ReadJobs(look) => json!({ "look": look }),
            ShellTask::Stop(job) => json!({ "stop": job }),
        };
        json!({
            "call_id": self.call_id.as_str(),
            "shell": task,
            "cwd": self.cwd,
            "env": self.env,
        })
    }

    fn action_digest(&self) -> Option<Digest> {
        let is_hidden = matches!(
            self.task,
            ShellTask::Send {
                is_hidden: true,
                ..
            }
        );
        let mut json = self.to_json();
        json.as_object_mut()?.remove("call_id");
        (!is_hidden).then(|| Digest::of_json(&json))
    }
}

/// Edits of files, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditProposal {
    /// Id of the call.
    pub call_id: CallId,
    /// The tool that the model uses.
    pub tool: EditTool,
    /// The edits, with real paths without symbolic links.
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
