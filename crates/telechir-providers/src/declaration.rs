//! Tools that a session offers to a model, and their declaration in a dialect.

use std::collections::HashMap;

use serde_json::{Map, Value};
use telechir_protocol::Tool;

use crate::service_rules::NameRule;
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

/// Receives each tool that cannot be declared, by its position: an error ends the declaration, `Ok`
/// leaves the tool out.
pub(crate) type RefuseTool<'a> = &'a mut dyn FnMut(usize, EncodeError) -> Result<(), EncodeError>;

/// Encodes tool declarations for a request, without the tools that `RefuseTool` leaves out.
pub(crate) type DeclareTools =
    fn(&ToolOffer, RefuseTool<'_>) -> Result<(Declaration, Report), EncodeError>;

/// The tools that were left out, by their positions.
pub(crate) type RefusedTools = Vec<(usize, EncodeError)>;

/// A [`RefuseTool`] that ends the declaration.
pub(crate) fn end_declaration(_at: usize, error: EncodeError) -> Result<(), EncodeError> {
    Err(error)
}

/// The location of a tool in an offer.
pub(crate) fn tool_location(at: usize) -> String {
    format!("tools[{at}]")
}

/// The position of the tool at a location.
pub(crate) fn tool_position(location: &str) -> Option<usize> {
    let at = location.strip_prefix("tools[")?.strip_suffix(']')?;
    at.parse().ok()
}

/// Locates the losses from `first` on at a tool. A refused tool has none.
pub(crate) fn locate(report: &mut Report, first: usize, at: usize, is_refused: bool) {
    if is_refused {
        return report.losses.truncate(first);
    }
    for loss in &mut report.losses[first..] {
        loss.location = tool_location(at);
    }
}

/// Locates losses in an offer of which only the tools at `positions` were declared.
pub(crate) fn relocate(report: &mut Report, positions: &[usize]) {
    for loss in &mut report.losses {
        let position = tool_position(&loss.location).and_then(|at| positions.get(at));
        if let Some(position) = position {
            loss.location = tool_location(*position);
        }
    }
}

/// The functions among declared tools. A service requires their names to be unique.
#[derive(Debug, Default)]
pub(crate) struct DeclaredFunctions {
    by_name: HashMap<String, usize>,
}

impl DeclaredFunctions {
    /// Adds a function to the tools, unless it is one of them.
    ///
    /// # Errors
    /// If the service rejects the name, or another function has it.
    pub(crate) fn add(
        &mut self,
        rule: &NameRule,
        dialect: &'static str,
        function: (&str, Value),
        tools: &mut Vec<Value>,
    ) -> Result<(), EncodeError> {
        #[cfg(test)]
        crate::phrases::steps::add(1);
        let (name, declared) = function;
        let same = self.by_name.get(name).and_then(|at| tools.get(*at));
        if same == Some(&declared) {
            return Ok(());
        }
        rule.check_function(dialect, name, same.is_some())?;
        self.add_raw(Some(name), declared, tools);
        Ok(())
    }

    /// Adds a tool in the provider's own format, whose name if it is a function is `name`.
    pub(crate) fn add_raw(&mut self, name: Option<&str>, tool: Value, tools: &mut Vec<Value>) {
        if let Some(name) = name {
            self.by_name.entry(name.to_owned()).or_insert(tools.len());
        }
        tools.push(tool);
    }
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
    let all = common.chain(own_settings(additional, provider));
    all.map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The settings of a tool for one provider alone.
pub(crate) fn own_settings<'a>(
    additional: &'a Map<String, Value>,
    provider: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
    let own = additional.get(provider).and_then(Value::as_object);
    own.into_iter().flatten()
}

/// Adds the settings for one provider to its declaration of a tool.
pub(crate) fn add_settings(declared: &mut Value, additional: &Map<String, Value>, provider: &str) {
    for (name, value) in own_settings(additional, provider) {
        declared[name.as_str()] = value.clone();
    }
}
