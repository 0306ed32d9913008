//! A function that failed after it returned something: its error and what it returned both reach
//! every dialect, or the report names what does not.

use serde_json::{Value, json};
use telechir_protocol::{CommandOutput, Content, ModelTurn, ShellOutcome, ToolResult};
use telechir_providers::{Dialect, Envelope, History, Report};

const ERROR: &str = "The disk is full.";

/// What the function returned, and a text of it.
fn returned() -> [(Value, &'static str); 4] {
    let text = json!([{"type": "text", "text": "rows_1_to_3.csv"}]);
    let both = json!({"result": {"rows": "three of five"}, "items": text});
    [
        (json!({"result": "three of five"}), "three of five"),
        (
            json!({"result": {"rows": "three of five"}}),
            "three of five",
        ),
        (json!({"items": text}), "rows_1_to_3.csv"),
        (both, "rows_1_to_3.csv"),
    ]
}

fn call() -> Value {
    json!({"type": "function_call", "call_id": "call_7", "name": "export", "arguments": {"table": "t"}})
}

fn result(returned: &Value) -> Value {
    let mut result = json!({
        "type": "function_result", "call_id": "call_7", "name": "export",
        "error": {"kind": "device", "message": ERROR},
    });
    let members = returned.as_object().unwrap().clone();
    result.as_object_mut().unwrap().extend(members);
    result
}

fn arrives(dialect: Dialect, written: &Value, report: &Report, text: &str) {
    let written = written.to_string();
    assert!(written.contains(ERROR), "{dialect}: {written}");
    let named = report.losses.iter().any(|loss| loss.what.contains("csv"));
    let arrived = written.contains(text);
    assert!(
        arrived || named,
        "{dialect}: {text} in {written}, {report:?}"
    );
}

#[test]
fn a_history_keeps_the_error_and_what_the_function_returned() {
    for (returned, text) in returned() {
        let messages = json!([
            {"role": "user", "contents": [{"type": "text", "text": "Export it."}]},
            {"role": "assistant", "contents": [call()]},
            {"role": "tool", "contents": [result(&returned)]},
        ]);
        let history = History {
            messages: serde_json::from_value(messages).unwrap(),
            envelope: Envelope::List,
        };
        for dialect in Dialect::ALL {
            let (written, report) = dialect.encode_history(&history).unwrap();
            arrives(dialect, &written, &report, text);
            if returned.get("result").is_some() {
                assert!(written.to_string().contains("three of five"), "{dialect}");
            }
        }
    }
}

#[test]
fn a_reply_keeps_the_error_and_what_the_function_returned() {
    for (returned, text) in returned() {
        let call: Content = serde_json::from_value(call()).unwrap();
        let Content::FunctionResult(result) = serde_json::from_value(result(&returned)).unwrap()
        else {
            panic!("a function's result");
        };
        let turn = ModelTurn::new(vec![call]).unwrap();
        let answered = turn.answer(vec![ToolResult::Function(result)]).unwrap();
        for dialect in Dialect::ALL {
            let reply = dialect.encode_results(&answered).unwrap();
            arrives(dialect, &json!(reply.items), &reply.report, text);
        }
    }
}

#[test]
fn a_value_beside_contents_reaches_anthropic() {
    let (returned, _) = returned()[3].clone();
    let mut result = result(&returned);
    result.as_object_mut().unwrap().shift_remove("error");
    let messages = json!([
        {"role": "user", "contents": [{"type": "text", "text": "Export it."}]},
        {"role": "assistant", "contents": [call()]},
        {"role": "tool", "contents": [result]},
    ]);
    let history = History {
        messages: serde_json::from_value(messages).unwrap(),
        envelope: Envelope::List,
    };
    let (written, _) = Dialect::AnthropicMessages.encode_history(&history).unwrap();
    let content = &written[2]["content"][0]["content"];
    let texts: Vec<&str> = content
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|block| block["text"].as_str())
        .collect();
    assert_eq!(texts, [r#"{"rows":"three of five"}"#, "rows_1_to_3.csv"]);
}

/// The text of the command does not say that it failed.
#[test]
fn a_failed_command_of_another_program_stays_failed_everywhere() {
    let messages = |is_error: bool| {
        json!([
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "tides"}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": is_error, "content": "High at six."}]},
        ])
    };
    let from = Dialect::AnthropicMessages;
    let is_failed = |contents: &[Content]| {
        contents.iter().any(|content| {
            if let Content::ShellResult(result) = content {
                let failed = |output: &CommandOutput| output.outcome == ShellOutcome::Error;
                result.error.is_some() || result.outputs.iter().any(failed)
            } else if let Content::FunctionResult(result) = content {
                result.error.is_some()
            } else {
                false
            }
        })
    };
    for to in Dialect::ALL.into_iter().filter(|to| *to != from) {
        for is_error in [true, false] {
            let (history, _) = from.decode_history(messages(is_error).to_string()).unwrap();
            let (written, _) = to.encode_history(&history).unwrap();
            let (again, _) = to.decode_history(written.to_string()).unwrap();
            let contents: Vec<Content> = again
                .messages
                .into_iter()
                .flat_map(|message| message.contents)
                .collect();
            assert_eq!(is_failed(&contents), is_error, "{to}: {written}");
            assert!(
                written.to_string().contains("High at six."),
                "{to}: {written}"
            );
        }
    }
}
