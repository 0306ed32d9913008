//! What services add to chat completions or leave out.

use serde_json::{Value, json};
use telechir_protocol::{Command, Content, FunctionResult, Meta, ToolCall, ToolResult};
use telechir_providers::{DecodeError, Dialect, StreamError};

use super::{DIALECT, calls, history_of, reply, turn_of, written};
use crate::streams::{check_every_split, receive};

fn commands(call: &ToolCall) -> &[Command] {
    let ToolCall::Shell(call) = call else {
        panic!("no shell call")
    };
    &call.commands
}

fn line(text: &str) -> Command {
    Command::Line(text.to_owned())
}

/// Server-sent events without names.
fn events(events: &[Value]) -> String {
    events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect()
}

fn chunk(delta: &Value) -> Value {
    json!({"id": "g", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]})
}

fn shell_delta() -> Value {
    let function = json!({"name": "shell", "arguments": "{\"command\": \"df\"}"});
    json!({"role": "assistant", "tool_calls": [{"index": 0, "id": "call_9", "type": "function", "function": function}]})
}

#[test]
fn a_message_of_a_response_needs_no_role() {
    let mut response = calls(&[("call_1", "shell", json!({"command": "df"}))]);
    let message = response["choices"][0]["message"].as_object_mut().unwrap();
    message.shift_remove("role");
    let turn = turn_of(DIALECT, &response);
    assert_eq!(commands(&turn.calls()[0]), [line("df")]);
    assert_eq!(
        written(DIALECT, &history_of(DIALECT, &response)).0,
        response
    );
}

#[test]
fn an_error_of_a_choice_is_the_provider_s_error() {
    let mut response = super::response(&json!({"role": "assistant", "content": ""}), "error");
    response["choices"][0]["error"] = json!({"code": 529, "message": "No capacity."});
    let error = DIALECT.decode_response(response.to_string()).unwrap_err();
    assert!(
        matches!(&error, DecodeError::ProviderError { message } if message == "529: No capacity."),
        "{error}"
    );

    // What arrived before the error is kept, and its calls are not executed.
    response["choices"][0]["message"] =
        calls(&[("call_1", "shell", json!({"command": "df"}))])["choices"][0]["message"].clone();
    let turn = turn_of(DIALECT, &response);
    let Content::ShellCall(call) = &turn.contents()[0] else {
        panic!("no shell call")
    };
    assert!(call.exception.is_some());
    let Content::Error(error) = &turn.contents()[1] else {
        panic!("no error")
    };
    assert_eq!(
        error.message,
        "the response is incomplete: 529: No capacity."
    );
}

#[test]
fn an_error_as_a_text_is_the_provider_s_error() {
    let body = json!({"code": "no-credit", "error": "The account is empty."});
    for dialect in [DIALECT, Dialect::OpenaiResponses] {
        let read = [
            dialect.decode_response(body.to_string()).unwrap_err(),
            dialect.decode_history(body.to_string()).unwrap_err(),
        ];
        for error in read {
            assert!(
                error
                    .to_string()
                    .ends_with("no-credit: The account is empty."),
                "{error}"
            );
        }
    }
}

#[test]
fn a_stream_may_end_without_a_finish_reason() {
    let done = events(&[chunk(&shell_delta())]) + "data: [DONE]\n\n";
    let mut counts = chunk(&json!({"content": ""}));
    counts["usage"] = json!({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7});
    let counted = events(&[chunk(&shell_delta()), counts]);
    for stream in [done, counted] {
        let (_, received) = check_every_split(DIALECT, stream.as_bytes(), &stream);
        assert_eq!(commands(&received.unwrap().turn.calls()[0]), [line("df")]);
    }
    let cut_off = receive(DIALECT, events(&[chunk(&shell_delta())]).as_bytes());
    assert!(matches!(cut_off, Err(StreamError::Truncated { .. })));
}

/// Lines of Ollama's own chat.
fn ollama_lines() -> Vec<Value> {
    let line = |message: &Value| json!({"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": false});
    let call = json!({"function": {"name": "shell", "arguments": {"command": "df"}}});
    let mut lines = vec![
        line(&json!({"role": "assistant", "content": "", "thinking": "Disk"})),
        line(&json!({"role": "assistant", "content": "", "thinking": " use."})),
        line(&json!({"role": "assistant", "content": "I "})),
        line(&json!({"role": "assistant", "content": "look."})),
        line(&json!({"role": "assistant", "content": "", "tool_calls": [call]})),
        line(&json!({"role": "assistant", "content": ""})),
    ];
    let last = lines.last_mut().unwrap();
    last["done"] = true.into();
    last["done_reason"] = "stop".into();
    last["prompt_eval_count"] = 30.into();
    last["eval_count"] = 12.into();
    lines
}

#[test]
fn ollama_s_own_stream_is_read() {
    let lines: String = ollama_lines()
        .iter()
        .map(|line| format!("{line}\n"))
        .collect();
    let (deltas, received) = check_every_split(DIALECT, lines.as_bytes(), "lines");
    let received = received.unwrap();
    assert_eq!(deltas.len(), 6, "{deltas:?}");
    assert_eq!(received.response["message"]["content"], "I look.");
    assert_eq!(received.response["message"]["thinking"], "Disk use.");
    let contents = received.turn.contents();
    assert!(
        matches!(&contents[0], Content::Reasoning(thinking) if thinking.text.as_deref() == Some("Disk use."))
    );
    assert_eq!(commands(&received.turn.calls()[0]), [line("df")]);
    let Some(Content::Usage(usage)) = contents.last() else {
        panic!("no usage")
    };
    assert_eq!(usage.total_token_count, Some(42));

    let all = ollama_lines();
    let unfinished: String = all[..5].iter().map(|line| format!("{line}\n")).collect();
    let cut_off = receive(DIALECT, unfinished.as_bytes());
    assert!(matches!(cut_off, Err(StreamError::Truncated { .. })));
}

#[test]
fn ollama_s_own_response_round_trips_and_its_result_names_the_function() {
    let lines: String = ollama_lines()
        .iter()
        .map(|line| format!("{line}\n"))
        .collect();
    let response = receive(DIALECT, lines.as_bytes()).unwrap().response;
    assert_eq!(
        written(DIALECT, &history_of(DIALECT, &response)).0,
        response
    );

    let turn = turn_of(DIALECT, &response);
    let id = turn.calls()[0].call_id().unwrap().clone();
    let output = telechir_protocol::CommandOutput {
        stdout: "12 %".to_owned(),
        exit_code: Some(0),
        ..Default::default()
    };
    let result = ToolResult::Shell(telechir_protocol::ShellResult::new(id, vec![output]));
    let reply = reply(DIALECT, &response, vec![result]);
    assert_eq!(reply.items[0]["tool_name"], "shell");
    assert!(reply.items[0].get("tool_call_id").is_none());
}

#[test]
fn ollama_s_own_request_round_trips_and_its_images_and_results_are_read() {
    let call = json!({"function": {"name": "shell", "arguments": {"command": "df"}}});
    let request = json!({"model": "m", "messages": [
        {"role": "user", "content": "What is it?", "images": ["iVBORw0KGgo="]},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_name": "shell", "content": "12 %"},
    ]});
    let read = history_of(DIALECT, &request);
    assert_eq!(written(DIALECT, &read).0, request);
    let Content::Data(image) = &read.messages[0].contents[1] else {
        panic!("no image")
    };
    assert_eq!(image.media_type(), Some("image/png"));
    assert!(matches!(
        &read.messages[2].contents[0],
        Content::ShellResult(_)
    ));
}

#[test]
fn a_call_in_a_content_list_is_executed_and_answered_in_one() {
    let call = json!({"type": "tool_use", "tool_use": {"tool_use_id": "tooluse_7", "name": "tide", "input": {"harbour": "Hirtshals"}}});
    let message = json!({"role": "assistant", "content": "I look.", "content_list": [{"type": "text", "text": "I look."}, call]});
    let response = json!({"choices": [{"message": message}]});
    let (turn, _) = DIALECT.decode_response(response.to_string()).unwrap();
    let calls = turn.calls();
    let [ToolCall::Function(call)] = calls.as_slice() else {
        panic!("{calls:?}")
    };
    assert_eq!(call.name, "tide");
    assert_eq!(call.arguments.to_value().unwrap()["harbour"], "Hirtshals");
    let result = FunctionResult {
        call_id: Some("tooluse_7".into()),
        name: None,
        items: Vec::new(),
        result: Some("high at six".into()),
        error: None,
        meta: Meta::default(),
    };
    let answered = turn.answer(vec![ToolResult::Function(result)]).unwrap();
    let reply = DIALECT.encode_results(&answered).unwrap();
    let result = &reply.items[0]["content_list"][0]["tool_results"];
    assert_eq!(result["tool_use_id"], "tooluse_7", "{reply:?}");
    assert_eq!(result["content"][0]["text"], "high at six");

    let document = json!([{"role": "user", "content": "When?"}, message, reply.items[0]]);
    let history = history_of(DIALECT, &document);
    assert_eq!(written(DIALECT, &history).0, document);
    let (other, _) = written(Dialect::AnthropicMessages, &history);
    for value in ["tool_use", "Hirtshals", "tool_result", "high at six"] {
        assert!(other.to_string().contains(value), "{value}: {other}");
    }
}
