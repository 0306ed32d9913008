//! What a session offers to a model, and how a dialect declares it.

use serde_json::{Map, Value};
use telechir_protocol::Tool;

/// What to declare, for which model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOffer {
    /// The tools, in order.
    pub tools: Vec<Tool>,
    /// The model; it decides between versions of a tool. Absent means the newest.
    pub model: Option<String>,
}

/// Tools in a dialect's words, with the headers that must go with them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declaration {
    /// The entries of the request's `tools`.
    pub tools: Vec<Value>,
    /// Members of the request's body that must go with them, such as `anthropic_beta`.
    pub body: Map<String, Value>,
    /// Header names and values, such as `anthropic-beta`.
    pub headers: Vec<(String, String)>,
}

/// Names under which tools keep settings for one provider only.
const PROVIDERS: [&str; 6] = [
    "openai",
    "anthropic",
    "google",
    "bedrock",
    "mistral",
    "agent_framework",
];

/// A hosted tool's settings for one provider: those for everybody, and its own, which win.
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
