//! Tools that a session offers to a model, and their declaration in a dialect.

mod exclusions;
mod hosted;
mod settings;

use serde_json::{Map, Value};
use telechir_protocol::Tool;

use crate::codec::Codec;
use crate::{EncodeError, Report};

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
const PROVIDERS: [&str; 7] = [
    "openai",
    "anthropic",
    "google",
    "bedrock",
    "mistral",
    "functions",
    "agent_framework",
];

/// Declares tools with their settings for the dialect's provider. A tool or setting that is not
/// declared is in the report.
pub(crate) fn declare(
    codec: &dyn Codec,
    offer: &ToolOffer,
) -> Result<(Declaration, Report), EncodeError> {
    let Some(provider) = settings::provider_of(codec.name()) else {
        return codec.declare(offer);
    };
    let mut report = Report::default();
    let mut prepared = ToolOffer {
        tools: Vec::with_capacity(offer.tools.len()),
        model: offer.model.clone(),
    };
    let mut servers = Vec::new();
    for (at, tool) in offer.tools.iter().enumerate() {
        let path = format!("tools[{at}]");
        let mut tool = tool.clone();
        exclusions::normalize(&mut tool);
        settings::assign(&mut tool, provider, &path, &mut report);
        let tool = hosted::named_as(tool, codec.name(), provider, &mut servers);
        match hosted::owner_of(&tool).filter(|owner| *owner != provider) {
            Some(owner) => report.lost(
                format!("tool `{}`", hosted::type_of(&tool)),
                path,
                format!(
                    "it is a tool of {owner}, which {} does not have",
                    codec.name()
                ),
            ),
            None => prepared.tools.push(tool),
        }
    }
    let (mut declaration, losses) = codec.declare(&prepared)?;
    report.absorb(losses);
    exclusions::report_ignored(codec, &prepared, &declaration, &mut report);
    if !servers.is_empty() {
        declaration
            .body
            .insert("mcp_servers".to_owned(), servers.into());
    }
    for (at, tool) in prepared.tools.iter().enumerate() {
        let path = format!("tools[{at}]");
        settings::report_unused(tool, provider, &declaration, &path, &mut report);
    }
    Ok((declaration, report))
}

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
