//! Finds what Bedrock rejects in Anthropic's request bodies before they are sent.

use serde_json::{Map, Value};

use super::INVOKE;
use crate::EncodeError;
use crate::json::text_of;

/// Versions of a body. The newer one rejects sampling parameters.
const VERSIONS: [&str; 2] = ["bedrock-2023-05-31", "2026-10-21"];

/// The beta that each computer tool requires.
const BETAS: [(&str, &str); 3] = [
    ("computer_20241022", "computer-use-2024-10-22"),
    ("computer_20250124", "computer-use-2025-01-24"),
    ("computer_20251124", "computer-use-2025-11-24"),
];

fn missing(dialect: &'static str, problem: impl Into<String>) -> EncodeError {
    EncodeError::Missing {
        dialect,
        problem: problem.into(),
    }
}

/// Checks that images are sent as bytes.
pub(super) fn images(value: &Value, dialect: &'static str) -> Result<(), EncodeError> {
    match value {
        Value::Object(members) => {
            if text_of(value, "type") == "image" {
                image(value, dialect)?;
            }
            for name in ["messages", "content"] {
                members
                    .get(name)
                    .map_or(Ok(()), |inner| images(inner, dialect))?;
            }
            Ok(())
        }
        Value::Array(items) => items.iter().try_for_each(|item| images(item, dialect)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn image(block: &Value, dialect: &'static str) -> Result<(), EncodeError> {
    let none = Value::Null;
    let source = block.get("source").unwrap_or(&none);
    let kind = text_of(source, "type");
    if kind != "base64" {
        return Err(missing(
            dialect,
            format!("expected images as base64, found a source of type {kind:?}"),
        ));
    }
    Ok(())
}

/// Checks the fields of a body except its messages.
pub(super) fn request(rest: &Map<String, Value>) -> Result<(), EncodeError> {
    let reject = |problem: String| Err(missing(INVOKE, problem));
    if let Some(name) = ["model", "stream"]
        .into_iter()
        .find(|name| rest.contains_key(*name))
    {
        return reject(format!("remove `{name}` from the body; it is in the path"));
    }
    let version = rest.get("anthropic_version").and_then(Value::as_str);
    let Some(version) = version.filter(|version| VERSIONS.contains(version)) else {
        return reject(format!(
            "`anthropic_version` of the body must be one of {}",
            VERSIONS.join(", ")
        ));
    };
    if version == VERSIONS[1]
        && let Some(name) = super::SAMPLING
            .into_iter()
            .find(|name| rest.contains_key(*name))
    {
        return reject(format!(
            "remove `{name}` from the body; version {version} rejects it"
        ));
    }
    let list = |name: &str| rest.get(name).and_then(Value::as_array);
    let betas = list("anthropic_beta").map_or(&[][..], Vec::as_slice);
    if rest.contains_key("anthropic_beta") && !betas.iter().all(Value::is_string) {
        return reject("`anthropic_beta` must be a list of strings".to_owned());
    }
    for tool in list("tools").into_iter().flatten() {
        let kind = text_of(tool, "type");
        if kind.contains("_toolset_") {
            return reject(format!(
                "remove {kind} from the body; only bedrock-messages supports toolsets"
            ));
        }
        let beta = BETAS.iter().find(|(computer, _)| *computer == kind);
        if let Some((_, beta)) = beta.filter(|(_, beta)| !betas.iter().any(|one| one == beta)) {
            return reject(format!(
                "add {beta} to `anthropic_beta`; {kind} requires it"
            ));
        }
    }
    Ok(())
}
