//! Tool definitions: functions with a name and a schema.

use serde_json::Value;

use super::extra;
use crate::provider::Rejection;
use crate::provider::shape::{Validated, ensure, is_name, list, only, text, text_or_empty};

const MAX_NAME_CHARS: usize = 64;

pub(crate) fn check(body: &Value) -> Validated {
    let Some(tools) = body.get("tools") else {
        return Ok(());
    };
    let tools = list(tools, "tools")?;
    ensure(!tools.is_empty(), || {
        "tools: [] is too short - 'tools'".to_owned()
    })?;
    let mut names = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        let location = format!("tools[{index}]");
        if text_or_empty(tool, "type") != "function" {
            return Err(Rejection::invalid(format!(
                "{location}.type: only functions are taken here"
            )));
        }
        only(tool, &[&["type", "function"]], &location, extra)?;
        let function = &tool["function"];
        let location = format!("{location}.function");
        let members = &["name", "description", "parameters", "strict"];
        only(function, &[members], &location, extra)?;
        let name = text(function, "name", &location)?;
        ensure(is_name(name, MAX_NAME_CHARS), || {
            format!("{location}.name: '{name}' does not match '^[a-zA-Z0-9_-]{{1,64}}$'")
        })?;
        ensure(!names.contains(&name), || {
            format!("{location}.name: '{name}' is duplicated")
        })?;
        names.push(name);
        let schema = &function["parameters"];
        ensure(text_or_empty(schema, "type") == "object", || {
            format!("{location}.parameters: schema must be of type object")
        })?;
    }
    Ok(())
}
