//! Finds what Bedrock rejects in Anthropic's request bodies before they are sent.

use serde_json::{Map, Value};

use super::INVOKE;
use crate::json::text_of;
use crate::service_rules::{self, NEWEST_ANTHROPIC_VERSION, SAMPLING};
use crate::{EncodeError, anthropic};

/// Versions of a body. The newer one rejects sampling parameters.
const VERSIONS: [&str; 2] = [super::declare::VERSION, NEWEST_ANTHROPIC_VERSION];

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
        let problem = format!("expected images as base64, found a source of type {kind:?}");
        return Err(EncodeError::missing(dialect, problem));
    }
    Ok(())
}

/// Checks the fields of a body except its messages.
pub(super) fn request(rest: &Map<String, Value>) -> Result<(), EncodeError> {
    let reject = |problem: String| Err(EncodeError::missing(INVOKE, problem));
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
        && let Some(name) = SAMPLING.into_iter().find(|name| rest.contains_key(*name))
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
    let tools = list("tools").map_or(&[][..], Vec::as_slice);
    if let Some(toolset) = service_rules::toolset(tools) {
        return reject(format!(
            "remove {toolset} from the body; only bedrock-messages supports toolsets"
        ));
    }
    for kind in tools.iter().map(|tool| text_of(tool, "type")) {
        let beta = anthropic::computer_beta(kind);
        if let Some(beta) = beta.filter(|beta| !betas.iter().any(|one| one == beta)) {
            return reject(format!(
                "add {beta} to `anthropic_beta`; {kind} requires it"
            ));
        }
    }
    Ok(())
}
