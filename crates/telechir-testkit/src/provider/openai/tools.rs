//! Tool definitions: known types and their fields.

use serde_json::Value;

use super::{Validated, ensure, extra, list, object, one_of, only, positive, text_or_empty};
use crate::provider::Rejection;
use crate::provider::shape::is_name;

/// Hosted tools, whose fields are not checked.
const HOSTED: &[&str] = &[
    "file_search",
    "web_search",
    "web_search_2025_08_26",
    "web_search_preview",
    "web_search_preview_2025_03_11",
    "mcp",
    "code_interpreter",
    "programmatic_tool_calling",
    "image_generation",
    "namespace",
    "tool_search",
];

pub(super) fn check(body: &Value) -> Validated {
    let tools = body
        .get("tools")
        .map_or(Ok(&[][..]), |tools| list(tools, "tools"))?;
    let mut names: Vec<&str> = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        let location = format!("tools[{index}]");
        object(tool, &location)?;
        check_tool(tool, text_or_empty(body, "model"), &location)?;
        let name = if text_or_empty(tool, "name").is_empty() {
            text_or_empty(tool, "type")
        } else {
            text_or_empty(tool, "name")
        };
        ensure(!names.contains(&name), || {
            format!("{location}: the tool '{name}' is duplicated")
        })?;
        names.push(name);
    }
    Ok(())
}

fn check_tool(tool: &Value, model: &str, location: &str) -> Validated {
    let legacy_model = model.starts_with("computer-use-preview");
    match text_or_empty(tool, "type") {
        "computer" => {
            ensure(!legacy_model, || {
                format!("Tool 'computer' is not supported with {model}.")
            })?;
            only(tool, &[&["type"]], location, extra)
        }
        "computer_use_preview" => {
            ensure(legacy_model, || {
                format!("Tool 'computer_use_preview' is not supported with {model}.")
            })?;
            only(
                tool,
                &[&["type", "display_width", "display_height", "environment"]],
                location,
                extra,
            )?;
            positive(tool, "display_width", location)?;
            positive(tool, "display_height", location)?;
            one_of(
                text_or_empty(tool, "environment"),
                &["windows", "mac", "linux", "ubuntu", "browser"],
                &format!("{location}.environment"),
            )
        }
        "shell" => check_shell(tool, location),
        "local_shell" => only(tool, &[&["type"]], location, extra),
        "apply_patch" => only(tool, &[&["type", "allowed_callers"]], location, extra),
        "function" => check_function(tool, location),
        "custom" => {
            let members = &[
                "type",
                "name",
                "description",
                "format",
                "async",
                "defer_loading",
                "allowed_callers",
            ];
            only(tool, &[members], location, extra)?;
            check_name(tool, location)
        }
        hosted if HOSTED.contains(&hosted) => Ok(()),
        other => Err(Rejection::invalid(format!(
            "Invalid value: '{other}' at '{location}.type'."
        ))),
    }
}

fn check_shell(tool: &Value, location: &str) -> Validated {
    only(
        tool,
        &[&["type", "environment", "allowed_callers"]],
        location,
        extra,
    )?;
    let Some(environment) = tool
        .get("environment")
        .filter(|environment| !environment.is_null())
    else {
        return Ok(());
    };
    let location = format!("{location}.environment");
    one_of(
        text_or_empty(environment, "type"),
        &["local", "container_auto", "container_reference"],
        &format!("{location}.type"),
    )?;
    match text_or_empty(environment, "type") {
        "local" => only(environment, &[&["type", "skills"]], &location, extra),
        _ => Ok(()),
    }
}

fn check_function(tool: &Value, location: &str) -> Validated {
    let members = &[
        "type",
        "name",
        "description",
        "parameters",
        "strict",
        "output_schema",
        "async",
        "defer_loading",
        "allowed_callers",
    ];
    only(tool, &[members], location, extra)?;
    check_name(tool, location)?;
    for name in ["parameters", "strict"] {
        ensure(tool.get(name).is_some(), || {
            format!("Missing required parameter: '{location}.{name}'.")
        })?;
    }
    let schema = tool.get("parameters").filter(|schema| !schema.is_null());
    ensure(
        schema.is_none_or(|schema| text_or_empty(schema, "type") == "object"),
        || {
            format!(
                "Invalid schema for function '{}': schema must be of type \"object\".",
                text_or_empty(tool, "name")
            )
        },
    )
}

fn check_name(tool: &Value, location: &str) -> Validated {
    ensure(is_name(text_or_empty(tool, "name"), 128), || {
        format!(
            "Invalid '{location}.name': string does not match pattern '^[a-zA-Z0-9_-]+$' of at most 128 characters."
        )
    })
}
