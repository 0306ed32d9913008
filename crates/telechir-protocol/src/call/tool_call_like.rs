//! A common view of everything that can be a tool call.

use serde_json::{Map, Value};

use crate::{Action, CallId, ComputerCall, EditCall, FunctionCall, ShellCall, ToolCall};

/// A call as a name and arguments, independent of its kind.
pub trait ToolCallLike {
    /// The tool's name: a function's own name, otherwise the kind of call.
    fn tool_name(&self) -> &str;

    /// The id that pairs the call with its result; none for a single action.
    fn correlation_id(&self) -> Option<&CallId>;

    /// Whether this program executes the call.
    fn requires_local_execution(&self) -> bool;

    /// The arguments as a value, which can be sent and stored.
    ///
    /// # Errors
    /// When a function's arguments are text that is not JSON.
    fn arguments_as_value(&self) -> Result<Value, serde_json::Error>;

    /// The arguments as text.
    fn arguments_as_str(&self) -> String {
        self.arguments_as_value().unwrap_or_default().to_string()
    }
}

impl ToolCallLike for FunctionCall {
    fn tool_name(&self) -> &str {
        &self.name
    }

    fn correlation_id(&self) -> Option<&CallId> {
        self.call_id.as_ref()
    }

    fn requires_local_execution(&self) -> bool {
        self.requires_local_execution
    }

    fn arguments_as_value(&self) -> Result<Value, serde_json::Error> {
        self.arguments.to_value()
    }

    fn arguments_as_str(&self) -> String {
        self.arguments.to_text()
    }
}

impl ToolCallLike for Action {
    fn tool_name(&self) -> &str {
        self.name()
    }

    fn correlation_id(&self) -> Option<&CallId> {
        None
    }

    fn requires_local_execution(&self) -> bool {
        true
    }

    fn arguments_as_value(&self) -> Result<Value, serde_json::Error> {
        let mut members = self.to_json();
        members.shift_remove("action");
        Ok(members.into())
    }
}

/// The members of a call that are arguments.
fn arguments(call: impl serde::Serialize) -> Result<Value, serde_json::Error> {
    const NOT_ARGUMENTS: [&str; 7] = [
        "call_id",
        "item_id",
        "status",
        "annotations",
        "additional_properties",
        "raw_representation",
        "requires_local_execution",
    ];
    let mut members: Map<String, Value> = serde_json::from_value(serde_json::to_value(call)?)?;
    members.retain(|name, _| !NOT_ARGUMENTS.contains(&name.as_str()));
    Ok(members.into())
}

impl ToolCallLike for ComputerCall {
    fn tool_name(&self) -> &str {
        "computer_call"
    }

    fn correlation_id(&self) -> Option<&CallId> {
        Some(&self.call_id)
    }

    fn requires_local_execution(&self) -> bool {
        self.meta.requires_local_execution()
    }

    fn arguments_as_value(&self) -> Result<Value, serde_json::Error> {
        arguments(self)
    }
}

impl ToolCallLike for ShellCall {
    fn tool_name(&self) -> &str {
        "shell_call"
    }

    fn correlation_id(&self) -> Option<&CallId> {
        Some(&self.call_id)
    }

    fn requires_local_execution(&self) -> bool {
        self.environment == crate::ShellEnvironment::Local && self.meta.requires_local_execution()
    }

    fn arguments_as_value(&self) -> Result<Value, serde_json::Error> {
        arguments(self)
    }
}

impl ToolCallLike for EditCall {
    fn tool_name(&self) -> &str {
        "edit_call"
    }

    fn correlation_id(&self) -> Option<&CallId> {
        Some(&self.call_id)
    }

    fn requires_local_execution(&self) -> bool {
        self.meta.requires_local_execution()
    }

    fn arguments_as_value(&self) -> Result<Value, serde_json::Error> {
        arguments(self)
    }
}

impl ToolCall {
    /// Sets whether this program executes the call; false if the provider or another program does.
    ///
    /// ```
    /// use telechir_protocol::{ShellCall, ToolCall, ToolCallLike};
    /// let mut call = ToolCall::Shell(ShellCall::execute("s", Vec::new()));
    /// call.set_requires_local_execution(false);
    /// assert!(!call.as_tool_call_like().requires_local_execution());
    /// ```
    pub fn set_requires_local_execution(&mut self, value: bool) {
        match self {
            Self::Computer(call) => call.meta.set_requires_local_execution(value),
            Self::Shell(call) => {
                call.meta.set_requires_local_execution(value);
                if value {
                    call.environment = crate::ShellEnvironment::Local;
                }
            }
            Self::Edit(call) => call.meta.set_requires_local_execution(value),
            Self::Function(call) => call.requires_local_execution = value,
        }
    }

    /// The call as a [`ToolCallLike`], independent of its kind.
    pub fn as_tool_call_like(&self) -> &dyn ToolCallLike {
        match self {
            Self::Computer(call) => call,
            Self::Shell(call) => call,
            Self::Edit(call) => call,
            Self::Function(call) => call,
        }
    }
}
