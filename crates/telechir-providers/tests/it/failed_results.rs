//! A function that failed after it returned something: its error and what it returned both reach
//! every dialect, or the report names what does not.

use serde_json::{Value, json};
use telechir_protocol::{Content, ModelTurn, ToolResult};
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
