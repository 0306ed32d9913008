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
    for (theirs, ours) in table {
        let tool: Tool = read(theirs.clone());
        assert_eq!(written(&tool), *ours, "read {theirs}");
        assert_eq!(read::<Tool>(ours.clone()), tool, "read back {ours}");
    }
}

#[test]
fn a_shell_asks_each_time_unless_told_otherwise() {
    assert_eq!(ShellTool::default().approval_mode, ApprovalMode::Always);
    for (word, mode) in [
        ("always", ApprovalMode::Always),
        ("always_require", ApprovalMode::Always),
        ("never_require", ApprovalMode::Never),
        ("conditional", ApprovalMode::Policy),
    ] {
        let tool: ShellTool = read(json!({"approval_mode": word}));
        assert_eq!(tool.approval_mode, mode);
    }
}

#[test]
fn a_setting_nobody_knows_is_kept_among_the_properties() {
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
fn a_tool_nobody_knows_is_an_error() {
    let error = refusal::<Tool>(json!({"type": "teleporter"}));
    assert!(error.contains(r#"`type` is "teleporter""#), "{error}");
    assert!(refusal::<Tool>(json!({"name": "sum"})).contains("`type` is missing"));
}
