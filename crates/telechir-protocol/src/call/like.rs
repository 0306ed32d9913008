//! Whatever can stand where a tool call is expected.

use serde_json::{Map, Value};

use crate::{Action, CallId, ComputerCall, EditCall, FunctionCall, ShellCall, ToolCall};

/// A call seen as a name and arguments, whatever kind of call it is.
pub trait ToolCallLike {
    /// The tool's name: a function's own, otherwise the kind of call.
    fn tool_name(&self) -> &str;

    /// What joins it with its result; an action alone has none.
    fn joining_id(&self) -> Option<&CallId>;

    /// Whether it is ours to carry out.
    fn requires_local_execution(&self) -> bool;

    /// The arguments as a value. It holds no handles and can be sent or stored.
    ///
    /// # Errors
    /// When a function's arguments came as text that is not JSON.
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

    fn joining_id(&self) -> Option<&CallId> {
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

    fn joining_id(&self) -> Option<&CallId> {
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

/// The members of a call without those that are not arguments.
fn arguments(call: impl serde::Serialize) -> Result<Value, serde_json::Error> {
    const NOT_ARGUMENTS: [&str; 6] = [
        "call_id",
        "item_id",
        "status",
        "annotations",
        "additional_properties",
        "raw_representation",
    ];
    let mut members: Map<String, Value> = serde_json::from_value(serde_json::to_value(call)?)?;
    members.retain(|name, _| !NOT_ARGUMENTS.contains(&name.as_str()));
    Ok(members.into())
}

impl ToolCallLike for ComputerCall {
    fn tool_name(&self) -> &str {
        "computer_call"
    }

    fn joining_id(&self) -> Option<&CallId> {
        Some(&self.call_id)
    }

    fn requires_local_execution(&self) -> bool {
        true
    }

    fn arguments_as_value(&self) -> Result<Value, serde_json::Error> {
        arguments(self)
    }
}

impl ToolCallLike for ShellCall {
    fn tool_name(&self) -> &str {
        "shell_call"
    }

    fn joining_id(&self) -> Option<&CallId> {
        Some(&self.call_id)
    }

    fn requires_local_execution(&self) -> bool {
        self.environment == crate::ShellEnvironment::Local
    }

    fn arguments_as_value(&self) -> Result<Value, serde_json::Error> {
        arguments(self)
    }
}

impl ToolCallLike for EditCall {
    fn tool_name(&self) -> &str {
        "edit_call"
    }

    fn joining_id(&self) -> Option<&CallId> {
        Some(&self.call_id)
    }

    fn requires_local_execution(&self) -> bool {
        true
    }

    fn arguments_as_value(&self) -> Result<Value, serde_json::Error> {
        arguments(self)
    }
}

impl ToolCall {
    /// The call without its kind.
    pub fn as_like(&self) -> &dyn ToolCallLike {
        match self {
            Self::Computer(call) => call,
            Self::Shell(call) => call,
            Self::Edit(call) => call,
            Self::Function(call) => call,
        }
    }
}
