//! Files with neutral tools: a list, one tool, or an object with `tools`.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};
use telechir_policy::RequiredApprovals;
use telechir_protocol::{ApprovalMode, HostedTool, Tool};

use crate::error::CliError;
use crate::input::read_stdin;

/// Reads the tools of a file; `-` is stdin.
pub(crate) fn read(file: &Path) -> Result<Vec<Tool>, CliError> {
    let name = file.display();
    let problem = |e: &dyn std::fmt::Display| {
        CliError::message(format!("failed to read the tools in {name}: {e}"))
    };
    let bytes = match file.as_os_str() == "-" {
        true => read_stdin()?,
        false => fs::read(file).map_err(|e| problem(&e))?,
    };
    let document: Value = serde_json::from_slice(&bytes).map_err(|e| problem(&e))?;
    let entries = match document {
        Value::Array(entries) => entries,
        Value::Object(mut members) => match members.get_mut("tools").map(Value::take) {
            Some(Value::Array(entries)) => entries,
            Some(_) => return Err(problem(&"`tools` is not a list")),
            None => vec![Value::Object(members)],
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            return Err(problem(&"expected a list of tools"));
        }
    };
    let tools = entries
        .into_iter()
        .enumerate()
        .map(|(at, entry)| tool(entry).map_err(|e| problem(&format_args!("tools[{at}]: {e}"))));
    tools.collect()
}

/// A neutral tool, or a hosted tool by its own `type`, as providers write it.
fn tool(entry: Value) -> Result<Tool, String> {
    let error = match serde_json::from_value(entry.clone()) {
        Ok(tool) => return Ok(tool),
        Err(error) => error.to_string(),
    };
    let Value::Object(mut members) = entry else {
        return Err("it is not an object".to_owned());
    };
    let hosted_type = match members.shift_remove("type") {
        Some(Value::String(name)) if !Tool::is_known_type(&name) => name,
        _ => return Err(error),
    };
    let mut tool = HostedTool::new(hosted_type);
    if let Some(Value::Object(settings)) = members.shift_remove("additional_properties") {
        tool.additional_properties = settings;
    }
    tool.additional_properties.extend(members);
    Ok(Tool::Hosted(tool))
}

/// Which calls each need an approval, by the `approval_mode` of the tools.
pub(crate) fn required_approvals(tools: &[Tool]) -> RequiredApprovals {
    let mut required = RequiredApprovals::default();
    for tool in tools {
        match tool {
            Tool::Shell(tool) => required.shell |= tool.approval_mode == ApprovalMode::Always,
            Tool::ComputerUse(tool) => required.computer |= is_always(&tool.additional_properties),
            Tool::Hosted(tool) if is_editor(&tool.hosted_type) => {
                required.edit |= is_always(&tool.additional_properties);
            }
            Tool::Hosted(_)
            | Tool::ImageGeneration { .. }
            | Tool::CodeInterpreter { .. }
            | Tool::Function(_)
            | Tool::Raw(_) => {}
        }
    }
    required
}

fn is_editor(hosted_type: &str) -> bool {
    ["text_editor", "memory", "apply_patch"]
        .iter()
        .any(|editor| hosted_type.starts_with(editor))
}

/// Whether the settings of a tool without an `approval_mode` of its own have one.
fn is_always(settings: &Map<String, Value>) -> bool {
    let mode = settings.get("approval_mode").cloned();
    let mode = mode.and_then(|mode| serde_json::from_value(mode).ok());
    mode == Some(ApprovalMode::Always)
}
