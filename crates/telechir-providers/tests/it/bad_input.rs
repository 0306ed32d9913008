//! Invalid input, the same for every dialect: an error that names the path, or a call with an error
//! result; never a panic, never a dropped call.

use serde_json::{Value, json};
use telechir_protocol::{Content, ModelTurn, ToolCall};
use telechir_providers::{DecodeError, Dialect, EncodedReply};

use crate::mutations::failed;

const ANTHROPIC: Dialect = Dialect::AnthropicMessages;
const OPENAI: Dialect = Dialect::OpenaiResponses;

fn read(dialect: Dialect, response: &Value) -> Result<ModelTurn, DecodeError> {
    let bytes = response.to_string();
    Ok(dialect.decode_response(bytes.as_bytes())?.0)
}

/// A response with one call that has this input.
fn anthropic(name: &str, toolset: Option<&str>, input: Value) -> Value {
    let mut block = json!({"type": "tool_use", "id": "toolu_1", "name": name, "input": input});
    if let Some(toolset) = toolset {
        block["toolset_name"] = toolset.into();
    }
    json!({"type": "message", "role": "assistant", "content": [block]})
}

fn openai(item: Value) -> Value {
    json!({"object": "response", "status": "completed", "output": [item]})
}

/// Answers every call of a turn with an error.
fn answered_with_errors(dialect: Dialect, turn: &ModelTurn) -> EncodedReply {
    let results = turn.calls().iter().map(failed).collect();
    let turn = turn.clone().answer(results).unwrap();
    dialect.encode_results(&turn).unwrap()
}

fn exception(call: &ToolCall) -> Option<&String> {
    match call {
        ToolCall::Computer(call) => call.exception.as_ref(),
        ToolCall::Shell(call) => call.exception.as_ref(),
        ToolCall::Edit(call) => call.exception.as_ref(),
        ToolCall::Function(call) => call.exception.as_ref(),
    }
}

/// A call with invalid input is still a call.
#[test]
fn a_call_with_invalid_input_gets_an_error_result() {
    let computer = |name: &str, input: Value| (ANTHROPIC, anthropic(name, Some("computer"), input));
    let tool = |name: &str, input: Value| (ANTHROPIC, anthropic(name, None, input));
    let actions = |action: Value| {
        let item = json!({"type": "computer_call", "id": "cu_1", "call_id": "c", "status": "completed", "actions": [action]});
        (OPENAI, openai(item))
    };
    let call = |kind: &str, member: &str, value: Value| {
        let mut item = json!({"type": kind, "id": "x_1", "call_id": "c", "status": "completed"});
        item[member] = value;
        (OPENAI, openai(item))
    };
    let wrong = [
        computer("left_click", json!({"coordinate": "over there"})),
        computer("left_click", json!({"coordinate": [1]})),
        computer("left_click", json!({"coordinate": {"x": true, "y": []}})),
        computer("key", json!({"text": 7})),
        computer("key", json!({"text": "a", "repeat": 1e18})),
        computer("hold_key", json!({"text": "a", "duration": -1})),
        computer("wait", json!({"duration": 1e300})),
        computer("wait", json!({})),
        computer(
            "scroll",
            json!({"scroll_direction": "sideways", "scroll_amount": 1}),
        ),
        computer("zoom", json!({"region": [0, 0]})),
        computer("type", json!({})),
        computer("left_click", json!("everywhere")),
        tool("bash", json!({"command": ["ls"]})),
        tool("bash", json!({})),
        tool("bash", json!({"restart": "yes"})),
        tool(
            "memory",
            json!({"command": "rename", "old_path": "/memories/a"}),
        ),
        tool("str_replace_based_edit_tool", json!({"path": "/a"})),
        tool(
            "str_replace_based_edit_tool",
            json!({"command": "insert", "path": "/a", "insert_line": -3, "insert_text": ""}),
        ),
        tool("look_up", json!([1, 2])),
        actions(json!({"type": "click", "button": "middle", "x": 1, "y": 1})),
        actions(json!({"type": "click", "button": "left", "x": "one", "y": 1})),
        actions(json!({"type": "click", "button": "left"})),
        actions(json!({"type": "drag", "path": [[1, 1]]})),
        actions(json!({"type": "drag", "path": []})),
        actions(json!({"type": "keypress", "keys": "CTRL"})),
        actions(json!({"type": "keypress", "keys": ["", "A"]})),
        actions(json!({"type": "scroll", "x": 1, "y": 1})),
        actions(json!({"type": "type"})),
        actions(json!({"x": 1})),
        actions(json!(null)),
        call("computer_call", "actions", json!([])),
        call("computer_call", "actions", json!("click")),
        call("shell_call", "action", json!({"commands": [7]})),
        call("shell_call", "action", json!({"commands": []})),
        call("shell_call", "action", json!(null)),
        call(
            "local_shell_call",
            "action",
            json!({"type": "exec", "command": "ls"}),
        ),
        call("apply_patch_call", "operation", json!(null)),
        call("apply_patch_call", "operation", json!({"path": "a"})),
    ];
    for (dialect, response) in wrong {
        let turn = read(dialect, &response).unwrap_or_else(|error| panic!("{response}: {error}"));
        let calls = turn.calls();
        assert_eq!(calls.len(), 1, "{response}");
        assert!(
            exception(&calls[0]).is_some(),
            "{response} has no exception"
        );
        let reply = answered_with_errors(dialect, &turn);
        assert!(!reply.items.is_empty(), "{response}");
        // Its neutral JSON is valid, and may be decoded further than the dialect did.
        let neutral = serde_json::to_value(turn.contents()).unwrap();
        let again: Vec<Content> = serde_json::from_value(neutral).unwrap();
        assert_eq!(again.len(), turn.contents().len(), "{response}");
        // It is encoded unchanged.
        let history = dialect
            .decode_history(response.to_string().as_bytes())
            .unwrap()
            .0;
        assert_eq!(dialect.encode_history(&history).unwrap().0, response);
    }
}

/// Numbers out of range, unknown values, missing fields.
#[test]
fn invalid_documents_are_errors_with_a_path() {
    let message = |content: &str| {
        format!(r#"{{"type": "message", "role": "assistant", "content": {content}}}"#)
    };
    let deep =
        |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    let odd: Vec<(Dialect, String, &str)> = vec![
        (ANTHROPIC, "{".into(), "at line 1 column"),
        (OPENAI, "{\"output\": NaN}".into(), "at line 1 column"),
        (ANTHROPIC, message("[1e999]"), "at line 1 column"),
        (ANTHROPIC, deep("[", "]"), "at line 1 column 12"),
        (OPENAI, deep("{\"a\":", "}"), "at line 1 column"),
        (ANTHROPIC, message("7"), "`content` must be a list"),
        (
            ANTHROPIC,
            message("[{}, 7]"),
            "content[1] must be an object",
        ),
        (
            ANTHROPIC,
            "null".into(),
            "expected a message whose `content` is a list",
        ),
        (OPENAI, "7".into(), "expected an object or a list"),
        (
            OPENAI,
            r#"{"output": 7}"#.into(),
            "`output` is not a list of items",
        ),
        (
            OPENAI,
            r#"{"output": [{}, 7]}"#.into(),
            "item 1 is not an object: 7",
        ),
        (
            OPENAI,
            r#"{"output": [], "status": "in_progress"}"#.into(),
            "the response is unfinished",
        ),
        (
            OPENAI,
            r#"{"output": [{"type": "function_call", "name": "f", "arguments": "{}"}]}"#.into(),
            "f",
        ),
        // Documents of another dialect.
        (
            OPENAI,
            message(r#"[{"type": "tool_use", "id": "a", "name": "bash", "input": {}}]"#),
            "looks like anthropic-messages",
        ),
        (
            ANTHROPIC,
            r#"{"object": "response", "output": []}"#.into(),
            "looks like openai-responses",
        ),
    ];
    for (dialect, document, path) in odd {
        let error = dialect
            .decode_response(document.as_bytes())
            .unwrap_err()
            .to_string();
        let start: String = document.chars().take(60).collect();
        assert!(error.contains(path), "{start}: {error}");
    }
}

/// Unknown enum values and types beside known ones.
#[test]
fn keeps_unknown_values() {
    let documents = [
        (
            ANTHROPIC,
            json!({"type": "message", "role": "assistant", "stop_reason": "bored", "content": [
            {"type": "hologram", "depth": 3},
            {"type": "text", "text": "a", "mood": "glad"},
            {"type": "tool_use", "id": "a", "name": "levitate", "toolset_name": "computer", "input": {"height": 3}, "caller": {"type": "moon"}},
        ], "usage": {"input_tokens": "many"}}),
        ),
        (
            OPENAI,
            json!({"status": "pensive", "output": [
            {"type": "hologram_call", "id": "h", "depth": 3},
            {"type": "message", "id": "m", "role": "assistant", "status": "sung", "content": [{"type": "output_song", "notes": []}]},
            {"type": "shell_call", "id": "s", "call_id": "c", "status": "completed", "action": {"commands": ["ls"], "mood": 1}, "environment": {"type": "local"}},
        ], "usage": {"input_tokens": -1}}),
        ),
    ];
    for (dialect, document) in documents {
        let turn = read(dialect, &document).unwrap();
        assert_eq!(turn.calls().len(), 1);
        let history = dialect
            .decode_history(document.to_string().as_bytes())
            .unwrap()
            .0;
        assert_eq!(dialect.encode_history(&history).unwrap().0, document);
    }
}

/// Digits beyond 64 bits are lost in decoding. That is reported, also when arguments stay a text
/// until another provider needs them as JSON.
#[test]
fn reports_a_rounded_number() {
    let blocks = r#"[{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f",
        "input": {"account": 123456789012345678901}}]}]"#;
    let items = r#"[{"type": "function_call", "call_id": "a", "name": "f",
        "arguments": "{\"account\": 123456789012345678901}"}]"#;
    let losses = |report: &telechir_providers::Report| -> Vec<(String, String)> {
        let losses = report.losses.iter();
        losses
            .map(|loss| (loss.what.clone(), loss.location.clone()))
            .collect()
    };
    let what = || "digits of 123456789012345678901".to_owned();
    let (_, report) = ANTHROPIC.decode_history(blocks.as_bytes()).unwrap();
    let pointer = "/0/content/0/input/account".to_owned();
    assert_eq!(losses(&report), [(what(), pointer)]);
    let (history, report) = OPENAI.decode_history(items.as_bytes()).unwrap();
    assert!(report.is_lossless(), "{report:?}");
    let (written, report) = OPENAI.encode_history(&history).unwrap();
    assert!(report.is_lossless() && written.to_string().contains("123456789012345678901"));
    for to in [
        ANTHROPIC,
        Dialect::GoogleGenerateContent,
        Dialect::BedrockConverse,
    ] {
        let (_, report) = to.encode_history(&history).unwrap();
        let found = losses(&report);
        let loss = found.iter().find(|(loss, _)| *loss == what());
        assert!(
            loss.is_some_and(|(_, at)| at.ends_with(": account")),
            "{to}: {report:?}"
        );
    }
}

/// The dialect whose call format this one shares.
fn kin(dialect: Dialect) -> Dialect {
    if [Dialect::BedrockMessages, Dialect::BedrockInvoke].contains(&dialect) {
        return ANTHROPIC;
    }
    if dialect == Dialect::Neutral {
        return Dialect::AgentFramework;
    }
    let is_chat = [Dialect::FunctionsInline, Dialect::MistralChat].contains(&dialect);
    if is_chat { Dialect::Functions } else { dialect }
}

/// A call kept as unknown content would be neither executed nor answered.
#[test]
fn rejects_a_document_of_another_dialect_with_the_path_of_a_call() {
    let history = telechir_providers::History {
        messages: crate::matrix::common::common(),
        envelope: telechir_providers::Envelope::List,
    };
    for from in Dialect::ALL {
        let (document, _) = from.encode_history(&history).unwrap();
        let document = document.to_string();
        for to in Dialect::ALL.into_iter().filter(|to| kin(*to) != kin(from)) {
            let error = to.decode_history(document.as_bytes()).err();
            let error = error.unwrap_or_else(|| panic!("{to} decodes a document of {from}"));
            let error = error.to_string();
            assert!(
                error.contains(|c: char| c.is_ascii_digit() || c == '`'),
                "{from} {to}: {error}"
            );
        }
    }
}
