//! Tools that a session offers to a model, and their declaration in a dialect.

use serde_json::{Map, Value};
use telechir_protocol::Tool;

/// The tools to declare, and the model they are for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOffer {
    /// The tools, in the order of the declaration.
    pub tools: Vec<Tool>,
    /// The model, which selects the version of a tool. If absent, the newest version is used.
    pub model: Option<String>,
}

/// Encoded tools with the headers and body fields that they require.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declaration {
    /// The entries of the request's `tools`.
    pub tools: Vec<Value>,
    /// Fields to add to the request's body, such as `anthropic_beta`.
    pub body: Map<String, Value>,
    /// Names and values of HTTP headers, such as `anthropic-beta`.
    pub headers: Vec<(String, String)>,
}

/// Keys of settings that apply to one provider only.
pub(crate) const PROVIDERS: [&str; 7] = [
    "openai",
    "anthropic",
    "google",
    "bedrock",
    "mistral",
    "functions",
    "agent_framework",
];

/// The settings of a hosted tool for one provider: common settings, overridden by its own.
pub(crate) fn hosted_settings(
    additional: &Map<String, Value>,
    provider: &str,
) -> Map<String, Value> {
    let of_one = |name: &str| PROVIDERS.contains(&name);
    let common = additional.iter().filter(|(name, _)| !of_one(name));
    let own = additional.get(provider).and_then(Value::as_object);
    let all = common.chain(own.into_iter().flatten());
    all.map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}
