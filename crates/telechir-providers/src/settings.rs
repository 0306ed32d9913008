//! Settings of other providers on a content, which a translation cannot transfer.

use serde_json::Value;
use telechir_protocol::Meta;

/// Providers other than `own` with the names of their significant settings. A setting is not
/// significant if neutral values repeat it or only the provider itself can use it.
pub(crate) fn of_other_providers<'a>(meta: &'a Meta, own: &str) -> Vec<(&'a str, Vec<&'a str>)> {
    let others = meta
        .additional_properties
        .iter()
        .filter(|(provider, _)| *provider != own);
    let named = others.map(|(provider, settings)| {
        let settings = settings.as_object().into_iter().flatten();
        let significant = settings.filter(|(name, value)| is_significant(name, value));
        let names: Vec<&str> = significant.map(|(name, _)| name.as_str()).collect();
        (provider.as_str(), names)
    });
    named.filter(|(_, names)| !names.is_empty()).collect()
}

fn is_significant(name: &str, value: &Value) -> bool {
    match name {
        _ if value.is_null() => false,
        // The original form of a content, and settings that its neutral fields repeat.
        "form" | "name" | "input" | "toolset_name" | "action" | "actions" | "summary"
        | "logprobs" | "id" | "return_code" | "result" | "stream" | "image" | "file"
        | "images_after" => false,
        "status" => value != "completed",
        // Other dialects always send images in full detail.
        "detail" => !matches!(value.as_str(), Some("auto" | "high" | "original")),
        "caller" => value.get("type").is_none_or(|kind| kind != "direct"),
        _ => true,
    }
}
