//! What the doors to Anthropic's bodies refuse, found before it is sent.

use serde_json::{Map, Value};

use super::INVOKE;
use crate::EncodeError;
use crate::conversation::text_of;

/// Versions of a body. The newer refuses the members that steer sampling.
const VERSIONS: [&str; 2] = ["bedrock-2023-05-31", "2026-10-21"];

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

/// Pictures are sent as their bytes.
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
            format!("pictures as their bytes, and one has a source of type {kind:?}"),
        ));
    }
    Ok(())
}

/// What is around the messages of a body.
pub(super) fn request(rest: &Map<String, Value>) -> Result<(), EncodeError> {
    let refuse = |problem: String| Err(missing(INVOKE, problem));
    if let Some(name) = ["model", "stream"]
        .into_iter()
        .find(|name| rest.contains_key(*name))
    {
        return refuse(format!("a body without `{name}`, which the path says"));
    }
    let version = rest.get("anthropic_version").and_then(Value::as_str);
    let Some(version) = version.filter(|version| VERSIONS.contains(version)) else {
        return refuse(format!(
            "a body whose `anthropic_version` is one of {}",
            VERSIONS.join(", ")
        ));
    };
    if version == VERSIONS[1]
        && let Some(name) = super::SAMPLING
            .into_iter()
            .find(|name| rest.contains_key(*name))
    {
        return refuse(format!("a body of version {version} without `{name}`"));
    }
    let list = |name: &str| rest.get(name).and_then(Value::as_array);
    let betas = list("anthropic_beta").map_or(&[][..], Vec::as_slice);
    if rest.contains_key("anthropic_beta") && !betas.iter().all(Value::is_string) {
        return refuse("`anthropic_beta` as a list of strings".to_owned());
    }
    for tool in list("tools").into_iter().flatten() {
        let kind = text_of(tool, "type");
        if kind.contains("_toolset_") {
            return refuse(format!(
                "a body without {kind}: toolsets are served by bedrock-messages only"
            ));
        }
        let beta = BETAS.iter().find(|(computer, _)| *computer == kind);
        if let Some((_, beta)) = beta.filter(|(_, beta)| !betas.iter().any(|one| one == beta)) {
            return refuse(format!("{beta} in `anthropic_beta`, which {kind} demands"));
        }
    }
    Ok(())
}
