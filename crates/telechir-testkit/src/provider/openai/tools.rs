//! Tool entries: which there are and which members each takes.

use serde_json::Value;

use super::{Checked, ensure, extra, list, object, one_of, only, positive, word};
use crate::provider::Refusal;
use crate::provider::shape::is_name;

/// Tools the provider carries out; their members are not ours to judge.
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

pub(super) fn check(body: &Value) -> Checked {
    let tools = body
        .get("tools")
        .map_or(Ok(&[][..]), |tools| list(tools, "tools"))?;
    let mut names: Vec<&str> = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        let place = format!("tools[{index}]");
        object(tool, &place)?;
        check_tool(tool, word(body, "model"), &place)?;
        let name = if word(tool, "name").is_empty() {
            word(tool, "type")
        } else {
            word(tool, "name")
        };
        ensure(!names.contains(&name), || {
            format!("{place}: the tool '{name}' is there twice")
        })?;
        names.push(name);
    }
    Ok(())
}

fn check_tool(tool: &Value, model: &str, place: &str) -> Checked {
    let legacy_model = model.starts_with("computer-use-preview");
    match word(tool, "type") {
        "computer" => {
            ensure(!legacy_model, || {
                format!("Tool 'computer' is not supported with {model}.")
            })?;
            only(tool, &[&["type"]], place, extra)
        }
        "computer_use_preview" => {
            ensure(legacy_model, || {
                format!("Tool 'computer_use_preview' is not supported with {model}.")
            })?;
            only(
                tool,
                &[&["type", "display_width", "display_height", "environment"]],
                place,
                extra,
            )?;
            positive(tool, "display_width", place)?;
            positive(tool, "display_height", place)?;
            one_of(
                word(tool, "environment"),
                &["windows", "mac", "linux", "ubuntu", "browser"],
                &format!("{place}.environment"),
            )
        }
        "shell" => check_shell(tool, place),
        "local_shell" => only(tool, &[&["type"]], place, extra),
        "apply_patch" => only(tool, &[&["type", "allowed_callers"]], place, extra),
        "function" => check_function(tool, place),
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
            only(tool, &[members], place, extra)?;
            check_name(tool, place)
        }
        hosted if HOSTED.contains(&hosted) => Ok(()),
        other => Err(Refusal::invalid(format!(
            "Invalid value: '{other}' at '{place}.type'."
        ))),
    }
}

fn check_shell(tool: &Value, place: &str) -> Checked {
    only(
        tool,
        &[&["type", "environment", "allowed_callers"]],
        place,
        extra,
    )?;
    let Some(environment) = tool
        .get("environment")
        .filter(|environment| !environment.is_null())
    else {
        return Ok(());
    };
    let place = format!("{place}.environment");
    one_of(
        word(environment, "type"),
        &["local", "container_auto", "container_reference"],
        &format!("{place}.type"),
    )?;
    match word(environment, "type") {
        "local" => only(environment, &[&["type", "skills"]], &place, extra),
        _ => Ok(()),
    }
}

fn check_function(tool: &Value, place: &str) -> Checked {
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
    only(tool, &[members], place, extra)?;
    check_name(tool, place)?;
    for name in ["parameters", "strict"] {
        ensure(tool.get(name).is_some(), || {
            format!("Missing required parameter: '{place}.{name}'.")
        })?;
    }
    let schema = tool.get("parameters").filter(|schema| !schema.is_null());
    ensure(
        schema.is_none_or(|schema| word(schema, "type") == "object"),
        || {
            format!(
                "Invalid schema for function '{}': schema must be of type \"object\".",
                word(tool, "name")
            )
        },
    )
}

fn check_name(tool: &Value, place: &str) -> Checked {
    ensure(is_name(word(tool, "name"), 128), || {
        format!(
            "Invalid '{place}.name': string does not match pattern '^[a-zA-Z0-9_-]+$' of at most 128 characters."
        )
    })
}
