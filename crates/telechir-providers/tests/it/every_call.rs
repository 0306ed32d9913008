//! Every call for the client gets a result, whatever its type; a call that the provider answers
//! gets none.

use serde_json::{Value, json};
use telechir_protocol::{ToolCall, ToolResult};
use telechir_providers::{Dialect, EncodedReply};

use crate::mutations::failed;

/// A response with these items in the dialect's envelope.
fn response(dialect: Dialect, items: Value) -> Value {
    match dialect {
        Dialect::AnthropicMessages | Dialect::BedrockMessages | Dialect::BedrockInvoke => json!({
            "type": "message", "role": "assistant", "stop_reason": "tool_use", "content": items,
        }),
        Dialect::OpenaiResponses => json!({
            "object": "response", "status": "completed", "output": items,
        }),
        Dialect::BedrockConverse => json!({
            "output": {"message": {"role": "assistant", "content": items}},
            "stopReason": "tool_use",
        }),
        Dialect::BedrockAgents => json!({"invocationId": "inv_8", "invocationInputs": items}),
        Dialect::GoogleGenerateContent => json!({
            "candidates": [{"content": {"role": "model", "parts": items}}],
        }),
        Dialect::GoogleInteractions => json!({
            "id": "int_4", "status": "requires_action", "steps": items,
        }),
        Dialect::Functions | Dialect::FunctionsInline | Dialect::MistralChat => json!({
            "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
                "role": "assistant", "content": null, "tool_calls": items}}],
        }),
        Dialect::MistralConversations => json!({
            "object": "conversation.response", "conversation_id": "conv_2", "outputs": items,
        }),
        Dialect::AgentFramework | Dialect::Neutral => {
            json!({"role": "assistant", "contents": items})
        }
    }
}

fn calls(dialect: Dialect, items: Value) -> Vec<ToolCall> {
    let document = response(dialect, items).to_string();
    dialect.decode_response(document).unwrap().0.calls()
}

/// The reply to a response whose calls all fail.
fn refused(dialect: Dialect, items: Value) -> EncodedReply {
    let document = response(dialect, items).to_string();
    let (turn, _) = dialect.decode_response(document).unwrap();
    let results = turn.calls().iter().map(failed).collect();
    dialect
        .encode_results(&turn.answer(results).unwrap())
        .unwrap()
}

#[test]
fn the_name_of_the_called_function_is_no_loss() {
    let calls = [
        (
            Dialect::AnthropicMessages,
            json!({"type": "tool_use", "id": "call_k1", "name": "water", "input": {}}),
        ),
        (
            Dialect::OpenaiResponses,
            json!({"type": "function_call", "call_id": "call_k1", "name": "water", "arguments": "{}"}),
        ),
        (
            Dialect::BedrockConverse,
            json!({"toolUse": {"toolUseId": "call_k1", "name": "water", "input": {}}}),
        ),
    ];
    for (dialect, item) in calls {
        let document = response(dialect, json!([item])).to_string();
        let (turn, _) = dialect.decode_response(document).unwrap();
        let answered = |name: &str| {
            let mut result = failed(&turn.calls()[0]);
            if let ToolResult::Function(result) = &mut result {
                result.name = Some(name.to_owned());
            }
            let answered = turn.clone().answer(vec![result]).unwrap();
            dialect.encode_results(&answered).unwrap().report.losses
        };
        assert_eq!(answered("water"), [], "{dialect}");
        let other = answered("prune");
        assert!(other[0].what.contains("prune"), "{dialect}: {other:?}");
    }
}

/// The ids that the items of a reply refer to, in order.
fn answered_ids(reply: &EncodedReply) -> Vec<&str> {
    let items = reply.items.iter();
    let flat = items.flat_map(
        |item| match item.get("contents").and_then(Value::as_array) {
            Some(contents) => contents.as_slice(),
            None => std::slice::from_ref(item),
        },
    );
    flat.filter_map(answered_id).collect()
}

fn answered_id(item: &Value) -> Option<&str> {
    let fields = [
        "/tool_use_id",
        "/call_id",
        "/tool_call_id",
        "/toolResult/toolUseId",
        "/functionResponse/id",
    ];
    fields
        .iter()
        .find_map(|field| item.pointer(field)?.as_str())
}

/// Fails unless the call with the id `call_k1` is the only one, and is answered.
fn check(dialect: Dialect, item: Value) {
    let reply = refused(dialect, json!([item.clone()]));
    assert_eq!(answered_ids(&reply), ["call_k1"], "{dialect}: {item}");
}

fn check_all(dialects: &[Dialect], items: &[Value]) {
    for dialect in dialects {
        for item in items {
            check(*dialect, item.clone());
        }
    }
}

/// Fails if a call of one of the items would be answered.
fn check_hosted(dialect: Dialect, items: Value) {
    assert_eq!(calls(dialect, items.clone()), [], "{dialect}: {items}");
}

const ANTHROPIC: [Dialect; 3] = [
    Dialect::AnthropicMessages,
    Dialect::BedrockMessages,
    Dialect::BedrockInvoke,
];

#[test]
fn every_call_of_anthropic_is_answered() {
    let call = |members: Value| {
        let mut block = json!({"type": "tool_use", "id": "call_k1", "name": "lookup", "input": {}});
        let members = members.as_object().unwrap().clone();
        block.as_object_mut().unwrap().extend(members);
        block
    };
    let blocks = [
        call(json!({})),
        call(json!({"name": "bash", "input": {"command": "ls"}})),
        call(json!({"name": "computer", "input": {"action": "screenshot"}})),
        call(json!({"name": "screenshot", "toolset_name": "computer"})),
        call(
            json!({"name": "navigate", "toolset_name": "browser", "input": {"url": "https://example.com"}}),
        ),
        call(json!({"name": "juggle", "toolset_name": "circus", "input": {"balls": 3}})),
        call(
            json!({"name": "str_replace_based_edit_tool", "input": {"command": "view", "path": "/a"}}),
        ),
        call(json!({"name": "memory", "input": {"command": "view", "path": "/memories"}})),
        call(json!({"caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}})),
        call(json!({"type": "gesture_tool_use", "input": {"sign": "wave"}})),
        json!({"type": "hologram_use", "id": "call_k1", "scene": {"depth": 3}}),
    ];
    check_all(&ANTHROPIC, &blocks);
}

#[test]
fn hosted_calls_of_anthropic_get_no_result() {
    for dialect in ANTHROPIC {
        for block in [
            json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "tide"}}),
            json!({"type": "server_tool_use", "id": "srvtoolu_2", "name": "advisor", "input": {}}),
            json!({"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "read", "server_name": "notes", "input": {}}),
        ] {
            check_hosted(dialect, json!([block]));
        }
        let answered = json!([
            {"type": "gesture_tool_use", "id": "g_1", "name": "wave", "input": {}},
            {"type": "gesture_tool_result", "tool_use_id": "g_1", "content": "seen"},
        ]);
        check_hosted(dialect, answered);
    }
}

#[test]
fn every_call_of_openai_is_answered() {
    let items = [
        json!({"type": "function_call", "id": "fc_1", "call_id": "call_k1", "name": "lookup", "arguments": "{}"}),
        json!({"type": "custom_tool_call", "id": "ct_1", "call_id": "call_k1", "name": "play", "input": "C E G"}),
        json!({"type": "computer_call", "id": "cu_1", "call_id": "call_k1", "status": "completed", "actions": [{"type": "screenshot"}], "pending_safety_checks": []}),
        json!({"type": "shell_call", "id": "sh_1", "call_id": "call_k1", "status": "completed", "action": {"commands": ["ls"]}}),
        json!({"type": "local_shell_call", "id": "ls_1", "call_id": "call_k1", "status": "completed", "action": {"type": "exec", "command": ["ls"], "env": {}}}),
        json!({"type": "apply_patch_call", "id": "ap_1", "call_id": "call_k1", "status": "completed", "operation": {"type": "delete_file", "path": "a.txt"}}),
        json!({"type": "tool_search_call", "id": "ts_1", "call_id": "call_k1", "execution": "client", "status": "completed", "arguments": {}}),
        json!({"type": "hologram_call", "id": "h_1", "call_id": "call_k1", "scene": {"depth": 3}}),
    ];
    for item in items {
        let reply = refused(Dialect::OpenaiResponses, json!([item.clone()]));
        assert_eq!(answered_ids(&reply), ["call_k1"], "{item}");
    }
}

#[test]
fn every_call_of_converse_is_answered() {
    let blocks = [
        json!({"toolUse": {"toolUseId": "call_k1", "name": "lookup", "input": {}}}),
        json!({"toolUse": {"toolUseId": "call_k1", "name": "bash", "input": {"command": "ls"}}}),
        json!({"toolUse": {"toolUseId": "call_k1", "name": "computer", "input": {"action": "screenshot"}}}),
        json!({"gestureToolUse": {"toolUseId": "call_k1", "name": "wave", "input": {}}}),
    ];
    check_all(&[Dialect::BedrockConverse], &blocks);
    check_hosted(
        Dialect::BedrockConverse,
        json!([{"toolUse": {"toolUseId": "srv_1", "name": "nova_grounding", "type": "server_tool_use", "input": {}}}]),
    );
}

#[test]
fn every_call_of_an_agent_is_answered() {
    let inputs = json!([
        {"functionInvocationInput": {"actionGroup": "desk", "function": "lookup", "parameters": []}},
        {"apiInvocationInput": {"actionGroup": "desk", "apiPath": "/orders", "httpMethod": "GET"}},
    ]);
    let reply = refused(Dialect::BedrockAgents, inputs);
    let results = reply.items.iter();
    let results = results.filter_map(|item| item.pointer("/returnControlInvocationResults"));
    let counts: Vec<usize> = results
        .map(|results| results.as_array().unwrap().len())
        .collect();
    assert!(counts == [2] || reply.items.len() == 2, "{:?}", reply.items);
}

#[test]
fn every_call_of_google_is_answered() {
    let parts = [
        json!({"functionCall": {"id": "call_k1", "name": "lookup", "args": {}}}),
        json!({"functionCall": {"id": "call_k1", "name": "click_at", "args": {"x": 500, "y": 500}}}),
        json!({"functionCall": {"id": "call_k1", "name": "click_at", "args": {"x": "far"}}}),
        json!({"functionCall": {"id": "call_k1", "name": "open_web_browser"}}),
    ];
    check_all(&[Dialect::GoogleGenerateContent], &parts);
    let steps = [
        json!({"type": "function_call", "id": "call_k1", "name": "lookup", "arguments": {}}),
        json!({"type": "function_call", "id": "call_k1", "name": "click_at", "arguments": {"x": 500, "y": 500}}),
        json!({"type": "tool_search_call", "id": "call_k1", "signature": "c2VhcmNo", "arguments": {"function_names": ["open_valve"]}}),
        json!({"type": "gesture_call", "id": "call_k1", "arguments": {"sign": "wave"}}),
    ];
    check_all(&[Dialect::GoogleInteractions], &steps);
}

#[test]
fn a_search_by_the_client_at_google_is_answered_in_its_own_type() {
    let step = json!({"type": "tool_search_call", "id": "call_k1", "arguments": {"function_names": ["open_valve"]}});
    let reply = refused(Dialect::GoogleInteractions, json!([step]));
    assert_eq!(
        reply.items[0],
        json!({"type": "tool_search_result", "call_id": "call_k1", "result": []})
    );
    let note = reply.items[1]["content"][0]["text"].as_str().unwrap();
    assert!(note.contains("Not possible."), "{note}");
    assert_eq!(reply.report.losses.len(), 1, "{:?}", reply.report);
}

#[test]
fn hosted_steps_of_google_get_no_result() {
    for kind in [
        "code_execution",
        "file_search",
        "google_maps",
        "google_search",
        "mcp_server_tool",
        "processing",
        "retrieval",
        "url_context",
    ] {
        let call =
            json!({"type": format!("{kind}_call"), "id": "hosted_1", "arguments": {"code": "1"}});
        check_hosted(Dialect::GoogleInteractions, json!([call]));
    }
    let answered = json!([
        {"type": "tool_search_call", "id": "search_1", "arguments": {"function_names": ["a"]}},
        {"type": "tool_search_result", "call_id": "search_1", "result": []},
    ]);
    check_hosted(Dialect::GoogleInteractions, answered);
    let parts = json!([
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"toolCall": {"id": "t_1", "toolType": "GOOGLE_SEARCH_WEB", "args": {}}},
    ]);
    check_hosted(Dialect::GoogleGenerateContent, parts);
}

#[test]
fn every_call_of_chat_completions_is_answered() {
    let calls = [
        json!({"id": "call_k1", "type": "function", "function": {"name": "lookup", "arguments": "{}"}}),
        json!({"id": "call_k1", "type": "function", "function": {"name": "shell", "arguments": "{\"command\": 7}"}}),
        json!({"id": "call_k1", "type": "custom", "custom": {"name": "play", "input": "C E G"}}),
        json!({"id": "call_k1", "type": "gesture", "gesture": {"sign": "wave"}}),
        json!({"id": "call_k1", "type": "function", "function": {"arguments": "{}"}}),
    ];
    check_all(&[Dialect::Functions, Dialect::FunctionsInline], &calls);
    let calls = [
        json!({"id": "call_k1", "function": {"name": "lookup", "arguments": "{}"}}),
        json!({"id": "call_k1", "type": "gesture", "gesture": {"sign": "wave"}}),
    ];
    check_all(&[Dialect::MistralChat], &calls);
}

#[test]
fn every_call_of_conversations_is_answered() {
    let entries = [
        json!({"type": "function.call", "id": "fc_1", "tool_call_id": "call_k1", "name": "lookup", "arguments": "{}"}),
        json!({"type": "gesture.call", "id": "g_1", "tool_call_id": "call_k1", "arguments": {"sign": "wave"}}),
    ];
    check_all(&[Dialect::MistralConversations], &entries);
    check_hosted(
        Dialect::MistralConversations,
        json!([
            {"type": "tool.execution", "id": "te_1", "name": "web_search", "arguments": "{}"},
            {"type": "agent.handoff", "id": "ah_1", "previous_agent_id": "a", "next_agent_id": "b"},
        ]),
    );
}

#[test]
fn every_call_of_neutral_contents_is_answered() {
    let contents = [
        json!({"type": "function_call", "call_id": "call_k1", "name": "lookup", "arguments": {}}),
        json!({"type": "computer_call", "call_id": "call_k1", "actions": [{"action": "screenshot"}]}),
        json!({"type": "shell_call", "call_id": "call_k1", "commands": ["ls"]}),
        json!({"type": "edit_call", "call_id": "call_k1", "tool": "editor", "operations": []}),
        json!({"type": "gesture_call", "call_id": "call_k1", "sign": "wave"}),
    ];
    check_all(&[Dialect::Neutral], &contents);
    let contents = [
        json!({"type": "function_call", "call_id": "call_k1", "name": "lookup", "arguments": {}}),
        json!({"type": "gesture_tool_call", "call_id": "call_k1", "sign": "wave"}),
    ];
    check_all(&[Dialect::AgentFramework], &contents);
    for dialect in [Dialect::Neutral, Dialect::AgentFramework] {
        for content in [
            json!({"type": "search_tool_call", "call_id": "hosted_1", "query": "tide"}),
            json!({"type": "mcp_server_tool_call", "call_id": "hosted_2", "tool_name": "read"}),
            json!({"type": "gesture_call", "call_id": "hosted_3", "hosted": true}),
        ] {
            check_hosted(dialect, json!([content]));
        }
    }
}

#[test]
fn a_question_of_the_provider_that_no_result_answers_is_reported() {
    let openai = json!({"object": "response", "status": "completed", "output": [
        {"type": "mcp_approval_request", "id": "mcpr_1", "name": "book", "server_label": "port",
            "arguments": "{\"berth\": 3}"}]});
    let mistral = json!({"object": "conversation.response", "outputs": [
        {"type": "function.call", "id": "fc_1", "tool_call_id": "abcdefgh1", "name": "book",
            "arguments": "{}", "confirmation_status": "pending"}]});
    for (dialect, response, id) in [
        (Dialect::OpenaiResponses, openai, "mcpr_1"),
        (Dialect::MistralConversations, mistral, "abcdefgh1"),
    ] {
        let (turn, _) = dialect.decode_response(response.to_string()).unwrap();
        let reply = dialect
            .encode_results(&turn.answer(Vec::new()).unwrap())
            .unwrap();
        let whats: Vec<&str> = reply
            .report
            .losses
            .iter()
            .map(|loss| loss.what.as_str())
            .collect();
        assert_eq!(whats, [format!("approval request {id}")], "{dialect}");
    }
}
