//! Tools as users of every vocabulary declare them.

use serde_json::{Value, json};
use telechir_protocol::{ApprovalMode, Environment, ShellTool, Tool};

use crate::{read, refusal, written};

#[test]
fn the_records_forms_are_read() {
    let table: &[(Value, Value)] = &[
        (
            json!({"type": "ComputerUseTool", "display_width": 1024, "display_height": 768,
                "environment": "browser"}),
            json!({"type": "computer_use", "display_width": 1024, "display_height": 768,
                "environment": "browser"}),
        ),
        (
            json!({"type": "computer_use", "environment": "mac"}),
            json!({"type": "computer_use", "environment": "mac"}),
        ),
        (
            json!({"type": "computer_use", "display_width_px": 800, "display_height_px": 600,
                "additional_properties": {"anthropic": {"display_number": 1}}}),
            json!({"type": "computer_use", "display_width": 800, "display_height": 600,
                "additional_properties": {"anthropic": {"display_number": 1}}}),
        ),
        (
            json!({"type": "BashTool"}),
            json!({"type": "shell", "approval_mode": "always_require"}),
        ),
        (
            json!({"type": "ShellTool", "approval_mode": "never"}),
            json!({"type": "shell", "approval_mode": "never_require"}),
        ),
        (
            json!({"type": "HostedImageGenerationTool"}),
            json!({"type": "image_generation"}),
        ),
        (
            json!({"type": "HostedCodeInterpreterTool"}),
            json!({"type": "code_interpreter"}),
        ),
        (
            json!({"type": "FunctionTool", "name": "sum"}),
            json!({"type": "function", "name": "sum", "parameters": {},
                "approval_mode": "never_require"}),
        ),
        (
            json!({"type": "raw", "dialect": "openai-responses", "json": {"type": "web_search"}}),
            json!({"type": "raw", "dialect": "openai-responses", "json": {"type": "web_search"}}),
        ),
    ];
    for (foreign, neutral) in table {
        let tool: Tool = read(foreign.clone());
        assert_eq!(written(&tool), *neutral, "read {foreign}");
        assert_eq!(read::<Tool>(neutral.clone()), tool, "read back {neutral}");
    }
}

#[test]
fn a_shell_requires_approval_by_default() {
    assert_eq!(ShellTool::default().approval_mode, ApprovalMode::Always);
    for (spelling, mode) in [
        ("always", ApprovalMode::Always),
        ("always_require", ApprovalMode::Always),
        ("never_require", ApprovalMode::Never),
        ("conditional", ApprovalMode::Policy),
    ] {
        let tool: ShellTool = read(json!({"approval_mode": spelling}));
        assert_eq!(tool.approval_mode, mode);
    }
}

#[test]
fn an_unknown_setting_is_retained_as_a_property() {
    let tool: Tool = read(json!({"type": "shell", "container": {"image": "debian"}}));
    assert_eq!(
        written(&tool)["additional_properties"],
        json!({"container": {"image": "debian"}})
    );
}

#[test]
fn ubuntu_is_a_linux_desktop_that_keeps_its_name() {
    let Tool::ComputerUse(tool) = read(json!({"type": "computer_use", "environment": "ubuntu"}))
    else {
        panic!("a computer")
    };
    assert_eq!(tool.environment, Some(Environment::Linux));
    assert_eq!(
        tool.additional_properties["openai"]["environment"],
        json!("ubuntu")
    );
}

#[test]
fn an_unknown_tool_is_an_error() {
    let error = refusal::<Tool>(json!({"type": "teleporter"}));
    assert!(error.contains(r#"`type` is "teleporter""#), "{error}");
    assert!(refusal::<Tool>(json!({"name": "sum"})).contains("`type` is missing"));
}
