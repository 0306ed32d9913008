//! Numbers with more than 64 bits in streamed responses: kept unchanged or reported, as in other
//! responses.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use telechir_protocol::ToolCall;
use telechir_providers::Dialect;

use crate::streams::check_every_split;

const NUMBER: &str = "123456789012345678901";

/// Server-sent events with these JSON texts; `@` is replaced by the number.
fn sse(events: &[&str]) -> Vec<u8> {
    let event = |event: &&str| format!("data: {}\n\n", event.replace('@', NUMBER));
    events.iter().map(event).collect::<String>().into_bytes()
}

/// Event-stream frames with these names and JSON payloads.
fn frames(events: &[(&str, String)]) -> Vec<u8> {
    let mut all = Vec::new();
    for (name, payload) in events {
        let mut headers = Vec::new();
        for (header, value) in [(":message-type", "event"), (":event-type", *name)] {
            headers.push(u8::try_from(header.len()).unwrap());
            headers.extend(header.as_bytes());
            headers.push(7);
            headers.extend(u16::try_from(value.len()).unwrap().to_be_bytes());
            headers.extend(value.as_bytes());
        }
        let length = |count: usize| u32::try_from(count).unwrap().to_be_bytes();
        let mut frame = length(16 + headers.len() + payload.len()).to_vec();
        frame.extend(length(headers.len()));
        frame.extend(crc32fast::hash(&frame).to_be_bytes());
        frame.extend(headers);
        frame.extend(payload.as_bytes());
        frame.extend(crc32fast::hash(&frame).to_be_bytes());
        all.extend(frame);
    }
    all
}

const ANTHROPIC: [&str; 7] = [
    r#"{"type": "message_start", "message": {"role": "assistant", "content": []}}"#,
    r#"{"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "a", "name": "f", "input": {}}}"#,
    r#"{"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{\"account\": 1234567"}}"#,
    r#"{"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "89012345678901}"}}"#,
    r#"{"type": "content_block_stop", "index": 0}"#,
    r#"{"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}}"#,
    r#"{"type": "message_stop"}"#,
];

/// A stream with a call whose argument `account` is the number, split where a dialect splits
/// arguments.
fn stream(dialect: Dialect) -> Option<Vec<u8>> {
    Some(match dialect {
        Dialect::AnthropicMessages | Dialect::BedrockMessages => sse(&ANTHROPIC),
        Dialect::BedrockInvoke => {
            let chunk = |event: &&str| {
                let bytes = STANDARD.encode(event);
                ("chunk", json!({"bytes": bytes}).to_string())
            };
            frames(&ANTHROPIC.iter().map(chunk).collect::<Vec<_>>())
        }
        Dialect::BedrockConverse => {
            let piece = |text: &str| {
                let delta = json!({"contentBlockIndex": 0, "delta": {"toolUse": {"input": text}}});
                ("contentBlockDelta", delta.to_string())
            };
            let named = |name, json: &str| (name, json.to_owned());
            let start = r#"{"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "a", "name": "f"}}}"#;
            let (first, second) = NUMBER.split_at(9);
            frames(&[
                named("messageStart", r#"{"role": "assistant"}"#),
                named("contentBlockStart", start),
                piece(&format!("{{\"account\": {first}")),
                piece(&format!("{second}}}")),
                named("contentBlockStop", r#"{"contentBlockIndex": 0}"#),
                named("messageStop", r#"{"stopReason": "tool_use"}"#),
            ])
        }
        Dialect::BedrockAgents => {
            let call = r#"{"invocationId": "a", "invocationInputs": [{"functionInvocationInput": {"actionGroup": "g", "function": "f",
                "parameters": [{"name": "account", "type": "number", "value": "@"}]}}]}"#;
            frames(&[("returnControl", call.replace('@', NUMBER))])
        }
        Dialect::OpenaiResponses => sse(&[
            r#"{"type": "response.created", "sequence_number": 0, "response": {"status": "in_progress", "output": []}}"#,
            r#"{"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": {"type": "function_call", "id": "i", "call_id": "a", "name": "f", "arguments": ""}}"#,
            r#"{"type": "response.function_call_arguments.delta", "sequence_number": 2, "output_index": 0, "item_id": "i", "delta": "{\"account\": @}"}"#,
            r#"{"type": "response.output_item.done", "sequence_number": 3, "output_index": 0, "item": {"type": "function_call", "id": "i", "call_id": "a", "name": "f", "arguments": "{\"account\": @}", "status": "completed"}}"#,
            r#"{"type": "response.completed", "sequence_number": 4, "response": {"status": "completed", "output": []}}"#,
        ]),
        Dialect::GoogleGenerateContent => sse(&[
            r#"{"candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [{"functionCall": {"id": "a", "name": "f", "args": {"account": @}}}]}}]}"#,
        ]),
        Dialect::GoogleInteractions => sse(&[
            r#"{"event_type": "step.start", "index": 0, "step": {"type": "function_call", "id": "a", "name": "f", "arguments": {}}}"#,
            r#"{"event_type": "step.delta", "index": 0, "delta": {"type": "arguments_delta", "arguments": "{\"account\": 1234567"}}"#,
            r#"{"event_type": "step.delta", "index": 0, "delta": {"type": "arguments_delta", "arguments": "89012345678901}"}}"#,
            r#"{"event_type": "step.stop", "index": 0}"#,
            r#"{"event_type": "interaction.completed", "interaction": {"id": "v", "status": "requires_action"}}"#,
        ]),
        Dialect::Functions | Dialect::FunctionsInline | Dialect::MistralChat => sse(&[
            r#"{"choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"account\": 1234567"}}]}}]}"#,
            r#"{"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "89012345678901}"}}]}}]}"#,
            r#"{"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}"#,
        ]),
        Dialect::MistralConversations => sse(&[
            r#"{"type": "conversation.response.started", "conversation_id": "c"}"#,
            r#"{"type": "function.call.delta", "id": "fc", "output_index": 0, "tool_call_id": "a", "name": "f", "arguments": "{\"account\": 1234567"}"#,
            r#"{"type": "function.call.delta", "id": "fc", "output_index": 0, "tool_call_id": "a", "name": "f", "arguments": "89012345678901}"}"#,
            r#"{"type": "conversation.response.done", "usage": {}}"#,
        ]),
        Dialect::AgentFramework | Dialect::Neutral => return None,
    })
}

#[test]
fn a_number_in_a_stream_is_exact_or_reported_as_rounded() {
    for dialect in Dialect::ALL {
        let Some(bytes) = stream(dialect) else {
            assert!(dialect.stream().is_none(), "{dialect}");
            continue;
        };
        let (_, read) = check_every_split(dialect, &bytes, dialect.name());
        let read = read.unwrap_or_else(|error| panic!("{dialect}: {error}"));
        let calls = read.turn.calls();
        let [ToolCall::Function(call)] = &calls[..] else {
            panic!("{dialect}: {calls:?}")
        };
        let losses = &read.report.losses;
        if serde_json::to_string(&call.arguments)
            .unwrap()
            .contains(NUMBER)
        {
            assert_eq!(losses, &[], "{dialect}");
            continue;
        }
        let [loss] = &losses[..] else {
            panic!("{dialect}: {losses:?}")
        };
        assert_eq!(loss.what, format!("digits of {NUMBER}"), "{dialect}");
        assert_eq!(loss.location, "account", "{dialect}");
    }
}

/// Google may also send chunks as one JSON list.
#[test]
fn reports_a_rounded_number_in_a_list_of_chunks() {
    let list = r#"[{"candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model",
        "parts": [{"functionCall": {"name": "f", "args": {"account": @}}}]}}]}]"#;
    let list = list.replace('@', NUMBER);
    let mut stream = Dialect::GoogleGenerateContent.stream().unwrap();
    stream.push(list.as_bytes()).unwrap();
    let losses = stream.finish().unwrap().report.losses;
    assert_eq!(losses.len(), 1, "{losses:?}");
}
