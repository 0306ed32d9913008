//! A Bedrock model's vendor, and the computer tools that it supports.

use serde_json::Value;
use telechir_protocol::{Environment, Tool};

use crate::EncodeError;
use crate::anthropic;

/// Vendor of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModelVendor {
    /// Anthropic, or unknown from the id.
    Anthropic,
    /// Amazon, with its Nova models.
    Amazon,
    /// Any other vendor.
    Other,
}

/// The vendor of a model, from its id: `us.anthropic.claude-…`, `amazon.nova-2-lite-v1:0`. The
/// ARN of a profile has no vendor and counts as Anthropic.
pub(super) fn vendor(model: Option<&str>) -> ModelVendor {
    let Some(model) = model else {
        return ModelVendor::Anthropic;
    };
    let name = model.rsplit('/').next().unwrap_or(model);
    let mut parts = name.split('.');
    let first = parts.next().unwrap_or_default();
    let vendor = match first {
        "us" | "eu" | "apac" | "global" | "us-gov" | "jp" | "au" | "ca" | "sa" => parts.next(),
        _ => Some(first),
    };
    match vendor {
        _ if name.contains("claude") => ModelVendor::Anthropic,
        Some("anthropic") => ModelVendor::Anthropic,
        Some("amazon") => ModelVendor::Amazon,
        Some(_) if parts.next().is_some() => ModelVendor::Other,
        _ => ModelVendor::Anthropic,
    }
}

/// Fails if the tool is a screen and the model supports it only as a toolset.
pub(super) fn check_legacy_tool_support(
    tool: &Tool,
    model: Option<&str>,
    dialect: &'static str,
) -> Result<(), EncodeError> {
    let is_screen =
        matches!(tool, Tool::ComputerUse(tool) if tool.environment != Some(Environment::Browser));
    let Some(model) = model else {
        return Ok(());
    };
    if is_screen && !anthropic::supports_legacy_tools(model) {
        let problem =
            format!("{model} supports only the computer toolset; use it with bedrock-messages");
        return Err(EncodeError::missing(dialect, problem));
    }
    Ok(())
}

/// The values of all `anthropic-beta` headers.
pub(super) fn betas(headers: &[(String, String)]) -> Vec<Value> {
    let values = headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("anthropic-beta"));
    let betas = values.flat_map(|(_, betas)| betas.split(','));
    betas.map(|beta| Value::from(beta.trim())).collect()
}

#[cfg(test)]
mod tests {
    use super::{ModelVendor, vendor};

    #[test]
    fn the_model_id_determines_the_vendor() {
        let table = [
            (Some("us.anthropic.claude-opus-4-8"), ModelVendor::Anthropic),
            (
                Some("anthropic.claude-sonnet-4-5-20250929-v1:0"),
                ModelVendor::Anthropic,
            ),
            (Some("claude-sonnet-5"), ModelVendor::Anthropic),
            (Some("amazon.nova-2-lite-v1:0"), ModelVendor::Amazon),
            (Some("us.amazon.nova-2-lite-v1:0"), ModelVendor::Amazon),
            (Some("meta.llama3-1-8b-instruct-v1:0"), ModelVendor::Other),
            (
                Some("arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-micro-v1:0"),
                ModelVendor::Amazon,
            ),
            (
                Some("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc"),
                ModelVendor::Anthropic,
            ),
            (None, ModelVendor::Anthropic),
        ];
        for (model, expected) in table {
            assert_eq!(vendor(model), expected, "{model:?}");
        }
    }
}
