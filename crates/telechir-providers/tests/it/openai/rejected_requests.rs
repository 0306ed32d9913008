//! Requests that the live API rejects are refused before they are sent.

use serde_json::{Value, json};
use telechir_protocol::{RawTool, Tool};
use telechir_providers::ToolOffer;

use super::{DIALECT, IMAGE, click, history};

fn refusal(request: &Value) -> Option<String> {
    let written = DIALECT.encode_history(&history(request));
    written.err().map(|error| error.to_string())
}

fn screenshot(call_id: &str) -> Value {
    json!({"type": "computer_call_output", "call_id": call_id, "output": {"type": "computer_screenshot", "image_url": IMAGE}})
}

#[test]
fn calls_and_outputs_are_pairs() {
    let reasoning =
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "a"});
    let message = json!({"type": "message", "role": "user", "content": "go"});
    let mut failed =
        json!({"type": "shell_call_output", "call_id": "s", "status": "failed", "output": []});
    let shell = json!({"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}});
    let mut checked = click("c");
    checked["pending_safety_checks"] = json!([{"id": "sc_1"}]);
    let mut emptied = screenshot("c");
    emptied["acknowledged_safety_checks"] = Value::Null;
    let refused = [
        (json!([click("c")]), "input[0]: call c has no output"),
        (json!([screenshot("c")]), "input[0]: no preceding call c"),
        (
            json!([click("c"), screenshot("c"), click("c")]),
            "input[2]: call c has no output",
        ),
        (
            json!([reasoning]),
            "input[0]: reasoning must directly precede",
        ),
        (
            json!([reasoning, message]),
            "input[0]: reasoning must directly precede",
        ),
        (
            json!([click("c"), reasoning, screenshot("c")]),
            "input[1]: reasoning must directly precede",
        ),
        (
            json!([shell, failed]),
            "input[1]: shell outputs do not accept the status `failed`",
        ),
        (
            json!([checked, screenshot("c")]),
            "input[1]: safety check \"sc_1\" is not acknowledged",
        ),
        (
            json!([click("c"), emptied]),
            "input[1]: `acknowledged_safety_checks` must be a list or absent",
        ),
    ];
    for (input, wanted) in refused {
        let error = refusal(&json!({"model": "gpt-6.1-sol", "input": input})).unwrap_or_default();
        assert!(error.contains(wanted), "{error} instead of {wanted}");
    }
    failed["status"] = "completed".into();
    let mut agreed = screenshot("c");
    agreed["acknowledged_safety_checks"] = json!([{"id": "sc_1"}]);
    let hosted = json!({"type": "shell_call", "call_id": "h", "action": {"commands": ["ls"]},
        "environment": {"type": "container_reference", "container_id": "cntr_1"}});
    let taken = [
        json!({"input": [shell, failed, hosted]}),
        json!({"input": [checked, agreed]}),
        json!({"input": [screenshot("c")], "previous_response_id": "resp_1"}),
        json!({"input": [screenshot("c")], "conversation": {"id": "conv_1"}}),
        json!({"input": [{"id": "cu_1"}, screenshot("c")]}),
        json!({"input": [reasoning, click("c"), screenshot("c")]}),
        json!({"input": [click("c"), screenshot("c"), screenshot("c")]}),
        json!({"input": [click("c"), screenshot("c"), click("c"), screenshot("c")]}),
        // A response need not contain outputs.
        json!({"output": [click("c")]}),
    ];
    for request in taken {
        assert_eq!(refusal(&request), None, "{request}");
    }
}

#[test]
fn the_computer_tool_rejects_other_members() {
    let tool = json!({"type": "computer", "display_width": 1280});
    let error = refusal(&json!({"input": "go", "tools": [tool]})).unwrap();
    assert!(
        error.contains("tools[0]: the computer tool does not accept `display_width`"),
        "{error}"
    );
    let raw = RawTool {
        dialect: DIALECT.name().to_owned(),
        json: tool,
    };
    let offer = ToolOffer {
        tools: vec![Tool::Raw(raw)],
        model: None,
    };
    let error = DIALECT.declare(&offer).unwrap_err().to_string();
    assert!(error.contains("does not accept `display_width`"), "{error}");
}
