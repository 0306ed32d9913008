//! Tool definitions: known types, their fields, and the models that support them.

use serde_json::Value;

use super::{Validated, ensure, extra, list, object, one_of, only, positive, text_or_empty};
use crate::provider::Rejection;
use crate::provider::shape::is_name;

const COMPUTER_MEMBERS: &[&str] = &[
    "screenshot",
    "zoom",
    "left_click",
    "right_click",
    "middle_click",
    "double_click",
    "triple_click",
    "left_click_drag",
    "mouse_move",
    "left_mouse_down",
    "left_mouse_up",
    "cursor_position",
    "scroll",
    "type",
    "key",
    "hold_key",
    "wait",
];
const BROWSER_MEMBERS: &[&str] = &[
    "navigate",
    "list_tabs",
    "new_tab",
    "switch_tab",
    "close_tab",
    "read_page",
    "get_page_text",
    "read_console",
    "read_network",
    "find",
    "form_input",
    "file_upload",
    "scroll_to",
    "screenshot",
    "zoom",
    "left_click",
    "right_click",
    "middle_click",
    "double_click",
    "triple_click",
    "hover",
    "left_click_drag",
    "left_mouse_down",
    "left_mouse_up",
    "mouse_move",
    "scroll",
    "type",
    "key",
    "hold_key",
    "wait",
    "javascript_exec",
];
const COMMON: &[&str] = &[
    "type",
    "name",
    "cache_control",
    "defer_loading",
    "strict",
    "input_examples",
    "allowed_callers",
];
const DISPLAY: &[&str] = &["display_width_px", "display_height_px", "display_number"];
/// Typed tools with their required names.
const NAMED: &[(&str, &str)] = &[
    ("computer_20241022", "computer"),
    ("computer_20250124", "computer"),
    ("computer_20251124", "computer"),
    ("bash_20241022", "bash"),
    ("bash_20250124", "bash"),
    ("text_editor_20241022", "str_replace_editor"),
    ("text_editor_20250124", "str_replace_editor"),
    ("text_editor_20250429", "str_replace_based_edit_tool"),
    ("text_editor_20250728", "str_replace_based_edit_tool"),
    ("memory_20250818", "memory"),
];
/// Tools that need a beta header, with its value.
const BETA_TOOLS: &[(&str, &str)] = &[
    ("computer_20241022", "computer-use-2024-10-22"),
    ("computer_20250124", "computer-use-2025-01-24"),
    ("computer_20251124", "computer-use-2025-11-24"),
    ("bash_20241022", "computer-use-2024-10-22"),
    ("text_editor_20241022", "computer-use-2024-10-22"),
];

pub(super) fn check(body: &Value, betas: &[String]) -> Validated {
    let mut names: Vec<String> = Vec::new();
    let tools = body
        .get("tools")
        .map_or(Ok(&[][..]), |tools| list(tools, "tools"))?;
    for (index, tool) in tools.iter().enumerate() {
        let location = format!("tools.{index}");
        object(tool, &location)?;
        let kind = tool.get("type").and_then(Value::as_str).unwrap_or("custom");
        check_model(text_or_empty(body, "model"), kind)?;
        let name = match kind {
            "computer_toolset_20260801" => {
                check_toolset(tool, COMPUTER_MEMBERS, &format!("{location}.{kind}"))?;
                "computer"
            }
            "browser_toolset_20260801" => {
                check_toolset(tool, BROWSER_MEMBERS, &format!("{location}.{kind}"))?;
                "browser"
            }
            "custom" => check_custom(tool, &format!("{location}.custom"))?,
            kind => check_named(tool, kind, betas, &location)?,
        };
        ensure(!names.iter().any(|other| other == name), || {
            format!("tools: Tool names must be unique; '{name}' is duplicated.")
        })?;
        names.push(name.to_owned());
    }
    if let Some(choice) = body.get("tool_choice") {
        one_of(
            text_or_empty(choice, "type"),
            &["auto", "any", "tool", "none"],
            "tool_choice.type",
        )?;
    }
    Ok(())
}

fn check_toolset(tool: &Value, members: &[&str], location: &str) -> Validated {
    only(
        tool,
        &[&["type", "configs", "cache_control", "allowed_callers"]],
        location,
        extra,
    )?;
    let Some(configs) = tool.get("configs").filter(|configs| !configs.is_null()) else {
        return Ok(());
    };
    for (name, config) in object(configs, &format!("{location}.configs"))? {
        one_of(name, members, &format!("{location}.configs"))?;
        if !config.is_null() {
            only(
                config,
                &[&["enabled", "defer_loading"]],
                &format!("{location}.configs.{name}"),
                extra,
            )?;
        }
    }
    let off = |name: &&str| {
        configs.get(*name).and_then(|config| config.get("enabled")) == Some(&Value::Bool(false))
    };
    ensure(!members.iter().all(off), || {
        format!("{location}.configs: at least one member must be enabled")
    })
}

fn check_named<'a>(
    tool: &'a Value,
    kind: &str,
    betas: &[String],
    location: &str,
) -> Validated<&'a str> {
    let Some((_, name)) = NAMED.iter().find(|(known, _)| *known == kind) else {
        return Err(Rejection::invalid(format!(
            "{location}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
        )));
    };
    let location = format!("{location}.{kind}");
    let own: &[&str] = match kind {
        "computer_20251124" => &["enable_zoom"],
        "text_editor_20250728" => &["max_characters"],
        _ => &[],
    };
    let display = if kind.starts_with("computer_") {
        DISPLAY
    } else {
        &[]
    };
    only(tool, &[COMMON, own, display], &location, extra)?;
    one_of(
        text_or_empty(tool, "name"),
        &[name],
        &format!("{location}.name"),
    )?;
    if kind.starts_with("computer_") {
        positive(tool, "display_width_px", &location)?;
        positive(tool, "display_height_px", &location)?;
    }
    if let Some((_, beta)) = BETA_TOOLS.iter().find(|(needs, _)| *needs == kind) {
        ensure(betas.iter().any(|sent| sent == beta), || {
            format!("{location}: needs the anthropic-beta header {beta}")
        })?;
    }
    Ok(text_or_empty(tool, "name"))
}

fn check_custom<'a>(tool: &'a Value, location: &str) -> Validated<&'a str> {
    only(
        tool,
        &[
            COMMON,
            &["description", "input_schema", "eager_input_streaming"],
        ],
        location,
        extra,
    )?;
    let name = text_or_empty(tool, "name");
    ensure(is_name(name, 128), || {
        format!("{location}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
    })?;
    let schema = tool.get("input_schema").unwrap_or(&Value::Null);
    one_of(
        text_or_empty(schema, "type"),
        &["object"],
        &format!("{location}.input_schema.type"),
    )?;
    Ok(name)
}

/// The computer tools of a model family; unknown models accept all.
fn check_model(model: &str, kind: &str) -> Validated {
    const OLD: &[(&[&str], &[&str])] = &[
        (&["-5-5", "-5-2"], &["computer_toolset_20260801"]),
        (&["sonnet-4-5", "haiku-4-5"], &["computer_20250124"]),
        (
            &["opus-4-7", "opus-4-6", "opus-4-5", "sonnet-4-6"],
            &["computer_20251124"],
        ),
        (
            &["fable-5", "mythos-5", "opus-5", "sonnet-5", "opus-4-8"],
            &["computer_toolset_20260801", "computer_20251124"],
        ),
    ];
    if !kind.starts_with("computer_") {
        return Ok(());
    }
    let line = OLD
        .iter()
        .find(|(names, _)| names.iter().any(|name| model.contains(name)));
    let Some((_, accepted)) = line else {
        return Ok(());
    };
    ensure(accepted.contains(&kind), || {
        format!(
            "'{model}' does not support tool types: {kind}. It accepts: {}.",
            accepted.join(", ")
        )
    })
}
