//! Settings of other providers that a content carries: what a translation leaves behind.

use serde_json::Value;
use telechir_protocol::Meta;

/// Providers other than `own` with the names of their settings that mean something: neither how a
/// content came, which its neutral values say, nor what only the provider itself can use.
pub(crate) fn of_others<'a>(meta: &'a Meta, own: &str) -> Vec<(&'a str, Vec<&'a str>)> {
    let others = meta
        .additional_properties
        .iter()
        .filter(|(provider, _)| *provider != own);
    let named = others.map(|(provider, settings)| {
        let settings = settings.as_object().into_iter().flatten();
        let meant = settings.filter(|(name, value)| means_something(name, value));
        let names: Vec<&str> = meant.map(|(name, _)| name.as_str()).collect();
        (provider.as_str(), names)
    });
    named.filter(|(_, names)| !names.is_empty()).collect()
}

fn means_something(name: &str, value: &Value) -> bool {
    match name {
        _ if value.is_null() => false,
        // The form a content came in, and what its neutral members say in other words.
        "form" | "name" | "input" | "toolset_name" | "action" | "actions" | "summary"
        | "logprobs" | "id" | "return_code" | "result" | "stream" | "image" | "file"
        | "images_after" => false,
        "status" => value != "completed",
        // Elsewhere a picture is always seen in full.
        "detail" => !matches!(value.as_str(), Some("auto" | "high" | "original")),
        "caller" => value.get("type").is_none_or(|kind| kind != "direct"),
        _ => true,
    }
}
