//! Tests of requests, stop reasons and the removal of old images.

use serde_json::{Value, json};
use telechir_protocol::{Failure, FailureKind, ShellResult, ToolCall, ToolResult};

use super::Conversation;
use crate::{Dialect, ImageLimit, ProviderError, RequestOptions, StopReason};

fn conversation(dialect: Dialect) -> Conversation {
    let images = ImageLimit {
        keep: 1,
        prune_above: 2,
    };
    let options = RequestOptions {
        model: "claude-opus-5-5".into(),
        task: "do it".into(),
        images,
        ..RequestOptions::default()
    };
    Conversation::new(dialect, options).unwrap()
}

fn screenshot(id: &str) -> [Value; 3] {
    [
        json!({"type": "reasoning", "id": format!("rs_{id}"), "summary": []}),
        json!({"type": "computer_call", "id": "cu", "call_id": id, "actions": [{"type": "screenshot"}]}),
        json!({"type": "computer_call_output", "call_id": id, "output": {"type": "computer_screenshot", "image_url": "data:,"}}),
    ]
}

#[test]
fn never_sends_sampling_members_to_anthropic() {
    let request = conversation(Dialect::AnthropicMessages).request();
    let names: Vec<&String> = request
        .body
        .as_object()
        .expect("an object")
        .keys()
        .collect();
    assert_eq!(names, ["model", "max_tokens", "cache_control", "messages"]);
    assert_eq!(
        request.headers,
        [("anthropic-version".to_owned(), "2026-10-21".to_owned())]
    );
}

#[test]
fn requests_encrypted_reasoning_and_no_storage_from_openai() {
    let request = conversation(Dialect::OpenaiResponses).request();
    assert_eq!(request.body["store"], json!(false));
    assert_eq!(
        request.body["include"],
        json!(["reasoning.encrypted_content"])
    );
    assert_eq!(request.path, "/responses");
}

#[test]
fn removes_an_old_openai_screenshot_with_its_call_and_reasoning() {
    let mut conversation = conversation(Dialect::OpenaiResponses);
    for id in ["a", "b", "c"] {
        conversation.items.extend(screenshot(id));
    }
    let request = conversation.request();
    assert_eq!(request.images, 1);
    let kinds: Vec<&str> = conversation
        .items
        .iter()
        .map(|item| item["type"].as_str().unwrap_or(""))
        .collect();
    assert_eq!(
        kinds,
        [
            "message",
            "message",
            "message",
            "reasoning",
            "computer_call",
            "computer_call_output"
        ]
    );
    assert_eq!(conversation.items[1]["role"], "developer");
    assert_eq!(conversation.items[4]["call_id"], "c");
}

#[test]
fn replaces_an_old_anthropic_screenshot_by_a_note_and_permits_dropping_its_thinking() {
    let mut conversation = conversation(Dialect::AnthropicMessages);
    for id in ["a", "b", "c"] {
        let image = json!({"type": "image", "source": {}});
        let result = json!({"type": "tool_result", "tool_use_id": id, "content": [image]});
        conversation
            .items
            .push(json!({"role": "user", "content": [result]}));
    }
    let request = conversation.request();
    assert_eq!(request.images, 1);
    assert_eq!(
        conversation.items[1]["content"][0]["content"][0]["type"],
        "text"
    );
    assert_eq!(
        conversation.items[3]["content"][0]["content"][0]["type"],
        "image"
    );
    assert_eq!(
        request.body["thinking"]["block_binding"]["prefix_mismatch_behavior"],
        "drop_block"
    );
    assert!(
        request
            .headers
            .iter()
            .any(|(name, _)| name == "anthropic-beta")
    );
}

/// The start of a PNG of 2400 by 1200 pixels, in base64.
const LARGE_PNG: &str = "iVBORw0KGgoAAAANSUhEUgAACWAAAASwCAIAAAA=";

#[test]
fn sends_at_most_twenty_images_while_one_is_large() {
    let mut conversation = conversation(Dialect::AnthropicMessages);
    conversation.options.images = ImageLimit::default();
    for at in 0..21 {
        let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": LARGE_PNG}});
        let result = json!({"type": "tool_result", "tool_use_id": format!("toolu_{at}"), "content": [image]});
        conversation
            .items
            .push(json!({"role": "user", "content": [result]}));
        assert!(conversation.request().images <= 20, "image {at}");
    }
    assert_eq!(conversation.request().images, ImageLimit::default().keep);
}

fn openai_stop(body: &Value) -> StopReason {
    let output: Vec<Value> = body["output"].as_array().cloned().unwrap_or_default();
    Dialect::OpenaiResponses
        .codec()
        .chat_api
        .unwrap()
        .failure(body)
        .unwrap_or_else(|| {
            let mut items = Vec::new();
            let calls = output.iter().any(|item| item["type"] == "computer_call");
            Dialect::OpenaiResponses
                .codec()
                .chat_api
                .unwrap()
                .push_response(body, calls, &mut items)
        })
}

#[test]
fn distinguishes_the_stop_reasons_of_openai() {
    let message = |phase: &str| json!({"type": "message", "phase": phase, "content": [{"type": "output_text", "text": "x"}]});
    let cases = [
        (
            json!({"status": "completed", "output": [message("final_answer")]}),
            StopReason::Done,
        ),
        (
            json!({"status": "completed", "output": [message("commentary")]}),
            StopReason::Continue,
        ),
        (
            json!({"status": "completed", "output": [{"type": "computer_call"}]}),
            StopReason::Calls,
        ),
        (
            json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": []}),
            StopReason::MaxTokens,
        ),
        (
            json!({"status": "completed", "output": [{"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}]}),
            StopReason::Refused {
                reason: "no".into(),
            },
        ),
        (
            json!({"status": "failed", "error": {"code": "server_error", "message": "m"}, "output": []}),
            StopReason::Failed {
                code: "server_error".into(),
                message: "m".into(),
            },
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(openai_stop(&body), expected, "{body}");
    }
}

#[test]
fn distinguishes_the_stop_reasons_of_anthropic_and_runs_no_call_of_a_truncated_response() {
    let stop = |reason: &str, calls: bool| {
        let body = json!({"stop_reason": reason, "content": []});
        Dialect::AnthropicMessages
            .codec()
            .chat_api
            .unwrap()
            .push_response(&body, calls, &mut Vec::new())
    };
    assert_eq!(stop("tool_use", true), StopReason::Calls);
    assert_eq!(stop("end_turn", false), StopReason::Done);
    assert_eq!(stop("pause_turn", false), StopReason::Continue);
    assert_eq!(stop("max_tokens", true), StopReason::MaxTokens);
    assert_eq!(
        stop("refusal", true),
        StopReason::Refused {
            reason: String::new()
        }
    );
    assert_eq!(
        stop("model_context_window_exceeded", false),
        StopReason::ContextExceeded
    );
    assert_eq!(
        stop("new_reason", false),
        StopReason::Incomplete {
            reason: "new_reason".into()
        }
    );
}

#[test]
fn reads_error_bodies_of_openai_and_anthropic_but_no_html() {
    let anthropic =
        br#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let openai =
        br#"{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}"#;
    assert_eq!(
        ProviderError::from_body(anthropic).map(|e| e.kind),
        Some("overloaded_error".into())
    );
    assert_eq!(
        ProviderError::from_body(openai).map(|e| e.kind),
        Some("rate_limit_exceeded".into())
    );
    assert_eq!(ProviderError::from_body(b"<html>502</html>"), None);
}

#[test]
fn reads_the_error_bodies_of_aws() {
    let read = |body: &str| {
        let error = ProviderError::from_body(body.as_bytes()).unwrap();
        (error.kind, error.message)
    };
    let error = |kind: &str, message: &str| (kind.to_owned(), message.to_owned());
    assert_eq!(
        read(r#"{"message":"Too many tokens, please wait."}"#),
        error("", "Too many tokens, please wait.")
    );
    assert_eq!(
        read(
            r#"{"Message":"User is not authorized","__type":"com.amazon.coral.service#AccessDeniedException"}"#
        ),
        error("AccessDeniedException", "User is not authorized")
    );
    assert_eq!(
        read(r#"{"message":"it failed","originalStatusCode":424,"resourceName":"m"}"#),
        error("", "it failed")
    );
    // The form used in the header.
    let header = "ValidationException:http://internal.amazon.com/coral/com.amazon.bedrock/";
    assert_eq!(ProviderError::aws_kind(header), "ValidationException");
    for message_text in [
        "Input is too long for requested model.",
        "The model returned the following errors: prompt is too long: 210000 tokens > 200000 maximum",
    ] {
        let message = message_text.to_owned();
        let error = ProviderError {
            message,
            ..ProviderError::default()
        };
        assert!(error.is_context_exceeded(), "{message_text}");
    }
    assert_eq!(ProviderError::from_body(br#"{"output":{}}"#), None);
}

/// The next request after a response with two calls of one id, whose results are errors.
fn after_repeated_calls(dialect: Dialect, response: &Value) -> Value {
    let mut conversation = conversation(dialect);
    let received = conversation.push_response(response.to_string().as_bytes());
    let received = received.unwrap();
    let calls = received.turn.calls();
    let exceptions = calls.iter().map(|call| {
        let ToolCall::Shell(call) = call else {
            panic!("{dialect}: {call:?}");
        };
        call.exception.is_some()
    });
    // The first is executed, and none twice.
    assert_eq!(exceptions.collect::<Vec<_>>(), [false, true], "{dialect}");
    let reported = received.report.losses.iter();
    let reported = reported.filter(|loss| loss.what.contains("twice_1"));
    assert_eq!(reported.count(), 1, "{dialect}: {:?}", received.report);
    let results = calls.iter().map(|call| {
        ToolResult::Shell(ShellResult {
            error: Some(Failure::new(FailureKind::Device, "No.")),
            ..ShellResult::new(call.call_id().unwrap().clone(), Vec::new())
        })
    });
    let answered = received.turn.clone().answer(results.collect()).unwrap();
    let report = conversation.push_results(&answered).unwrap();
    assert!(report.is_lossless(), "{dialect}: {report:?}");
    conversation.request().body
}

#[test]
fn calls_that_repeat_an_id_are_sent_again_with_ids_and_results_of_their_own() {
    let ids = |body: &Value, field: &str| -> Vec<String> {
        let (text, start) = (body.to_string(), format!("\"{field}\":\""));
        let found = text.split(start.as_str()).skip(1);
        let found = found.filter_map(|rest| rest.split('"').next());
        let mut ids: Vec<String> = found
            .filter(|id| id.starts_with("twice_1"))
            .map(str::to_owned)
            .collect();
        ids.sort();
        ids
    };
    // Two equal calls, and two that only have the id in common.
    for second in ["ls", "pwd"] {
        let call = |command: &str| json!({"type": "tool_use", "id": "twice_1", "name": "bash", "input": {"command": command}});
        let response = json!({"type": "message", "role": "assistant", "stop_reason": "tool_use",
            "content": [call("ls"), call(second)]});
        for dialect in [
            Dialect::AnthropicMessages,
            Dialect::BedrockMessages,
            Dialect::BedrockInvoke,
        ] {
            let body = after_repeated_calls(dialect, &response);
            assert_eq!(ids(&body, "id"), ["twice_1", "twice_1-2"], "{dialect}");
            assert_eq!(
                ids(&body, "tool_use_id"),
                ["twice_1", "twice_1-2"],
                "{dialect}"
            );
        }
        let call = |command: &str| {
            json!({"type": "shell_call", "id": "sh_1", "call_id": "twice_1", "status": "completed",
                "action": {"commands": [command], "timeout_ms": null, "max_output_length": null}})
        };
        let response = json!({"id": "resp_1", "object": "response", "status": "completed",
            "output": [call("ls"), call(second)]});
        let body = after_repeated_calls(Dialect::OpenaiResponses, &response);
        let expected = ["twice_1", "twice_1", "twice_1-2", "twice_1-2"];
        assert_eq!(ids(&body, "call_id"), expected);
        let call = |command: &str| json!({"toolUse": {"toolUseId": "twice_1", "name": "bash", "input": {"command": command}}});
        let response = json!({"output": {"message": {"role": "assistant",
            "content": [call("ls"), call(second)]}}, "stopReason": "tool_use"});
        let body = after_repeated_calls(Dialect::BedrockConverse, &response);
        assert_eq!(ids(&body, "toolUseId"), expected);
    }
}

/// Work that grows with the square of the calls would exceed the time limit of a test.
#[test]
fn thousands_of_calls_may_repeat_one_id() {
    const CALLS: usize = 20_000;
    let call = |at: usize| json!({"type": "tool_use", "id": "twice", "name": "bash", "input": {"command": format!("echo {}", at / 2)}});
    let content: Vec<Value> = (0..CALLS).map(call).collect();
    let response = json!({"type": "message", "role": "assistant", "stop_reason": "tool_use",
        "content": content});
    let mut conversation = conversation(Dialect::AnthropicMessages);
    let received = conversation.push_response(response.to_string().as_bytes());
    let received = received.unwrap();
    let calls = received.turn.calls();
    let ids: Vec<&str> = calls
        .iter()
        .filter_map(|call| call.call_id())
        .map(telechir_protocol::CallId::as_str)
        .collect();
    assert_eq!((ids[0], ids[1], ids.len()), ("twice", "twice-2", CALLS));
    assert_eq!(ids[CALLS - 1], format!("twice-{CALLS}"));
}
