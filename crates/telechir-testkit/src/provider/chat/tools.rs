//! Tool entries: functions with a name, a schema and nothing strange.

use serde_json::Value;

use super::extra;
use crate::provider::Refusal;
use crate::provider::shape::{Checked, ensure, is_name, list, only, text, word};

const LONGEST_NAME: usize = 64;

pub(crate) fn check(body: &Value) -> Checked {
    let Some(tools) = body.get("tools") else {
        return Ok(());
    };
    let tools = list(tools, "tools")?;
    ensure(!tools.is_empty(), || {
        "tools: [] is too short - 'tools'".to_owned()
    })?;
    let mut names = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        let place = format!("tools[{index}]");
        if word(tool, "type") != "function" {
            return Err(Refusal::invalid(format!(
                "{place}.type: only functions are taken here"
            )));
        }
        only(tool, &[&["type", "function"]], &place, extra)?;
        let function = &tool["function"];
        let place = format!("{place}.function");
        let members = &["name", "description", "parameters", "strict"];
        only(function, &[members], &place, extra)?;
        let name = text(function, "name", &place)?;
        ensure(is_name(name, LONGEST_NAME), || {
            format!("{place}.name: '{name}' does not match '^[a-zA-Z0-9_-]{{1,64}}$'")
        })?;
        ensure(!names.contains(&name), || {
            format!("{place}.name: '{name}' is there twice")
        })?;
        names.push(name);
        let schema = &function["parameters"];
        ensure(word(schema, "type") == "object", || {
            format!("{place}.parameters: schema must be of type object")
        })?;
    }
    Ok(())
}
