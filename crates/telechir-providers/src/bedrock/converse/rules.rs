//! Finds what Converse rejects before the request is sent.

use serde_json::{Map, Value};

use super::DIALECT;
use crate::EncodeError;
use crate::bedrock::media;
use crate::json::{list_of, text_of};
use crate::service_rules::{self, CONVERSE_CALL_ID, FUNCTION_NAME};

pub(super) fn missing(problem: impl Into<String>) -> EncodeError {
    EncodeError::missing(DIALECT, problem)
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
        let members = block.as_object().into_iter().flatten();
        let members = members.filter(|(_, value)| !value.is_null()).count();
        if members != 1 {
            return Err(missing(format!(
                "{location}: expected blocks with one field, found one with {members}"
            )));
        }
        if let Some(call) = present(block, "toolUse") {
            tool_use(call, location)?;
        }
        if let Some(result) = present(block, "toolResult") {
            tool_result(result, location)?;
        }
        image(block, location)?;
    }
    Ok(())
}

fn present<'a>(block: &'a Value, name: &str) -> Option<&'a Value> {
    block.get(name).filter(|value| !value.is_null())
}

/// Whether the service accepts a result for a call with this id.
pub(super) fn is_id(id: &str) -> bool {
    CONVERSE_CALL_ID.accepts(id)
}

fn id(value: &Value, location: &str) -> Result<(), EncodeError> {
    let id = text_of(value, "toolUseId");
    if is_id(id) {
        return Ok(());
    }
    Err(missing(format!(
        "{location}: expected an id of {CONVERSE_CALL_ID}, found {id:?}"
    )))
}

fn tool_use(call: &Value, location: &str) -> Result<(), EncodeError> {
    id(call, location)?;
    let name = text_of(call, "name");
    if !FUNCTION_NAME.accepts(name) {
        return Err(missing(format!(
            "{location}: expected a tool name of {FUNCTION_NAME}, found {name:?}"
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
    let status = result.get("status").filter(|status| !status.is_null());
    match status.map(|status| status.as_str()) {
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
    let Some(image) = present(block, "image") else {
        return Ok(());
    };
    let format = text_of(image, "format");
    if media::image_type(format).is_none() {
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
    let has_tools = has_tools.into_iter().any(|block| {
        ["toolUse", "toolResult"]
            .iter()
            .any(|name| present(block, name).is_some())
    });
    // Messages in an object are a conversation that somebody stored, not yet a request.
    let is_request = rest.keys().any(|name| name != "messages");
    if has_tools && is_request && !rest.contains_key("toolConfig") {
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
    if let Some(toolset) = service_rules::toolset(model_tools) {
        return Err(missing(format!(
            "remove {toolset} from the request; only bedrock-messages supports toolsets"
        )));
    }
    Ok(())
}
