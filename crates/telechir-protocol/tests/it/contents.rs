//! Contents of other vocabularies and unknown contents.

use serde_json::{Value, json};
use telechir_protocol::{Content, UnknownContent};

use crate::{read, refusal, written};

#[test]
fn the_frameworks_contents_are_read_under_neutral_names() {
    let table: &[(Value, Value)] = &[
        (
            json!({"type": "text", "text": "hi", "annotations": [{"type": "citation"}],
                "additional_properties": {}}),
            json!({"type": "text", "text": "hi", "annotations": [{"type": "citation"}]}),
        ),
        (
            json!({"type": "text_reasoning", "id": "rs_1", "text": null, "protected_data": "enc",
                "status": "completed"}),
            json!({"type": "text_reasoning", "item_id": "rs_1", "protected_data": "enc",
                "status": "completed"}),
        ),
        (
            json!({"type": "function_call", "call_id": "f", "name": "sum", "arguments": "{}",
                "informational_only": true, "id": "fc_1"}),
            json!({"type": "function_call", "call_id": "f", "item_id": "fc_1", "name": "sum",
                "arguments": "{}", "requires_local_execution": false}),
        ),
        (
            json!({"type": "function", "name": "sum", "returned_arguments": {"a": 1},
                "call_id": null, "requires_local_execution": false,
                "could_be_structured_output": true}),
            json!({"type": "function_call", "name": "sum", "arguments": {"a": 1},
                "requires_local_execution": false, "could_be_structured_output": true}),
        ),
        (
            json!({"type": "function_result", "call_id": "f", "result": "3", "items": [],
                "exception": "overflow"}),
            json!({"type": "function_result", "call_id": "f", "result": "3",
                "error": {"kind": "device", "message": "overflow"}}),
        ),
        (
            json!({"type": "function_approval_response", "id": "a", "approved": "yes",
                "function_call": {"type": "text", "text": "x"}}),
            json!({"type": "approval_response", "id": "a", "approved": false,
                "call": {"type": "text", "text": "x"}}),
        ),
        (
            json!({"type": "usage", "usage_details": {"input_token_count": 3,
                "output_token_count": 4, "total_token_count": 7,
                "cache_read_input_token_count": 1}}),
            json!({"type": "usage", "input_token_count": 3, "output_token_count": 4,
                "total_token_count": 7, "cache_read_input_token_count": 1}),
        ),
        (
            json!({"type": "code_interpreter_tool_call", "call_id": "ci",
                "inputs": [{"type": "text", "text": "print(1)"}], "status": "completed"}),
            json!({"type": "command_call", "call_id": "ci",
                "inputs": [{"type": "text", "text": "print(1)"}], "status": "completed"}),
        ),
        (
            json!({"type": "code_interpreter_tool_result", "call_id": "ci",
                "outputs": [{"type": "text", "text": "1"}]}),
            json!({"type": "command_result", "call_id": "ci",
                "results": [{"type": "text", "text": "1"}]}),
        ),
        (
            json!({"type": "image_generation_tool_result", "image_id": "ig",
                "outputs": {"type": "data", "uri": "data:image/png;base64,AA=="}}),
            json!({"type": "image_generation_result", "call_id": "ig",
                "results": [{"type": "data", "uri": "data:image/png;base64,AA=="}]}),
        ),
        (
            json!({"type": "computer_tool_result", "call_id": "c", "id": "o_1",
                "screenshot": {"type": "hosted_file", "file_id": "file_1"}}),
            json!({"type": "computer_result", "call_id": "c", "item_id": "o_1",
                "screenshot": {"type": "hosted_file", "file_id": "file_1"}}),
        ),
    ];
    for (foreign, neutral) in table {
        let content: Content = read(foreign.clone());
        assert_eq!(written(&content), *neutral, "read {foreign}");
        assert_eq!(
            read::<Content>(neutral.clone()),
            content,
            "read back {neutral}"
        );
    }
}

#[test]
fn an_unknown_content_is_retained_verbatim() {
    for json in [
        json!({"type": "hologram", "watts": 4.0, "nested": {"type": "text"}, "none": null}),
        json!({"no": "type"}),
        json!({"type": 5}),
        json!({"type": "mcp_server_tool_call", "call_id": "m", "tool_name": "t"}),
    ] {
        let content: Content = read(json.clone());
        assert!(matches!(content, Content::Other(_)), "{json}");
        assert_eq!(written(&content), json);
    }
    let of_a_dialect = json!({"type": "compaction", "content": "so far"});
    let of_a_dialect = of_a_dialect.as_object().unwrap().clone();
    let content = Content::Other(UnknownContent::new(
        "anthropic-messages",
        of_a_dialect.clone(),
    ));
    let wrapper = json!({
        "type": "unknown_content", "dialect": "anthropic-messages", "json": of_a_dialect,
    });
    assert_eq!(written(&content), wrapper);
    assert_eq!(read::<Content>(wrapper), content);
    let hologram: Content = read(json!({"type": "hologram"}));
    assert_eq!(hologram.type_name(), Some("hologram"));
}

#[test]
fn unknown_members_of_known_contents_survive() {
    for json in [
        json!({"type": "text", "text": "hi", "phase": "final", "weights": [1.0, 2]}),
        json!({"type": "computer_call", "call_id": "c", "actions": [{"action": "screenshot",
            "quality": "high"}], "mood": "calm"}),
        json!({"type": "shell_call", "call_id": "s", "action": "execute", "commands": ["ls"],
            "priority": 2}),
        json!({"type": "shell_result", "call_id": "s", "outputs": [{"stdout": "", "stderr": "",
            "outcome": "success", "pages": 2}], "created_by": "us"}),
        json!({"type": "computer_result", "call_id": "c", "mood": "calm"}),
        json!({"type": "computer_result", "call_id": "c",
            "error": {"kind": "device", "message": "m", "since": 3},
            "steps": [{"action": "wait", "state": "delivered", "retries": 1},
                {"action": "wait", "state": "delivered"}],
            "tabs": [{"tab_id": "t", "title": "", "url": "", "active": true, "muted": true}]}),
        json!({"type": "computer_call", "call_id": "c", "actions": [{"action": "screenshot"}],
            "pending_safety_checks": [{"id": "s", "source": "openai", "severity": 9}],
            "additional_properties": {"openai": {"a": 1}}}),
    ] {
        assert_eq!(written(&read::<Content>(json.clone())), json);
    }
}

#[test]
fn an_invalid_known_content_is_an_error() {
    assert_eq!(
        refusal::<Content>(json!({"type": "text", "text": 5})),
        "read the content text: `text`: invalid type: integer `5`, expected a string"
    );
    let error = refusal::<Content>(json!({"type": "computer_call", "call_id": "c", "actions": []}));
    assert!(error.ends_with("it has no action"), "{error}");
}

#[test]
fn numbers_are_read_exactly() {
    let text = r#"{"type":"hologram","watts":-978396.0243913347,"tiny":5e-324}"#;
    let content: Content = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&content).unwrap(), text);
}

#[test]
fn content_nesting_is_limited() {
    let nested = |depth: usize| {
        format!(
            "{}{}{}",
            r#"{"type":"approval_request","id":"a","call":"#.repeat(depth),
            r#"{"type":"text","text":"hi"}"#,
            "}".repeat(depth)
        )
    };
    let text = nested(16);
    let content: Content = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&content).unwrap(), text);
    let error = serde_json::from_str::<Content>(&nested(17))
        .unwrap_err()
        .to_string();
    assert!(error.contains("contents nest too deeply"), "{error}");
    assert!(serde_json::from_str::<Content>(&nested(120)).is_err());
}

/// A dialect may have its own type with a neutral name.
#[test]
fn an_object_of_a_dialect_with_a_neutral_type_name_stays_unknown() {
    for kind in ["function", "computer_tool_call", "text", "unknown_content"] {
        let json = json!({"type": kind, "call_id": "c", "deep": [1]});
        let members = json.as_object().unwrap().clone();
        let content = Content::Other(members.into());
        let text = serde_json::to_string(&content).unwrap();
        assert_eq!(serde_json::from_str::<Content>(&text).unwrap(), content);
    }
    let unknown = json!({"type": "hologram", "json": {"type": "text"}});
    let content: Content = serde_json::from_value(unknown.clone()).unwrap();
    assert_eq!(serde_json::to_value(&content).unwrap(), unknown);
}
