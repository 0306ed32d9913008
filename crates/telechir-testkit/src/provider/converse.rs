//! What Bedrock's Converse API rejects, according to its service model and recordings.

mod messages;

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::shape::{
    Validated, ensure, is_name, list, object, one_of, only, positive, text, text_or_empty,
};
use super::{Rejection, image};

const MEMBERS: &[&str] = &[
    "messages",
    "system",
    "inferenceConfig",
    "toolConfig",
    "guardrailConfig",
    "additionalModelRequestFields",
    "promptVariables",
    "additionalModelResponseFieldPaths",
    "requestMetadata",
    "performanceConfig",
    "serviceTier",
    "outputConfig",
];
/// Anthropic's computer tools with the beta that each needs.
const COMPUTERS: &[(&str, &str)] = &[
    ("computer_20241022", "computer-use-2024-10-22"),
    ("computer_20250124", "computer-use-2025-01-24"),
    ("computer_20251124", "computer-use-2025-11-24"),
];
const OTHERS: &[&str] = &[
    "bash_20241022",
    "bash_20250124",
    "text_editor_20241022",
    "text_editor_20250124",
    "text_editor_20250429",
    "text_editor_20250728",
];

pub(super) fn extra(location: &str, member: &str) -> Rejection {
    Rejection::invalid(format!("Unknown parameter in {location}: \"{member}\""))
}

/// The model id in a path `/model/{id}/converse`, if it is one.
pub(super) fn model_of(path: &str) -> Option<&str> {
    model_before(path, "/converse")
}

pub(super) fn model_before<'a>(path: &'a str, operation: &str) -> Option<&'a str> {
    let model = path.strip_prefix("/model/")?.strip_suffix(operation)?;
    let is_encoded = |c: char| c.is_ascii_alphanumeric() || "-._~%".contains(c);
    (!model.is_empty() && model.chars().all(is_encoded)).then_some(model)
}

/// Validates a request against its headers and the model's earlier responses.
pub(super) fn check(headers: &HeaderMap, body: &Value, history: &[Vec<Value>]) -> Validated {
    let key = headers
        .get("authorization")
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "))
        .unwrap_or_default();
    if key.is_empty() {
        return Err(Rejection::unauthorized("Authorization header is missing"));
    }
    only(body, &[MEMBERS], "input", extra)?;
    if let Some(config) = body.get("inferenceConfig") {
        let members = ["maxTokens", "temperature", "topP", "stopSequences"];
        only(config, &[&members], "inferenceConfig", extra)?;
        if config.get("maxTokens").is_some() {
            positive(config, "maxTokens", "inferenceConfig")?;
        }
    }
    for block in body
        .get("system")
        .map_or(Ok(&[][..]), |system| list(system, "system"))?
    {
        let kinds = ["text", "cachePoint", "guardContent"];
        union(block, &kinds, "system")?;
    }
    let names = check_tools(body)?;
    check_fields(body, names)?;
    messages::check(body, history)?;
    let points = body.to_string().matches("\"cachePoint\":{").count();
    ensure(points <= 4, || {
        format!("A maximum of 4 cache points may be provided. Found {points}.")
    })
}

/// The name of a tagged union's only member, which must be one of `kinds`.
fn union<'a>(value: &'a Value, kinds: &[&str], location: &str) -> Validated<&'a str> {
    let members = object(value, location)?;
    let mut names = members.keys();
    match (names.next(), names.next()) {
        (Some(name), None) => {
            one_of(name, kinds, location)?;
            Ok(name)
        }
        _ => Err(Rejection::invalid(format!(
            "Invalid number of parameters set for tagged union structure {location}"
        ))),
    }
}

fn check_tools(body: &Value) -> Validated<Vec<String>> {
    let Some(config) = body.get("toolConfig") else {
        return Ok(Vec::new());
    };
    only(config, &[&["tools", "toolChoice"]], "toolConfig", extra)?;
    let tools = list(
        config.get("tools").unwrap_or(&Value::Null),
        "toolConfig.tools",
    )?;
    ensure(!tools.is_empty(), || {
        "Invalid length for parameter toolConfig.tools, value: 0, valid min length: 1".to_owned()
    })?;
    let mut names = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        let location = format!("toolConfig.tools[{index}]");
        if union(tool, &["toolSpec", "systemTool", "cachePoint"], &location)? == "toolSpec" {
            let spec = &tool["toolSpec"];
            let members = ["name", "description", "inputSchema", "strict"];
            only(spec, &[&members], &location, extra)?;
            let name = text(spec, "name", &location)?;
            ensure(is_name(name, 64), || {
                format!("{location}.toolSpec.name: {name:?}")
            })?;
            ensure(
                spec.get("description").is_none_or(|text_of| text_of != ""),
                || format!("Invalid length for parameter {location}.toolSpec.description"),
            )?;
            union(
                spec.get("inputSchema").unwrap_or(&Value::Null),
                &["json"],
                &location,
            )?;
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// Validates Anthropic's own tools: each version with its beta, and unique names.
fn check_fields(body: &Value, mut names: Vec<String>) -> Validated {
    let Some(fields) = body.get("additionalModelRequestFields") else {
        return Ok(());
    };
    let location = "additionalModelRequestFields";
    let anthropic_tools = fields
        .get("tools")
        .map_or(Ok(&[][..]), |tools| list(tools, location))?;
    let betas = fields
        .get("anthropic_beta")
        .map_or(Ok(&[][..]), |betas| list(betas, location))?;
    for tool in anthropic_tools {
        let kind = text_or_empty(tool, "type");
        let computer = COMPUTERS.iter().find(|(own, _)| *own == kind);
        ensure(computer.is_some() || OTHERS.contains(&kind), || {
            format!(
                "The model returned the following errors: tools.0: Input tag '{kind}' found using 'type' does not match any of the expected tags"
            )
        })?;
        if let Some((_, beta)) = computer {
            ensure(betas.iter().any(|one| one == beta), || {
                format!("The model returned the following errors: {kind} needs {beta}")
            })?;
            positive(tool, "display_width_px", location)?;
            positive(tool, "display_height_px", location)?;
        }
        names.push(text(tool, "name", location)?.to_owned());
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    ensure(names.len() == count, || {
        "The tool names must be unique.".to_owned()
    })
}

/// The text of every result in the request's last message, by call id.
pub(super) fn results(body: &Value) -> BTreeMap<String, String> {
    let messages = body.get("messages").and_then(Value::as_array);
    let last = messages.and_then(|messages| messages.last());
    let blocks = last.and_then(|last| last.get("content")?.as_array());
    let results = blocks
        .into_iter()
        .flatten()
        .filter_map(|block| block.get("toolResult"));
    results
        .map(|result| {
            (
                text_or_empty(result, "toolUseId").to_owned(),
                text_of(result),
            )
        })
        .collect()
}

fn text_of(result: &Value) -> String {
    let parts = result.get("content").and_then(Value::as_array);
    let text_of = parts
        .into_iter()
        .flatten()
        .map(|part| text_or_empty(part, "text"));
    text_of.collect::<Vec<_>>().join("\n")
}

/// A complete response with these blocks.
pub(super) fn answer(body: &Value, content: Vec<Value>, with: &Value) -> Value {
    let calls = content.iter().any(|block| block.get("toolUse").is_some());
    let input = body.to_string().len() / 4;
    let mut answer = json!({
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": if calls { "tool_use" } else { "end_turn" },
        "usage": {"inputTokens": input, "outputTokens": 64, "totalTokens": input + 64, "serverToolUsage": {}},
        "metrics": {"latencyMs": 7},
    });
    super::shape::merge(&mut answer, with);
    answer
}

#[cfg(test)]
mod tests;
