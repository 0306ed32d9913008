//! Tool definitions of the two APIs.

use serde_json::Value;

use super::super::Rejection;
use super::super::shape::{Validated, ensure, list, object, one_of, only, text, text_or_empty};
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

/// Validates the tools of `generateContent`.
pub(super) fn check(body: &Value) -> Validated {
    let Some(tools) = body.get("tools") else {
        return Ok(());
    };
    for (index, tool) in list(tools, "tools")?.iter().enumerate() {
        let location = format!("tools[{index}]");
        only(tool, &[TOOLS], &location, extra)?;
        if let Some(computer) = tool.get("computerUse") {
            let location = format!("{location}.computer_use");
            only(computer, &[COMPUTER], &location, extra)?;
            let known = [
                "ENVIRONMENT_UNSPECIFIED",
                "ENVIRONMENT_BROWSER",
                "ENVIRONMENT_MOBILE",
                "ENVIRONMENT_DESKTOP",
            ];
            one_of(text_or_empty(computer, "environment"), &known, &location)?;
        }
        let functions = tool.get("functionDeclarations");
        let functions = functions.map_or(Ok(&[][..]), |list_| list(list_, &location))?;
        ensure(functions.len() <= 512, || {
            format!("{location}: at most 512 function declarations")
        })?;
        for function in functions {
            only(function, &[FUNCTION], &location, extra)?;
            let name = text(function, "name", &location)?;
            let schema = ["parameters", "parametersJsonSchema"]
                .iter()
                .find_map(|member| function.get(*member));
            check_schema(name, schema)?;
        }
    }
    check_combination(body)
}

/// Built-in tools can be combined with functions only if the request enables it.
fn check_combination(body: &Value) -> Validated {
    let tools = body.get("tools").and_then(Value::as_array);
    let names: Vec<&String> = tools
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
        .flat_map(serde_json::Map::keys)
        .collect();
    let has = |wanted: &[&str]| names.iter().any(|name| wanted.contains(&name.as_str()));
    let call_ids = body
        .get("toolConfig")
        .is_some_and(|config| config.get("includeServerSideToolInvocations") == Some(&true.into()));
    let mixes = has(&["functionDeclarations", "computerUse"])
        && has(&["googleSearch", "urlContext", "googleMaps", "fileSearch"]);
    ensure(call_ids || !mixes, || {
        "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling".to_owned()
    })
}

fn check_schema(name: &str, schema: Option<&Value>) -> Validated {
    let Some(schema) = schema else { return Ok(()) };
    let kind = text_or_empty(schema, "type").to_ascii_lowercase();
    let properties = schema.get("properties").and_then(Value::as_object);
    if kind == "object" && properties.is_none_or(serde_json::Map::is_empty) {
        return Err(Rejection::invalid(format!(
            "{name}.parameters.properties: should be non-empty for OBJECT type"
        )));
    }
    Ok(())
}

/// Validates the tools of Interactions.
pub(super) fn check_steps(body: &Value) -> Validated {
    let Some(tools) = body.get("tools") else {
        return Ok(());
    };
    for (index, tool) in list(tools, "tools")?.iter().enumerate() {
        let location = format!("tools[{index}]");
        object(tool, &location)?;
        match text(tool, "type", &location)? {
            "computer_use" => {
                only(tool, &[STEP_COMPUTER], &location, extra)?;
                let known = ["browser", "mobile", "desktop"];
                one_of(text_or_empty(tool, "environment"), &known, &location)?;
            }
            "function" => {
                let known = &["type", "name", "description", "parameters"];
                only(tool, &[known], &location, extra)?;
                let name = text(tool, "name", &location)?;
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
                one_of(kind, &known, &format!("{location}.type"))?;
            }
        }
    }
    Ok(())
}
