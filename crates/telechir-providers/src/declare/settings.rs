//! The settings of a tool: those without a provider belong to the one that it is declared to.

use std::collections::HashSet;

use serde_json::{Map, Value};
use telechir_protocol::Tool;

use crate::declaration::{PROVIDERS, tool_location};
use crate::phrases::occurring;
use crate::{Declaration, Report};

/// Settings that only one provider has, so that they are not sent to another.
const OWNERS: [(&str, &[&str]); 3] = [
    (
        "anthropic",
        &[
            "display_number",
            "enable_zoom",
            "configs",
            "cache_control",
            "allowed_callers",
            "input_examples",
            "eager_input_streaming",
        ],
    ),
    (
        "google",
        &[
            "excluded_predefined_functions",
            "enable_prompt_injection_detection",
            "disabled_safety_policies",
        ],
    ),
    (
        "openai",
        &["vector_store_ids", "search_context_size", "container"],
    ),
];

/// The setting that this program itself uses.
const APPROVAL_MODE: &str = "approval_mode";

/// The key of a dialect's settings; `None` if the dialect keeps all of them.
pub(super) fn provider_of(dialect: &str) -> Option<&'static str> {
    const PREFIXES: [(&str, &str); 8] = [
        ("anthropic", "anthropic"),
        ("bedrock-agents", "bedrock"),
        ("bedrock", "anthropic"),
        ("openai", "openai"),
        ("agent-framework", "openai"),
        ("google", "google"),
        ("mistral", "mistral"),
        ("functions", "functions"),
    ];
    let found = PREFIXES
        .iter()
        .find(|(prefix, _)| dialect.starts_with(prefix));
    found.map(|(_, provider)| *provider)
}

/// The settings of a tool; none for a declaration in a provider's own format.
pub(crate) fn of_mut(tool: &mut Tool) -> Option<&mut Map<String, Value>> {
    match tool {
        Tool::ComputerUse(tool) => Some(&mut tool.additional_properties),
        Tool::Shell(tool) => Some(&mut tool.additional_properties),
        Tool::Function(tool) => Some(&mut tool.additional_properties),
        Tool::Hosted(tool) => Some(&mut tool.additional_properties),
        Tool::ImageGeneration {
            additional_properties,
        }
        | Tool::CodeInterpreter {
            additional_properties,
        } => Some(additional_properties),
        Tool::Raw(_) => None,
    }
}

/// The same without the right to change them.
fn of(tool: &Tool) -> Option<&Map<String, Value>> {
    match tool {
        Tool::ComputerUse(tool) => Some(&tool.additional_properties),
        Tool::Shell(tool) => Some(&tool.additional_properties),
        Tool::Function(tool) => Some(&tool.additional_properties),
        Tool::Hosted(tool) => Some(&tool.additional_properties),
        Tool::ImageGeneration {
            additional_properties,
        }
        | Tool::CodeInterpreter {
            additional_properties,
        } => Some(additional_properties),
        Tool::Raw(_) => None,
    }
}

/// Moves settings without a provider to `provider`, whose own settings win.
pub(super) fn assign(tool: &mut Tool, provider: &str, path: &str, report: &mut Report) {
    // A hosted MCP server has an approval mode of its own.
    let is_mcp = matches!(tool, Tool::Hosted(hosted) if hosted.hosted_type == "mcp");
    let is_ours = !is_mcp;
    let Some(settings) = of_mut(tool) else {
        return;
    };
    let is_of_one = |name: &String| PROVIDERS.contains(&name.as_str());
    let (named, flat): (Map<_, _>, Map<_, _>) = std::mem::take(settings)
        .into_iter()
        .partition(|(name, _)| is_of_one(name));
    *settings = named;
    let mut own = match settings.shift_remove(provider) {
        Some(Value::Object(own)) => own,
        _ => Map::new(),
    };
    for (name, value) in flat {
        let owner = OWNERS
            .iter()
            .find(|(_, names)| names.contains(&name.as_str()));
        match owner.filter(|(owner, _)| *owner != provider) {
            Some((owner, _)) => report.lost(
                format!("setting `{name}`"),
                path,
                format!("it is a setting of {owner}"),
            ),
            None if is_ours && name == APPROVAL_MODE => {}
            None => {
                own.entry(name).or_insert(value);
            }
        }
    }
    if !own.is_empty() {
        settings.insert(provider.to_owned(), own.into());
    }
}

/// Reports the settings of tools that no part of the declaration contains.
pub(super) fn report_unused(
    tools: &[(usize, &Tool)],
    provider: &str,
    declaration: &Declaration,
    report: &mut Report,
) {
    let mut declared = HashSet::new();
    for value in declaration.tools.iter().chain(declaration.body.values()) {
        collect_members(value, &mut declared);
    }
    let settings = tools.iter().flat_map(|(at, tool)| {
        let own = of(tool).and_then(|settings| settings.get(provider)?.as_object());
        own.into_iter().flat_map(Map::keys).map(|name| (*at, name))
    });
    let unused: Vec<(usize, &String)> = settings
        .filter(|(_, name)| !declared.contains(&plain(name)))
        .collect();
    let names: Vec<&str> = unused.iter().map(|(_, name)| name.as_str()).collect();
    let entries: Vec<&str> = report
        .losses
        .iter()
        .map(|loss| loss.what.as_str())
        .collect();
    let is_reported = occurring(&names, &entries.join("\0"), |_, _| true);
    for ((at, name), is_reported) in unused.into_iter().zip(is_reported) {
        if !is_reported {
            let why = "the tool's declaration has no such setting";
            report.lost(format!("setting `{name}`"), tool_location(at), why);
        }
    }
}

/// Adds the names of all members inside a value.
fn collect_members(value: &Value, names: &mut HashSet<String>) {
    #[cfg(test)]
    crate::phrases::steps::add(1);
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                names.insert(plain(name));
                collect_members(value, names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_members(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A name that is the same in snake and camel case.
fn plain(name: &str) -> String {
    name.replace('_', "").to_lowercase()
}
