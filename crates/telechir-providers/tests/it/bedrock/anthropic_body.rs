//! Anthropic's request bodies on Bedrock: what the APIs reject, and conversations.

use serde_json::{Value, json};
use telechir_protocol::{Content, FunctionResult, ToolResult};
use telechir_providers::{
    Conversation, Declaration, Dialect, Loss, RequestOptions, StopReason, ToolOffer,
};

use super::{PNG, converse, history, reply};

const TOOLSET: &str = "toolset_name";

fn toolset_history() -> Value {
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}});
    json!([
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "toolu_1", "name": "left_click", "toolset_name": "computer", "input": {"coordinate": [5, 6], "text": "shift"}},
            {"type": "tool_use", "id": "toolu_2", "name": "screenshot", "toolset_name": "computer", "input": {}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "toolset_name": "computer", "content": [{"type": "text", "text": "Clicked."}]},
            {"type": "tool_result", "tool_use_id": "toolu_2", "toolset_name": "computer", "content": [image]},
        ]},
    ])
}

#[test]
fn toolset_calls_become_legacy_calls_without_toolset_support() {
    let read = history(Dialect::AnthropicMessages, &toolset_history());
    let (same, report) = Dialect::BedrockMessages.encode_history(&read).unwrap();
    assert_eq!((same, report.losses), (toolset_history(), vec![]));
    let (old, report) = Dialect::BedrockInvoke.encode_history(&read).unwrap();
    assert!(!old.to_string().contains(TOOLSET), "{old}");
    let input = json!({"action": "left_click", "coordinate": [5, 6], "text": "shift"});
    assert_eq!(old[0]["content"][0]["input"], input);
    assert_eq!(report.losses, []);
    let (blocks, report) = Dialect::BedrockConverse.encode_history(&read).unwrap();
    let call = json!({"toolUse": {"toolUseId": "toolu_1", "name": "computer", "input": input}});
    assert_eq!((&blocks[0]["content"][0], report.losses), (&call, vec![]));
    // The decoded calls have the same actions.
    let again = history(Dialect::BedrockConverse, &blocks);
    let actions = |history: &telechir_providers::History| {
        let contents = history
            .messages
            .iter()
            .flat_map(|message| message.contents.clone());
        let actions = contents.filter_map(|content| match content {
            Content::ComputerCall(call) => Some(call.actions),
            _ => None,
        });
        actions.flatten().collect::<Vec<_>>()
    };
    assert_eq!(actions(&again), actions(&read));
}

#[test]
fn an_image_by_url_is_replaced_by_text() {
    let image =
        json!({"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}});
    let read = history(
        Dialect::AnthropicMessages,
        &json!([{"role": "user", "content": [image]}]),
    );
    for dialect in [
        Dialect::BedrockMessages,
        Dialect::BedrockInvoke,
        Dialect::BedrockConverse,
    ] {
        let (sent, report) = dialect.encode_history(&read).unwrap();
        assert!(
            sent.to_string()
                .contains("A file at https://example.org/a.png"),
            "{sent}"
        );
        assert_eq!(report.losses.len(), 1, "{dialect}: {report:?}");
    }
}

#[test]
fn rejects_a_too_large_image() {
    let data = "A".repeat(5 * 1024 * 1024 + 4);
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}});
    let read = history(
        Dialect::AnthropicMessages,
        &json!([{"role": "user", "content": [image]}]),
    );
    for dialect in [
        Dialect::BedrockMessages,
        Dialect::BedrockInvoke,
        Dialect::BedrockConverse,
    ] {
        let error = dialect.encode_history(&read).unwrap_err().to_string();
        assert!(error.contains("5242880"), "{dialect}: {error}");
    }
}

fn conversation(dialect: Dialect, model: &str) -> Conversation {
    let screen = json!([{"type": "computer_use", "display_width": 64, "display_height": 48}]);
    let offer = ToolOffer {
        tools: serde_json::from_value(screen).unwrap(),
        model: Some(model.to_owned()),
    };
    let (declaration, _): (Declaration, _) = dialect.declare(&offer).unwrap();
    let opening = RequestOptions {
        model: model.to_owned(),
        task: "Go.".to_owned(),
        system: Some("Be brief.".to_owned()),
        declaration,
        ..RequestOptions::default()
    };
    Conversation::new(dialect, opening).unwrap()
}

#[test]
fn an_invocation_has_its_model_in_the_path_and_its_headers_in_the_body() {
    let mut conversation = conversation(
        Dialect::BedrockInvoke,
        "us.anthropic.claude-opus-4-5-20251101-v1:0",
    );
    let request = conversation.request();
    assert_eq!(
        request.path,
        "/model/us.anthropic.claude-opus-4-5-20251101-v1%3A0/invoke"
    );
    assert_eq!(request.headers, []);
    assert_eq!(request.body["anthropic_version"], "bedrock-2023-05-31");
    assert_eq!(
        request.body["anthropic_beta"],
        json!(["computer-use-2025-11-24"])
    );
    for name in ["model", "stream", "cache_control"] {
        assert!(request.body.get(name).is_none(), "{name}");
    }
    let body = request.body.to_string();
    let (history, _) = Dialect::BedrockInvoke
        .decode_history(body.as_bytes())
        .unwrap();
    Dialect::BedrockInvoke.encode_history(&history).unwrap();
    let key = conversation.key_header("k");
    assert_eq!(key, ("authorization", "Bearer k".to_owned()));
}

#[test]
fn bedrock_messages_sends_anthropics_request() {
    let mut conversation = conversation(Dialect::BedrockMessages, "anthropic.claude-opus-5");
    let request = conversation.request();
    assert_eq!(request.path, "/messages");
    assert_eq!(request.body["model"], "anthropic.claude-opus-5");
    let service = Dialect::BedrockMessages.service().unwrap();
    assert_eq!((service.host, service.prefix), (None, "/anthropic/v1"));
}

#[test]
fn converse_drops_rejected_fields_of_earlier_responses() {
    let mut conversation = conversation(Dialect::BedrockConverse, "anthropic.claude-opus-4-8");
    let call = json!({"toolUse": {"toolUseId": "t", "name": "computer", "input": {"action": "screenshot"}, "type": "tool_use"}});
    let response = converse(&json!([{"text": " "}, call]));
    let taken = conversation
        .push_response(response.to_string().as_bytes())
        .unwrap();
    assert_eq!(
        (taken.stop, taken.usage.total_token_count),
        (StopReason::Calls, Some(19))
    );
    let request = conversation.request();
    assert_eq!(request.path, "/model/anthropic.claude-opus-4-8/converse");
    let sent = json!({"toolUse": {"toolUseId": "t", "name": "computer", "input": {"action": "screenshot"}}});
    let last = json!([sent, {"cachePoint": {"type": "default"}}]);
    assert_eq!(request.body["messages"][1]["content"], last);
    assert_eq!(request.body["system"], json!([{"text": "Be brief."}]));
    assert_eq!(
        request.body["toolConfig"]["tools"][0]["toolSpec"]["name"],
        "unused_tool"
    );
}

#[test]
fn stop_reasons_are_distinguished() {
    let table = [
        ("end_turn", StopReason::Done),
        ("stop_sequence", StopReason::Done),
        ("max_tokens", StopReason::MaxTokens),
        ("model_context_window_exceeded", StopReason::ContextExceeded),
        (
            "content_filtered",
            StopReason::Refused {
                reason: "content_filtered".to_owned(),
            },
        ),
        (
            "malformed_tool_use",
            StopReason::Incomplete {
                reason: "malformed_tool_use".to_owned(),
            },
        ),
    ];
    for (reason, stop) in table {
        let mut conversation = conversation(Dialect::BedrockConverse, "anthropic.claude-opus-4-8");
        let mut response = converse(&json!([{"text": "x"}]));
        response["stopReason"] = reason.into();
        let taken = conversation
            .push_response(response.to_string().as_bytes())
            .unwrap();
        assert_eq!(taken.stop, stop, "{reason}");
    }
}

#[test]
fn an_image_in_s3_is_replaced_by_text() {
    let named = "A file at s3://bucket/a.png could not be sent.";
    let source = json!({"s3Location": {"uri": "s3://bucket/a.png"}});
    let image = json!({"image": {"format": "png", "source": source}});
    let message = json!([{"role": "user", "content": [image]}]);
    let sent = history(Dialect::BedrockConverse, &message);
    let items = json!([{"type": "uri", "uri": "s3://bucket/a.png", "media_type": "image/png"}]);
    let result: FunctionResult =
        serde_json::from_value(json!({"call_id": "toolu_1", "items": items})).unwrap();
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "lookup", "input": {}});
    let response = json!({"type": "message", "role": "assistant", "content": [call], "stop_reason": "tool_use"});
    for dialect in [Dialect::BedrockMessages, Dialect::BedrockInvoke] {
        let (document, report) = dialect.encode_history(&sent).unwrap();
        assert!(document.to_string().contains(named), "{document}");
        let file = "the file `s3://bucket/a.png` of type image/*";
        let is_file = |loss: &Loss| loss.what == file && loss.preserved_as.is_some();
        assert!(report.losses.iter().any(is_file), "{dialect}: {report:?}");
        let reply = reply(
            dialect,
            &response,
            vec![ToolResult::Function(result.clone())],
        )
        .unwrap();
        let blocks = json!(reply.items);
        assert!(blocks.to_string().contains(named), "{blocks}");
        assert_eq!(reply.report.losses.len(), 1, "{dialect}: {blocks}");
    }
    let call = json!({"toolUse": {"toolUseId": "toolu_1", "name": "lookup", "input": {}}});
    let response = converse(&json!([call]));
    let reply = reply(
        Dialect::BedrockConverse,
        &response,
        vec![ToolResult::Function(result)],
    );
    let reply = reply.unwrap();
    let content = &reply.items[0]["toolResult"]["content"][0];
    assert_eq!((content, reply.report.losses), (&image, vec![]));
}
