//! `execute_browser`: page actions by ref, as one function in every dialect with functions.

use serde_json::{Value, json};
use telechir_protocol::{Action, ComputerResult, Content, Target, TargetId, Tool, ToolResult};
use telechir_providers::{Dialect, History, ToolOffer, page_tool};

/// A response with one call of the function.
fn response(dialect: Dialect, arguments: &Value) -> Option<Value> {
    let text = arguments.to_string();
    Some(match dialect.name() {
        "functions" | "functions-inline" => json!({"id": "x", "object": "chat.completion",
            "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant",
            "content": null, "tool_calls": [{"id": "call_1", "type": "function",
            "function": {"name": "execute_browser", "arguments": text}}]}}]}),
        "openai-responses" => {
            json!({"id": "r", "object": "response", "status": "completed", "output": [
            {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "execute_browser",
             "arguments": text, "status": "completed"}]})
        }
        "anthropic-messages" => {
            json!({"id": "m", "type": "message", "role": "assistant", "model": "m",
            "stop_reason": "tool_use", "content": [
            {"type": "tool_use", "id": "call_1", "name": "execute_browser", "input": arguments}]})
        }
        "google-generate-content" => json!({"candidates": [{"finishReason": "STOP", "content":
            {"role": "model", "parts": [{"functionCall": {"id": "call_1", "name": "execute_browser",
            "args": arguments}}]}}]}),
        "bedrock-converse" => {
            json!({"stopReason": "tool_use", "output": {"message": {"role": "assistant",
            "content": [{"toolUse": {"toolUseId": "call_1", "name": "execute_browser",
            "input": arguments}}]}}})
        }
        _ => return None,
    })
}

fn read(
    dialect: Dialect,
    arguments: &Value,
) -> Option<(telechir_protocol::ModelTurn, Vec<Action>)> {
    let response = response(dialect, arguments)?;
    let turn = dialect
        .decode_response(response.to_string().as_bytes())
        .unwrap()
        .0;
    let Content::ComputerCall(call) = &turn.contents()[0] else {
        panic!("{dialect}: {:?}", turn.contents())
    };
    assert_eq!(call.target, Some(TargetId::from("browser")), "{dialect}");
    assert_eq!(call.exception, None, "{dialect}");
    let actions = call.actions.clone();
    Some((turn, actions))
}

#[test]
fn its_calls_target_the_browser_in_every_dialect_with_functions() {
    let at = Target::Ref {
        id: "t3".to_owned(),
        frame: None,
    };
    let cases = [
        (
            json!({"action": "navigate", "url": "https://example.com/"}),
            Action::Navigate {
                url: "https://example.com/".to_owned(),
                tab: None,
            },
        ),
        (
            json!({"action": "fill", "params": {"ref": "t3", "value": "Ada"}}),
            Action::FormInput {
                at,
                value: json!("Ada"),
                tab: None,
            },
        ),
        (
            json!({"action": "snapshot", "params": {"filter": "changes"}}),
            Action::ReadPage {
                filter: Some("changes".to_owned()),
                depth: None,
                root: None,
                tab: None,
            },
        ),
        (
            json!({"action": "extract_text"}),
            Action::PageText { tab: None },
        ),
    ];
    let mut count = 0;
    for (arguments, expected) in cases {
        for dialect in Dialect::ALL {
            if let Some((turn, actions)) = read(dialect, &arguments) {
                assert_eq!(actions, std::slice::from_ref(&expected), "{dialect}");
                let mut result = ComputerResult::new("call_1");
                result.text_output = Some("what it says".to_owned());
                let answered = turn.answer(vec![ToolResult::Computer(result)]).unwrap();
                let answer = dialect.encode_results(&answered).unwrap();
                let encoded = serde_json::to_string(&answer.items).unwrap();
                assert!(encoded.contains("what it says"), "{dialect}: {encoded}");
                assert!(encoded.contains("call_1"), "{dialect}: {encoded}");
                if dialect.name() == "google-generate-content" {
                    assert!(encoded.contains("execute_browser"), "{encoded}");
                }
                count += 1;
            }
        }
    }
    assert_eq!(count, 4 * 6);
}

#[test]
fn a_history_with_its_call_survives_a_round_trip() {
    for dialect in Dialect::ALL {
        let Some(response) = response(dialect, &json!({"action": "snapshot"})) else {
            continue;
        };
        let message = match dialect.name() {
            "functions" | "functions-inline" => response["choices"][0]["message"].clone(),
            "openai-responses" => response["output"][0].clone(),
            "anthropic-messages" => {
                json!({"role": "assistant", "content": response["content"]})
            }
            "google-generate-content" => response["candidates"][0]["content"].clone(),
            _ => response["output"]["message"].clone(),
        };
        let written = json!([message]);
        let bytes = written.to_string();
        let (read, _): (History, _) = dialect.decode_history(bytes.as_bytes()).unwrap();
        let (again, _) = dialect.encode_history(&read).unwrap();
        assert_eq!(again, written, "{dialect}");
    }
}

#[test]
fn every_dialect_declares_it() {
    for dialect in Dialect::ALL {
        let offer = ToolOffer {
            tools: vec![page_tool()],
            model: None,
        };
        let (declared, _) = dialect.declare(&offer).unwrap();
        let tools = Value::from(declared.tools).to_string();
        assert!(tools.contains("execute_browser"), "{dialect}: {tools}");
    }
    let Tool::Function(tool) = page_tool() else {
        panic!("a function")
    };
    let actions = tool.parameters["properties"]["action"]["enum"].as_array();
    assert_eq!(actions.map(Vec::len), Some(25));
}
