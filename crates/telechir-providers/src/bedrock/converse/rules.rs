//! Finds what Converse rejects before the request is sent.

use serde_json::{Map, Value};

use super::DIALECT;
use crate::EncodeError;
use crate::json::{list_of, text_of};

pub(super) fn missing(problem: impl Into<String>) -> EncodeError {
    EncodeError::Missing {
        dialect: DIALECT,
        problem: problem.into(),
    }
}

/// Checks messages, or content blocks without a message.
pub(super) fn messages(items: &[Value]) -> Result<(), EncodeError> {
    for (at, item) in items.iter().enumerate() {
        let location = format!("messages[{at}]");
        match item.get("role") {
            None => blocks(std::slice::from_ref(item), &location)?,
            Some(_) => blocks(list_of(item, "content"), &location)?,
        }
    }
    Ok(())
}

/// Checks content blocks.
pub(super) fn blocks(blocks: &[Value], location: &str) -> Result<(), EncodeError> {
    for block in blocks {
        let members = block.as_object().map_or(0, Map::len);
        if members != 1 {
            return Err(missing(format!(
                "{location}: expected blocks with one field, found one with {members}"
            )));
        }
        if let Some(call) = block.get("toolUse") {
            tool_use(call, location)?;
        }
        if let Some(result) = block.get("toolResult") {
            tool_result(result, location)?;
        }
        image(block, location)?;
    }
    Ok(())
}

fn is_legal(text: &str, others: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
    (1..=64).contains(&text.len()) && text.chars().all(legal)
}

/// Whether the service accepts a result for a call with this id.
pub(super) fn is_id(id: &str) -> bool {
    is_legal(id, "_.:-")
}

fn id(value: &Value, location: &str) -> Result<(), EncodeError> {
    let id = text_of(value, "toolUseId");
    if is_id(id) {
        Ok(())
    } else {
        Err(missing(format!(
            "{location}: expected ids of 1 to 64 letters, digits, _ . : and -, found {id:?}"
        )))
    }
}

fn tool_use(call: &Value, location: &str) -> Result<(), EncodeError> {
    id(call, location)?;
    let name = text_of(call, "name");
    if !is_legal(name, "_-") {
        return Err(missing(format!(
            "{location}: expected tool names of 1 to 64 letters, digits, _ and -, found {name:?}"
        )));
    }
    if call.get("input").is_none() {
        return Err(missing(format!(
            "{location}: the call of {name} has no input"
        )));
    }
    if call.get("toolset_name").is_some() {
        return Err(missing(format!(
            "{location}: remove toolset_name; only bedrock-messages supports toolsets"
        )));
    }
    Ok(())
}

fn tool_result(result: &Value, location: &str) -> Result<(), EncodeError> {
    id(result, location)?;
    match result.get("status").map(|status| status.as_str()) {
        None | Some(Some("success" | "error")) => {}
        Some(odd) => {
            return Err(missing(format!(
                "{location}: expected a status of success or error, found {odd:?}"
            )));
        }
    }
    for part in list_of(result, "content") {
        image(part, location)?;
    }
    Ok(())
}

fn image(block: &Value, location: &str) -> Result<(), EncodeError> {
    let Some(image) = block.get("image") else {
        return Ok(());
    };
    let format = text_of(image, "format");
    if !matches!(format, "png" | "jpeg" | "gif" | "webp") {
        return Err(missing(format!(
            "{location}: expected a png, jpeg, gif or webp image, found {format:?}"
        )));
    }
    Ok(())
}

/// Checks the fields of a request except its messages.
pub(super) fn request(rest: &Map<String, Value>, messages: &[Value]) -> Result<(), EncodeError> {
    let has_tools = messages
        .iter()
        .flat_map(|message| list_of(message, "content"));
    let has_tools = has_tools
        .into_iter()
        .any(|block| block.get("toolUse").is_some() || block.get("toolResult").is_some());
    if has_tools && !rest.contains_key("toolConfig") {
        return Err(missing(
            "add `toolConfig` to the request; it is required if there are calls or results",
        ));
    }
    let fields = rest.get("additionalModelRequestFields");
    let model_tools = fields.map_or(&[][..], |fields| list_of(fields, "tools"));
    let betas = fields.map_or(&[][..], |fields| list_of(fields, "anthropic_beta"));
    let is_computer = |tool: &&Value| text_of(tool, "type").starts_with("computer_2");
    let has_beta = betas
        .iter()
        .filter_map(Value::as_str)
        .any(|beta| beta.starts_with("computer-use-"));
    if model_tools.iter().any(|tool| is_computer(&tool)) && !has_beta {
        return Err(missing(
            "add `anthropic_beta` to additionalModelRequestFields; the computer tool requires it",
        ));
    }
    if let Some(tool) = model_tools
        .iter()
        .map(|tool| text_of(tool, "type"))
        .find(|kind| kind.contains("_toolset_"))
    {
        return Err(missing(format!(
            "remove {tool} from the request; only bedrock-messages supports toolsets"
        )));
    }
    Ok(())
}
