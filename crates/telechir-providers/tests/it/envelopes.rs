//! Requests and responses of every dialect to every other: the messages in them arrive, and nothing
//! of the document around them.

use serde_json::{Value, json};
use telechir_protocol::Content;
use telechir_providers::Dialect;

const TEXT: &str = "Looking up the tide.";
/// An argument of the only call.
const HARBOUR: &str = "Hirtshals";
/// The id of the response and a setting of the request, which belong to the document.
const AROUND: &str = "around-the-messages";

/// A response with a text and a call.
fn response(dialect: Dialect) -> Value {
    let chat = json!({
        "id": AROUND, "object": "chat.completion", "model": "m",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": TEXT, "tool_calls": [{
                "id": "call00001", "type": "function",
                "function": {"name": "tide", "arguments": format!(r#"{{"harbour":"{HARBOUR}"}}"#)},
            }],
        }}],
    });
    let anthropic = json!({
        "id": AROUND, "type": "message", "role": "assistant", "model": "claude-opus-5-5",
        "content": [
            {"type": "text", "text": TEXT},
            {"type": "tool_use", "id": "call00001", "name": "tide", "input": {"harbour": HARBOUR}},
        ],
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {"input_tokens": 3, "output_tokens": 5},
    });
    match dialect {
        Dialect::AnthropicMessages | Dialect::BedrockMessages | Dialect::BedrockInvoke => anthropic,
        Dialect::OpenaiResponses => json!({
            "id": AROUND, "object": "response", "status": "completed", "model": "gpt-5.5", "output": [
                {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                 "content": [{"type": "output_text", "text": TEXT, "annotations": []}]},
                {"type": "function_call", "id": "fc_1", "call_id": "call00001", "name": "tide",
                 "arguments": format!(r#"{{"harbour":"{HARBOUR}"}}"#), "status": "completed"},
            ],
        }),
        Dialect::BedrockConverse => json!({
            "output": {"message": {"role": "assistant", "content": [
                {"text": TEXT},
                {"toolUse": {"toolUseId": "call00001", "name": "tide", "input": {"harbour": HARBOUR}}},
            ]}},
            "stopReason": "tool_use", "usage": {"inputTokens": 3, "outputTokens": 5, "totalTokens": 8},
            "trace": {"promptRouter": {"invokedModelId": AROUND}},
        }),
        Dialect::BedrockAgents => json!({"sessionId": AROUND, "completion": [
            {"chunk": {"bytes": "TG9va2luZyB1cCB0aGUgdGlkZS4="}},
            {"returnControl": {"invocationId": "inv-1", "invocationInputs": [
                {"functionInvocationInput": {"actionGroup": "sea", "function": "tide", "parameters": [
                    {"name": "harbour", "type": "string", "value": HARBOUR}]}},
            ]}},
        ]}),
        Dialect::GoogleGenerateContent => json!({
            "responseId": AROUND, "modelVersion": "gemini-3.5-pro",
            "candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [
                {"text": TEXT}, {"functionCall": {"id": "call00001", "name": "tide", "args": {"harbour": HARBOUR}}},
            ]}}],
        }),
        Dialect::GoogleInteractions => json!({
            "id": AROUND, "object": "interaction", "status": "requires_action", "steps": [
                {"type": "model_output", "content": [{"type": "text", "text": TEXT}]},
                {"type": "function_call", "id": "call00001", "name": "tide", "arguments": {"harbour": HARBOUR}},
            ],
        }),
        Dialect::AgentFramework => json!({
            "type": "chat_response", "response_id": AROUND, "messages": [
                {"type": "message", "role": "assistant", "contents": [
                    {"type": "text", "text": TEXT},
                    {"type": "function_call", "call_id": "call00001", "name": "tide",
                     "arguments": format!(r#"{{"harbour":"{HARBOUR}"}}"#)},
                ]},
            ],
        }),
        Dialect::Neutral => json!([
            {"type": "text", "text": TEXT},
            {"type": "function_call", "call_id": "call00001", "name": "tide",
             "arguments": format!(r#"{{"harbour":"{HARBOUR}"}}"#)},
        ]),
        Dialect::Functions | Dialect::FunctionsInline | Dialect::MistralChat => chat,
        Dialect::MistralConversations => json!({
            "object": "conversation.response", "conversation_id": AROUND, "outputs": [
                {"type": "message.output", "role": "assistant", "content": TEXT},
                {"type": "function.call", "tool_call_id": "call00001", "name": "tide",
                 "arguments": format!(r#"{{"harbour":"{HARBOUR}"}}"#)},
            ],
        }),
    }
}

/// A request whose only message has the text.
fn request(dialect: Dialect) -> Option<Value> {
    let parts = |part: Value| json!([{"role": "user", "content": [part]}]);
    Some(match dialect {
        Dialect::AnthropicMessages | Dialect::BedrockMessages => json!({
            "model": "claude-opus-5-5", "max_tokens": 9, "metadata": {"user_id": AROUND},
            "messages": parts(json!({"type": "text", "text": TEXT})),
        }),
        Dialect::BedrockInvoke => json!({
            "anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "metadata": {"user_id": AROUND},
            "messages": parts(json!({"type": "text", "text": TEXT})),
        }),
        Dialect::OpenaiResponses => json!({
            "model": "gpt-5.5", "metadata": {"of": AROUND},
            "input": parts(json!({"type": "input_text", "text": TEXT})),
        }),
        Dialect::BedrockConverse => json!({
            "modelId": AROUND, "messages": parts(json!({"text": TEXT})),
        }),
        Dialect::GoogleGenerateContent => json!({
            "labels": {"of": AROUND}, "contents": [{"role": "user", "parts": [{"text": TEXT}]}],
        }),
        Dialect::GoogleInteractions => json!({
            "model": AROUND, "input": [{"type": "user_input", "content": [{"type": "text", "text": TEXT}]}],
        }),
        Dialect::Functions | Dialect::FunctionsInline | Dialect::MistralChat => json!({
            "model": AROUND, "messages": [{"role": "user", "content": TEXT}],
        }),
        Dialect::MistralConversations => json!({
            "model": AROUND, "inputs": [{"type": "message.input", "role": "user", "content": TEXT}],
        }),
        // A request is the call of a client; only its messages are JSON.
        Dialect::AgentFramework | Dialect::BedrockAgents | Dialect::Neutral => return None,
    })
}

/// The body of the same API, which both dialects write unchanged.
fn is_same_body(from: Dialect, to: Dialect) -> bool {
    let bodies = [Dialect::AnthropicMessages, Dialect::BedrockMessages];
    from == to || (bodies.contains(&from) && bodies.contains(&to))
}

fn check(document: impl Fn(Dialect) -> Option<Value>, wanted: &[&str]) {
    for from in Dialect::ALL {
        let Some(document) = document(from) else {
            continue;
        };
        let (history, _) = from.decode_history(document.to_string()).unwrap();
        for to in Dialect::ALL {
            let case = format!("{from} to {to}");
            let (written, report) = to
                .encode_history(&history)
                .unwrap_or_else(|error| panic!("{case}: {error}"));
            if is_same_body(from, to) {
                assert_eq!(written, document, "{case}");
                continue;
            }
            let (back, _) = to
                .decode_history(written.to_string())
                .unwrap_or_else(|error| panic!("{case}: {error} in {written}"));
            let contents = back.messages.iter().flat_map(|message| &message.contents);
            let mut text = String::new();
            for content in contents {
                if let Content::Text(one) = content {
                    text.push_str(&one.text);
                } else if let Content::FunctionCall(call) = content {
                    text.push_str(&format!("{:?}", call.arguments));
                }
            }
            for wanted in wanted {
                assert!(text.contains(wanted), "{case} lacks {wanted:?}: {written}");
            }
            // They keep the original JSON of a message beside its fields.
            if matches!(to, Dialect::AgentFramework | Dialect::Neutral) {
                continue;
            }
            assert!(!written.to_string().contains(AROUND), "{case}: {written}");
            // Their responses have no document around them.
            if matches!(from, Dialect::BedrockAgents | Dialect::Neutral) {
                continue;
            }
            assert!(
                !report.is_lossless(),
                "{case} loses the document in silence"
            );
        }
    }
}

#[test]
fn a_response_arrives_without_the_document_around_it() {
    check(|dialect| Some(response(dialect)), &[TEXT, HARBOUR]);
}

#[test]
fn a_request_arrives_without_the_document_around_it() {
    check(request, &[TEXT]);
}
