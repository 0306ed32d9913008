//! Calls for the client that have no neutral kind: each gets a result.

use serde_json::{Value, json};
use telechir_protocol::{Content, Failure, FailureKind, FunctionResult, ToolCall, ToolResult};
use telechir_providers::Dialect;

use super::{DIALECT, history, reply, turn, written};

fn search() -> Value {
    json!({
        "type": "tool_search_call", "id": "tsc_7", "call_id": "call_s7", "execution": "client",
        "status": "completed", "arguments": {"queries": ["invoices"]},
    })
}

/// The results that a session without tools gives.
fn refused(items: &Value) -> Vec<ToolResult> {
    let calls = turn(items.clone()).calls();
    let result = |call: ToolCall| {
        ToolResult::Function(FunctionResult {
            call_id: call.call_id().cloned(),
            name: None,
            items: Vec::new(),
            result: None,
            error: Some(Failure::new(FailureKind::Unsupported, "No such tool.")),
            meta: Default::default(),
        })
    };
    calls.into_iter().map(result).collect()
}

#[test]
fn a_tool_search_by_the_client_is_answered_in_its_own_type() {
    let items = json!([search()]);
    let reply = reply(items.clone(), refused(&items));
    let output = json!({
        "type": "tool_search_output", "call_id": "call_s7", "status": "completed",
        "execution": "client", "tools": [],
    });
    assert_eq!(reply.items[0], output);
    let note = reply.items[1]["content"][0]["text"].as_str().unwrap();
    assert!(
        note.contains("call_s7") && note.contains("No such tool."),
        "{note}"
    );
    assert_eq!(reply.items.len(), 2);
}

#[test]
fn a_call_of_an_unknown_type_is_answered() {
    let items = json!([
        {"type": "hologram_call", "id": "h_1", "call_id": "call_h", "status": "completed", "scene": {"depth": 3}},
        {"type": "function_call", "id": "fc_1", "call_id": "call_n", "arguments": "{}"},
    ]);
    let reply = reply(items.clone(), refused(&items));
    let answered: Vec<&Value> = reply.items.iter().map(|item| &item["call_id"]).collect();
    assert_eq!(answered, ["call_h", "call_n"]);
    assert_eq!(reply.items[0]["type"], "function_call_output");
    assert_eq!(reply.items[0]["output"], "Error: No such tool.");
}

#[test]
fn calls_that_the_provider_answers_get_no_result() {
    let items = json!([
        {"type": "tool_search_call", "id": "t", "call_id": "call_a", "execution": "server", "status": "completed", "arguments": {}},
        {"type": "program", "id": "p", "call_id": "call_b", "code": "1", "fingerprint": "f"},
        {"type": "hologram_call", "id": "h", "call_id": "call_c", "execution": "server"},
        {"type": "lens_call", "id": "l", "call_id": "call_d"},
        {"type": "lens_call_output", "id": "o", "call_id": "call_d", "output": "seen"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
    ]);
    assert!(turn(items).calls().is_empty());
}

#[test]
fn any_output_that_the_service_accepts_answers_a_tool_search() {
    for output in [
        json!({"type": "function_call_output", "call_id": "call_s7", "output": "One tool matches."}),
        json!({"type": "tool_search_output", "call_id": "call_s7", "execution": "client", "tools": []}),
    ] {
        let task = json!({"role": "user", "content": "Find the tool."});
        let request = json!({"model": "gpt-5.4", "input": [task, search(), output]});
        assert_eq!(written(&history(&request)).0, request);
    }
}

#[test]
fn a_tool_search_and_its_tools_reach_other_dialects_as_a_function() {
    let tool = json!({"type": "function", "name": "book", "parameters": {"type": "object"}, "strict": false});
    let output = json!({
        "type": "tool_search_output", "call_id": "call_s7", "execution": "client",
        "status": "completed", "tools": [tool],
    });
    let read = history(&json!([search(), output]));
    let (messages, report) = Dialect::Functions.encode_history(&read).unwrap();
    assert_eq!(
        messages[0]["tool_calls"][0]["function"]["name"],
        "tool_search"
    );
    let arguments = messages[0]["tool_calls"][0]["function"]["arguments"].as_str();
    assert!(arguments.unwrap().contains("invoices"));
    assert!(messages[1]["content"].as_str().unwrap().contains("book"));
    let lost = report
        .losses
        .iter()
        .filter(|loss| loss.preserved_as.is_none());
    let lost: Vec<&str> = lost.map(|loss| loss.what.as_str()).collect();
    assert_eq!(lost, ["item id tsc_7"]);
}

#[test]
fn a_tool_search_is_written_again_without_its_original_json() {
    let output = json!({
        "type": "tool_search_output", "call_id": "call_s7", "status": "completed",
        "execution": "client", "tools": [{"type": "custom", "name": "book"}],
    });
    let unknown = json!({"type": "hologram_call", "id": "h_1", "call_id": "call_h", "status": "completed", "scene": {"depth": 3}});
    let document = json!([search(), output, unknown]);
    let mut read = history(&document);
    for message in &mut read.messages {
        message.meta.raw_representation = None;
        for content in &mut message.contents {
            if let Content::FunctionCall(call) = content {
                call.meta.raw_representation = None;
            } else if let Content::FunctionResult(result) = content {
                result.meta.raw_representation = None;
            }
        }
    }
    assert_eq!(written(&read).0, document);
    assert!(DIALECT.encode_history(&read).unwrap().1.is_lossless());
}

#[test]
fn an_output_of_a_local_shell_may_name_its_call_by_id_alone() {
    let call = json!({
        "type": "local_shell_call", "id": "lsh_7", "call_id": "call_l7", "status": "completed",
        "action": {"type": "exec", "command": ["tide", "--now"], "env": {}},
    });
    for id in ["call_l7", "lsh_7"] {
        let output = json!({"type": "local_shell_call_output", "id": id, "output": "High water."});
        let document = json!([call, output]);
        let request = json!({"model": "gpt-5.4", "input": document});
        assert_eq!(written(&history(&request)).0, request);
        let read = history(&document);
        let (messages, _) = Dialect::Functions.encode_history(&read).unwrap();
        assert_eq!(
            messages[1]["tool_call_id"],
            messages[0]["tool_calls"][0]["id"]
        );
        assert_eq!(messages[1]["tool_call_id"], "call_l7");
    }
}
