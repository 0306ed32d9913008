//! Tools as the two interfaces take them.

use serde_json::Value;

use super::super::Refusal;
use super::super::shape::{Checked, ensure, list, object, one_of, only, text, word};
use super::extra;

const TOOLS: &[&str] = &[
    "functionDeclarations",
    "computerUse",
    "codeExecution",
    "googleSearch",
    "urlContext",
    "googleMaps",
    "fileSearch",
    "mcpServers",
];
const COMPUTER: &[&str] = &[
    "environment",
    "excludedPredefinedFunctions",
    "enablePromptInjectionDetection",
    "disabledSafetyPolicies",
];
const STEP_COMPUTER: &[&str] = &[
    "type",
    "environment",
    "excluded_predefined_functions",
    "enable_prompt_injection_detection",
    "disabled_safety_policies",
];
const FUNCTION: &[&str] = &[
    "name",
    "description",
    "parameters",
    "parametersJsonSchema",
    "response",
    "responseJsonSchema",
    "behavior",
];

/// Checks the tools of `generateContent`.
pub(super) fn check(body: &Value) -> Checked {
    let Some(tools) = body.get("tools") else {
        return Ok(());
    };
    for (index, tool) in list(tools, "tools")?.iter().enumerate() {
        let place = format!("tools[{index}]");
        only(tool, &[TOOLS], &place, extra)?;
        if let Some(computer) = tool.get("computerUse") {
            let place = format!("{place}.computer_use");
            only(computer, &[COMPUTER], &place, extra)?;
            let known = [
                "ENVIRONMENT_UNSPECIFIED",
                "ENVIRONMENT_BROWSER",
                "ENVIRONMENT_MOBILE",
                "ENVIRONMENT_DESKTOP",
            ];
            one_of(word(computer, "environment"), &known, &place)?;
        }
        let functions = tool.get("functionDeclarations");
        let functions = functions.map_or(Ok(&[][..]), |list_| list(list_, &place))?;
        ensure(functions.len() <= 512, || {
            format!("{place}: at most 512 function declarations")
        })?;
        for function in functions {
            only(function, &[FUNCTION], &place, extra)?;
            let name = text(function, "name", &place)?;
            let schema = ["parameters", "parametersJsonSchema"]
                .iter()
                .find_map(|member| function.get(*member));
            check_schema(name, schema)?;
        }
    }
    check_combination(body)
}

/// The provider's own tools stand beside functions only when the request asks for it.
fn check_combination(body: &Value) -> Checked {
    let tools = body.get("tools").and_then(Value::as_array);
    let names: Vec<&String> = tools
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
        .flat_map(serde_json::Map::keys)
        .collect();
    let has = |wanted: &[&str]| names.iter().any(|name| wanted.contains(&name.as_str()));
    let asked = body
        .get("toolConfig")
        .is_some_and(|config| config.get("includeServerSideToolInvocations") == Some(&true.into()));
    let mixes = has(&["functionDeclarations", "computerUse"])
        && has(&["googleSearch", "urlContext", "googleMaps", "fileSearch"]);
    ensure(asked || !mixes, || {
        "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling".to_owned()
    })
}

fn check_schema(name: &str, schema: Option<&Value>) -> Checked {
    let Some(schema) = schema else { return Ok(()) };
    let kind = word(schema, "type").to_ascii_lowercase();
    let properties = schema.get("properties").and_then(Value::as_object);
    if kind == "object" && properties.is_none_or(serde_json::Map::is_empty) {
        return Err(Refusal::invalid(format!(
            "{name}.parameters.properties: should be non-empty for OBJECT type"
        )));
    }
    Ok(())
}

/// Checks the tools of Interactions.
pub(super) fn check_steps(body: &Value) -> Checked {
    let Some(tools) = body.get("tools") else {
        return Ok(());
    };
    for (index, tool) in list(tools, "tools")?.iter().enumerate() {
        let place = format!("tools[{index}]");
        object(tool, &place)?;
        match text(tool, "type", &place)? {
            "computer_use" => {
                only(tool, &[STEP_COMPUTER], &place, extra)?;
                let known = ["browser", "mobile", "desktop"];
                one_of(word(tool, "environment"), &known, &place)?;
            }
            "function" => {
                let known = &["type", "name", "description", "parameters"];
                only(tool, &[known], &place, extra)?;
                let name = text(tool, "name", &place)?;
                check_schema(name, tool.get("parameters"))?;
            }
            kind => {
                let known = [
                    "code_execution",
                    "google_search",
                    "url_context",
                    "google_maps",
                    "file_search",
                    "mcp_server",
                    "retrieval",
                ];
                one_of(kind, &known, &format!("{place}.type"))?;
            }
        }
    }
    Ok(())
}
