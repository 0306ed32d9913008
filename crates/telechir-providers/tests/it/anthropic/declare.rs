//! Declarations: the model's tool versions and headers, and nothing that it rejects.

use serde_json::{Value, json};
use telechir_protocol::Tool;
use telechir_providers::{Declaration, Report, ToolOffer};

use super::DIALECT;

fn offer(model: Option<&str>, tools: Value) -> ToolOffer {
    ToolOffer {
        tools: serde_json::from_value::<Vec<Tool>>(tools).unwrap(),
        model: model.map(str::to_owned),
    }
}

fn declared(model: Option<&str>, tools: Value) -> (Declaration, Report) {
    DIALECT.declare(&offer(model, tools)).unwrap()
}

fn beta(declaration: &Declaration) -> Option<&str> {
    let found = declaration
        .headers
        .iter()
        .find(|(name, _)| name == "anthropic-beta");
    found.map(|(_, value)| value.as_str())
}

fn desktop() -> Value {
    json!({"type": "computer_use", "display_width": 1280, "display_height": 800})
}

#[test]
fn each_model_gets_its_computer_tool_version() {
    let older = |kind: &str| json!({"type": kind, "name": "computer", "display_width_px": 1280, "display_height_px": 800});
    let mut newest_older = older("computer_20251124");
    newest_older["enable_zoom"] = true.into();
    let table = [
        (None, json!({"type": "computer_toolset_20260801"}), None),
        (
            Some("claude-opus-5-5"),
            json!({"type": "computer_toolset_20260801"}),
            None,
        ),
        (
            Some("us.anthropic.claude-opus-4-8"),
            json!({"type": "computer_toolset_20260801"}),
            None,
        ),
        (
            Some("claude-opus-4-6"),
            newest_older,
            Some("computer-use-2025-11-24"),
        ),
        (
            Some("claude-haiku-4-5-20251001"),
            older("computer_20250124"),
            Some("computer-use-2025-01-24"),
        ),
        (
            Some("claude-3-5-sonnet-20241022"),
            older("computer_20241022"),
            Some("computer-use-2024-10-22"),
        ),
    ];
    for (model, expected, header) in table {
        let (declaration, report) = declared(model, json!([desktop()]));
        assert_eq!(declaration.tools, [expected], "{model:?}");
        assert_eq!(beta(&declaration), header, "{model:?}");
        assert_eq!(
            declaration.headers[0],
            ("anthropic-version".to_owned(), "2026-10-21".to_owned())
        );
        assert!(report.is_lossless(), "{report:?}");
    }
}

#[test]
fn a_missing_display_size_is_an_error() {
    let error = DIALECT
        .declare(&offer(
            Some("claude-haiku-4-5"),
            json!([{"type": "computer_use"}]),
        ))
        .unwrap_err();
    assert!(
        error.to_string().contains("the display's width and height"),
        "{error}"
    );
    assert!(
        DIALECT
            .declare(&offer(Some("claude-3-opus-20240229"), json!([desktop()])))
            .is_err()
    );
}

#[test]
fn excluded_actions_are_disabled() {
    let tool = json!({"type": "computer_use", "excluded_actions": ["double_click", "zoom", "drag", "dance"]});
    let (declaration, report) = declared(None, json!([tool]));
    let off = json!({"enabled": false});
    assert_eq!(
        declaration.tools[0]["configs"],
        json!({"double_click": off, "zoom": off, "left_click_drag": off})
    );
    assert_eq!(report.losses.len(), 1);
    let tool = json!({"type": "computer_use", "excluded_actions": ["zoom"], "display_width": 1, "display_height": 1});
    let (declaration, report) = declared(Some("claude-opus-4-5"), json!([tool]));
    assert_eq!(declaration.tools[0]["enable_zoom"], false);
    assert!(report.is_lossless());
}

#[test]
fn a_browser_is_a_toolset_or_our_function() {
    let settings = json!({"anthropic": {"configs": {"javascript_exec": {"enabled": true}}}});
    let browser = json!({"type": "computer_use", "environment": "browser", "additional_properties": settings});
    let (declaration, report) = declared(None, json!([desktop(), browser]));
    let expected = json!({"type": "browser_toolset_20260801", "configs": {"javascript_exec": {"enabled": true}}});
    assert_eq!(declaration.tools[1], expected);
    assert!(report.is_lossless(), "{report:?}");
    let browser = json!({"type": "computer_use", "environment": "browser"});
    let (declaration, _) = declared(Some("claude-opus-4-6"), json!([browser]));
    assert_eq!(declaration.tools[0]["name"], "browser");
    assert_eq!(declaration.tools[0]["input_schema"]["type"], "object");
    assert_eq!(beta(&declaration), None);
}

#[test]
fn an_editor_has_the_newest_version_of_the_model() {
    for (model, kind, name) in [
        (
            "claude-3-5-sonnet-20241022",
            "text_editor_20241022",
            "str_replace_editor",
        ),
        (
            "claude-3-7-sonnet-20250219",
            "text_editor_20250124",
            "str_replace_editor",
        ),
        (
            "claude-sonnet-4-5",
            "text_editor_20250728",
            "str_replace_based_edit_tool",
        ),
        (
            "claude-opus-5-5",
            "text_editor_20250728",
            "str_replace_based_edit_tool",
        ),
    ] {
        let (declaration, _) = declared(
            Some(model),
            json!([{"type": "hosted", "hosted_type": "text_editor"}, {"type": "hosted", "hosted_type": "memory"}]),
        );
        assert_eq!(
            declaration.tools[0],
            json!({"type": kind, "name": name}),
            "{model}"
        );
        assert_eq!(
            declaration.tools[1],
            json!({"type": "memory_20250818", "name": "memory"})
        );
    }
}

#[test]
fn shells_functions_and_hosted_tools_are_declared() {
    let function = json!({"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}});
    let tools = json!([
        {"type": "shell"}, function, {"type": "code_interpreter"},
        {"type": "hosted", "hosted_type": "web_search"}, {"type": "hosted", "hosted_type": "text_editor_20250728"},
        {"type": "hosted", "hosted_type": "memory_20250818"}, {"type": "image_generation"}, {"type": "hosted", "hosted_type": "mcp"},
    ]);
    let (mut declaration, report) = declared(Some("claude-sonnet-5"), tools);
    let session = declaration.tools.remove(1);
    assert_eq!(session["name"], "shell_session");
    assert_eq!(session["input_schema"]["required"], json!(["action"]));
    let expected = [
        json!({"type": "bash_20250124", "name": "bash"}),
        json!({"name": "f", "description": "d", "input_schema": {"type": "object", "properties": {}}}),
        json!({"type": "code_execution_20250825", "name": "code_execution"}),
        json!({"type": "web_search_20260318", "name": "web_search"}),
        json!({"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"}),
        json!({"type": "memory_20250818", "name": "memory"}),
    ];
    assert_eq!(declaration.tools, expected);
    let lost: Vec<&str> = report
        .losses
        .iter()
        .map(|loss| loss.what.as_str())
        .collect();
    assert_eq!(lost, ["tool image_generation", "tool mcp"]);
    let (declaration, _) = declared(
        Some("claude-3-5-sonnet-20241022"),
        json!([{"type": "shell"}, desktop()]),
    );
    assert_eq!(declaration.tools[0]["type"], "bash_20241022");
    assert_eq!(beta(&declaration), Some("computer-use-2024-10-22"));
}

#[test]
fn any_hosted_tool_is_declared_by_its_type_with_its_beta() {
    let hosted = |kind: &str, settings: Value| json!({"type": "hosted", "hosted_type": kind, "additional_properties": settings});
    let tools = json!([
        hosted("mcp_toolset", json!({"mcp_server_name": "files"})),
        hosted("advisor", json!({"anthropic": {"model": "claude-opus-5-5"}, "openai": {"x": 1}})),
        hosted("web_fetch_20250910", json!({"max_uses": 3, "anthropic": {"max_uses": 5}})),
        hosted("code_execution_20260521", json!({})),
        hosted("divination_20270101", json!({})),
        {"type": "raw", "dialect": "anthropic-messages", "json": {"type": "bash_20241022", "name": "bash"}},
    ]);
    let (declaration, report) = declared(Some("claude-opus-5-5"), tools);
    let expected = [
        json!({"type": "mcp_toolset", "mcp_server_name": "files"}),
        json!({"type": "advisor_20260301", "name": "advisor", "model": "claude-opus-5-5"}),
        json!({"type": "web_fetch_20250910", "name": "web_fetch", "max_uses": 5}),
        json!({"type": "code_execution_20260521", "name": "code_execution"}),
        json!({"type": "divination_20270101", "name": "divination"}),
        json!({"type": "bash_20241022", "name": "bash"}),
    ];
    assert_eq!(declaration.tools, expected);
    assert_eq!(
        beta(&declaration),
        Some("mcp-client-2025-11-20,advisor-tool-2026-03-01,computer-use-2024-10-22")
    );
    assert!(report.is_lossless());
}

#[test]
fn settings_apply_only_to_tools_that_support_them() {
    let settings = json!({"anthropic": {"display_number": 1, "cache_control": {"type": "ephemeral"}}, "openai": {"x": 1}});
    let mut tool = desktop();
    tool["additional_properties"] = settings;
    let (declaration, report) = declared(Some("claude-sonnet-4-5"), json!([tool.clone()]));
    assert_eq!(declaration.tools[0]["display_number"], 1);
    assert_eq!(
        declaration.tools[0]["cache_control"],
        json!({"type": "ephemeral"})
    );
    assert!(report.is_lossless());
    // The toolset rejects `display_number`.
    let (declaration, report) = declared(None, json!([tool]));
    assert_eq!(
        declaration.tools[0],
        json!({"type": "computer_toolset_20260801", "cache_control": {"type": "ephemeral"}})
    );
    assert_eq!(report.losses[0].what, "setting display_number");
}

#[test]
fn rejects_an_invalid_toolset() {
    let configs = |configs: Value| json!({"type": "computer_use", "additional_properties": {"anthropic": {"configs": configs}}});
    for odd in [
        json!({"click": {"enabled": true}}),
        json!({"zoom": {"strict": true}}),
    ] {
        assert!(
            DIALECT
                .declare(&offer(None, json!([configs(odd.clone())])))
                .is_err(),
            "{odd}"
        );
    }
    let raw = json!({"type": "raw", "dialect": "anthropic-messages", "json": {"type": "computer_toolset_20260801", "name": "computer"}});
    assert!(DIALECT.declare(&offer(None, json!([raw]))).is_err());
}
