//! The dialect `neutral`: the neutral contents as users of the decision records write them.
#![expect(clippy::expect_used, reason = "a failed setup step fails the test")]

use serde_json::{Value, json};
use telechir_protocol::{Content, ToolCall};
use telechir_providers::{Dialect, Report};

const NEUTRAL: Dialect = Dialect::Neutral;

/// The contents without the original JSON.
fn meaning(document: &Value) -> Vec<Content> {
    let (mut contents, _) = decoded(document);
    for content in &mut contents {
        content.meta_mut().expect("a known type").raw_representation = None;
    }
    contents
}

fn decoded(document: &Value) -> (Vec<Content>, Report) {
    let (history, report) = NEUTRAL
        .decode_history(document.to_string())
        .expect("a neutral document");
    let contents = history.messages.into_iter();
    (
        contents.flat_map(|message| message.contents).collect(),
        report,
    )
}

fn translated(to: Dialect, document: &Value) -> (Value, Report) {
    let (history, mut report) = NEUTRAL
        .decode_history(document.to_string())
        .expect("a neutral document");
    let (encoded, losses) = to.encode_history(&history).expect("encodes");
    report.absorb(losses);
    (encoded, report)
}

/// The call's reason for its error result.
#[track_caller]
fn exception_of(content: &Content) -> &str {
    let exception = if let Content::ComputerCall(call) = content {
        &call.exception
    } else if let Content::ShellCall(call) = content {
        &call.exception
    } else if let Content::EditCall(call) = content {
        &call.exception
    } else if let Content::FunctionCall(call) = content {
        &call.exception
    } else {
        panic!("{content:?} is not a call");
    };
    exception.as_deref().expect("an exception")
}

#[test]
fn an_invalid_content_does_not_take_the_others_with_it() {
    let zoom = json!({"type": "computer_call", "call_id": "c2", "action": "zoom"});
    let history = json!([
        {"role": "user", "contents": [{"type": "text", "text": "Look closer."}]},
        {"role": "assistant", "contents": [zoom, {"type": "text", "text": "So."}]},
    ]);
    let (contents, report) = decoded(&history);
    assert_eq!(contents.len(), 3, "{contents:?}");
    assert!(exception_of(&contents[1]).contains("`region` is missing"));
    assert!(report.is_lossless(), "{report:?}");
    let (same, _) = translated(NEUTRAL, &history);
    assert_eq!(same, history);
}

#[test]
fn every_kind_of_invalid_call_stays_a_call_with_its_reason() {
    let table = [
        (
            json!({"type": "computer_call", "call_id": "c", "actions": []}),
            "no action",
        ),
        (
            json!({"type": "computer_call", "call_id": "c", "actions": "click"}),
            "`actions`",
        ),
        (
            json!({"type": "computer_call", "call_id": "c", "actions": [7]}),
            "not an object",
        ),
        (
            json!({"type": "computer_call", "call_id": "c", "actions": [{"type": "move"}]}),
            "`coordinate` is missing",
        ),
        (
            json!({"type": "computer_call", "call_id": "c", "action": "wait", "status": 4}),
            "`status`",
        ),
        (
            json!({"type": "shell_call", "call_id": "s", "commands": "ls"}),
            "`commands`",
        ),
        (
            json!({"type": "shell_call", "call_id": "s", "commands": [1]}),
            "`commands`",
        ),
        (
            json!({"type": "shell_call", "call_id": "s", "commands": ["ls"], "timeout_ms": "soon"}),
            "`timeout_ms`",
        ),
        (
            json!({"type": "edit_call", "call_id": "e", "tool": "chisel", "operations": []}),
            "`tool`",
        ),
        (
            json!({"type": "function_call", "call_id": "f", "arguments": {}}),
            "`name`",
        ),
        (
            json!({"type": "function_call", "call_id": "f", "name": "sum", "arguments": [1, 2]}),
            "`arguments`",
        ),
    ];
    for (call, reason) in table {
        let (contents, _) = decoded(&json!([call]));
        let exception = exception_of(&contents[0]);
        let name = reason.trim_matches('`');
        assert!(
            exception.contains(name),
            "{call} has the reason {exception:?}"
        );
        let (same, _) = translated(NEUTRAL, &json!([call]));
        assert_eq!(same, json!([call]), "it is written back unchanged");
        let (turn, _) = NEUTRAL
            .decode_response(json!([call]).to_string())
            .expect("a response");
        assert_eq!(turn.calls().len(), 1, "{call} is answered");
    }
}

#[test]
fn an_invalid_result_still_answers_its_call() {
    let history = json!([
        {"type": "shell_call", "call_id": "s", "commands": ["ls"]},
        {"type": "shell_result", "call_id": "s", "outputs": "a file"},
    ]);
    let (items, report) = translated(Dialect::OpenaiResponses, &history);
    let types: Vec<&Value> = items
        .as_array()
        .expect("items")
        .iter()
        .map(|item| &item["type"])
        .collect();
    assert!(types.contains(&&json!("shell_call_output")), "{items}");
    assert!(
        report.losses.iter().any(|loss| loss.what == "shell_result"),
        "{report:?}"
    );
    assert_eq!(translated(NEUTRAL, &history).0, history);
}

#[test]
fn another_invalid_content_is_an_unknown_content_with_a_report() {
    let history =
        json!([{"role": "user", "contents": [{"type": "text", "words": "?"}, "and this"]}]);
    let (contents, report) = decoded(&history);
    assert!(matches!(&contents[0], Content::Other(other) if other.json["words"] == "?"));
    assert!(matches!(&contents[1], Content::Text(text) if text.text == "and this"));
    assert_eq!(report.losses[0].location, "[0].contents[0]");
    assert_eq!(
        translated(NEUTRAL, &history).0[0]["contents"][0],
        history[0]["contents"][0]
    );
}

#[test]
fn a_form_that_fails_gives_its_reason() {
    let table = [
        (
            json!([{"role": "robot", "contents": []}]),
            "[0]: `role` is \"robot\"",
        ),
        (json!([{"contents": []}]), "[0]: `role` is missing"),
        (json!({"messages": {}}), "`messages` is an object"),
        (
            json!({"messages": [{"role": "user", "contents": "hi"}]}),
            "`contents` is a string",
        ),
        (
            json!([{"role": "user", "content": "hi"}]),
            "has `content`, expected `contents`",
        ),
        (
            json!([{"role": "user", "contents": []}, {"type": "text", "text": "a"}]),
            "[1] has no `role`",
        ),
        (json!([{"type": "text", "text": "a"}, 5]), "[1] is a number"),
        (json!({"content": []}), "found `content`"),
        (json!(3), "found a number"),
    ];
    for (document, reason) in table {
        let error = NEUTRAL
            .decode_history(document.to_string())
            .expect_err("no form");
        assert!(error.to_string().contains(reason), "{document}: {error}");
    }
}

#[test]
fn every_form_is_written_back_as_it_was() {
    let text = json!({"type": "text", "text": "hi"});
    let message = json!({"role": "user", "contents": [text]});
    for document in [
        text.clone(),
        json!([text]),
        message.clone(),
        json!([message]),
        json!({"messages": [message], "report": []}),
        json!({"messages": [message], "response_id": "r1"}),
        json!([]),
    ] {
        let (same, report) = translated(NEUTRAL, &document);
        assert_eq!(same, document);
        assert!(report.is_lossless());
    }
}

#[test]
fn null_means_not_set() {
    let nulls = json!({"annotations": null, "additional_properties": null,
        "raw_representation": null, "unused": null});
    let contents = [
        json!({"type": "text", "text": "a"}),
        json!({"type": "text_reasoning", "text": "b"}),
        json!({"type": "data", "uri": "data:image/png;base64,AAAA"}),
        json!({"type": "uri", "uri": "https://example.com/a.png", "media_type": "image/png"}),
        json!({"type": "hosted_file", "file_id": "f"}),
        json!({"type": "function_call", "call_id": "1", "name": "n", "arguments": "{}"}),
        json!({"type": "function_result", "call_id": "1", "result": "r"}),
        json!({"type": "computer_call", "call_id": "2", "action": "click", "coordinate": [1, 2],
            "text": null, "key": null, "end_coordinate": null, "scroll_amount": null}),
        json!({"type": "computer_result", "call_id": "2", "text_output": "ok"}),
        json!({"type": "shell_call", "call_id": "3", "commands": ["ls"]}),
        json!({"type": "shell_result", "call_id": "3", "outputs": []}),
        json!({"type": "edit_call", "call_id": "4", "tool": "editor", "operations": []}),
        json!({"type": "edit_result", "call_id": "4", "text": "t"}),
        json!({"type": "command_call", "call_id": "5", "inputs": []}),
        json!({"type": "command_result", "call_id": "5", "results": []}),
        json!({"type": "usage", "input_token_count": 1}),
        json!({"type": "error", "message": "m"}),
    ];
    for content in contents {
        let mut with_nulls = content.clone();
        let members = with_nulls.as_object_mut().expect("an object");
        members.extend(nulls.as_object().cloned().expect("an object"));
        assert_eq!(meaning(&with_nulls), meaning(&content), "{content}");
        assert_eq!(translated(NEUTRAL, &with_nulls).0, with_nulls);
        let strictly = |json: &Value| serde_json::from_value::<Content>(json.clone());
        let without_unknown = with_nulls.as_object_mut().expect("an object");
        without_unknown.shift_remove("unused");
        assert!(
            strictly(&with_nulls).is_ok(),
            "{with_nulls}: {:?}",
            strictly(&with_nulls)
        );
    }
}

#[test]
fn arguments_of_an_unknown_action_belong_to_it_in_both_forms() {
    let single = json!({"type": "computer_call", "call_id": "c", "action": "rotate",
        "angle": 90, "axis": "z", "status": "completed"});
    let batch = json!({"type": "computer_call", "call_id": "c", "status": "completed",
        "actions": [{"action": "rotate", "angle": 90, "axis": "z"}]});
    assert_eq!(meaning(&single), meaning(&batch));
}

#[test]
fn an_unknown_shell_action_keeps_its_commands_everywhere() {
    let call = json!({"type": "shell_call", "call_id": "s", "action": "spawn",
        "commands": ["sleep 321", "echo 654"], "timeout_ms": 9876, "cwd": "/srv/a"});
    for dialect in Dialect::ALL
        .into_iter()
        .filter(|dialect| *dialect != Dialect::BedrockAgents)
    {
        let (document, report) = translated(dialect, &json!([call]));
        let text = document.to_string();
        for value in ["spawn", "sleep 321", "echo 654", "9876", "/srv/a"] {
            let is_reported = report.losses.iter().any(|loss| loss.what.contains(value));
            assert!(
                text.contains(value) || is_reported,
                "{dialect}: {value} is not in {text}"
            );
        }
    }
}

#[test]
fn an_unknown_member_is_written_or_reported_by_its_name() {
    let history = json!([{"role": "user", "contents": [
        {"type": "text", "text": "hi", "mood": "curious"}]}]);
    for dialect in Dialect::ALL {
        let (document, report) = translated(dialect, &history);
        let is_reported = report.losses.iter().any(|loss| loss.what.contains("mood"));
        assert!(
            document.to_string().contains("curious") != is_reported,
            "{dialect}: {report:?}"
        );
    }
}

#[test]
fn a_call_without_an_id_gets_one_and_its_result_the_same() {
    let history = json!([
        {"type": "shell_call", "call_id": null, "commands": ["ls"]},
        {"type": "computer_call", "action": "screenshot"},
        {"type": "shell_call", "call_id": "call-1", "commands": ["pwd"]},
        {"type": "shell_result", "stdout": "a\n"},
    ]);
    let (contents, report) = decoded(&history);
    let ids: Vec<String> = contents
        .iter()
        .map(|content| serde_json::to_value(content).expect("JSON")["call_id"].to_string())
        .collect();
    assert_eq!(
        ids,
        ["\"call-2\"", "\"call-3\"", "\"call-1\"", "\"call-2\""]
    );
    assert_eq!(report.losses.len(), 2);
}

#[test]
fn functions_are_left_to_the_caller_and_the_others_answered() {
    let response = json!([
        {"type": "function_call", "call_id": "f", "name": "weather", "arguments": {"city": "Oslo"}},
        {"type": "shell_call", "call_id": "s", "commands": ["ls"]},
        {"type": "function_call", "call_id": "g", "name": "sum", "arguments": 5},
    ]);
    let (turn, _) = NEUTRAL
        .decode_response(response.to_string())
        .expect("a response");
    assert_eq!((turn.calls().len(), turn.left_to_caller().len()), (3, 0));
    let turn = turn.leave_functions();
    let ids: Vec<_> = turn
        .calls()
        .iter()
        .filter_map(ToolCall::call_id)
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        ids,
        ["s", "g"],
        "an invalid call is answered with its reason"
    );
    assert_eq!(turn.left_to_caller()[0].name, "weather");
}

#[test]
fn another_dialects_document_is_not_read_as_neutral() {
    for document in [
        json!([{"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}]),
        json!([{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "bash", "input": {}}]}]),
        json!({"candidates": [{"content": {"parts": [{"functionCall": {"name": "f"}}]}}]}),
    ] {
        assert!(
            NEUTRAL.decode_response(document.to_string()).is_err(),
            "{document}"
        );
    }
}

#[test]
fn a_forced_function_could_be_structured_output() {
    let table = [
        (
            Dialect::AnthropicMessages,
            json!({"model": "m", "max_tokens": 9,
            "tool_choice": {"type": "tool", "name": "report"},
            "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": [
                {"type": "tool_use", "id": "t1", "name": "report", "input": {"a": 1}},
                {"type": "tool_use", "id": "t2", "name": "other", "input": {}}]}]}),
        ),
        (
            Dialect::BedrockConverse,
            json!({"toolConfig": {"tools": [], "toolChoice": {"tool": {"name": "report"}}},
            "messages": [{"role": "user", "content": [{"text": "a"}]}, {"role": "assistant", "content": [
                {"toolUse": {"toolUseId": "t1", "name": "report", "input": {"a": 1}}},
                {"toolUse": {"toolUseId": "t2", "name": "other", "input": {}}}]}]}),
        ),
        (
            Dialect::OpenaiResponses,
            json!({"object": "response", "status": "completed",
            "tool_choice": {"type": "function", "name": "report"}, "output": [
                {"type": "function_call", "id": "1", "call_id": "t1", "name": "report", "arguments": "{}", "status": "completed"},
                {"type": "function_call", "id": "2", "call_id": "t2", "name": "other", "arguments": "{}", "status": "completed"}]}),
        ),
    ];
    for (dialect, document) in table {
        let (history, _) = dialect
            .decode_history(document.to_string())
            .expect("decodes");
        let contents = history
            .messages
            .iter()
            .flat_map(|message| &message.contents);
        let flags: Vec<bool> = contents
            .filter_map(|content| {
                let Content::FunctionCall(call) = content else {
                    return None;
                };
                Some(call.could_be_structured_output)
            })
            .collect();
        assert_eq!(flags, [true, false], "{dialect}");
        let (same, _) = dialect.encode_history(&history).expect("encodes");
        assert_eq!(same, document, "{dialect}");
    }
}

#[test]
fn a_call_of_any_kind_may_be_executed_elsewhere() {
    for call in [
        json!({"type": "computer_call", "call_id": "c", "actions": [{"action": "screenshot"}]}),
        json!({"type": "shell_call", "call_id": "c", "commands": ["ls"]}),
        json!({"type": "edit_call", "call_id": "c", "tool": "editor", "operations": []}),
        json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": {}}),
    ] {
        let count = |call: &Value| {
            let (turn, _) = NEUTRAL
                .decode_response(call.to_string())
                .expect("a response");
            turn.calls().len()
        };
        assert_eq!(count(&call), 1, "{call}");
        let mut elsewhere = call.clone();
        elsewhere["requires_local_execution"] = false.into();
        assert_eq!(count(&elsewhere), 0, "{elsewhere}");
        let (turn, _) = NEUTRAL
            .decode_response(call.to_string())
            .expect("a response");
        let mut call = turn.calls().remove(0);
        call.set_requires_local_execution(false);
        assert!(!call.as_tool_call_like().requires_local_execution());
    }
}
