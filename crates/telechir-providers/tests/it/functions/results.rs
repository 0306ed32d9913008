//! Results: one tool message per call, and images where the service accepts them.

use serde_json::{Value, json};
use telechir_protocol::{
    CommandOutput, ComputerResult, Content, Failure, FailureKind, FunctionResult, ShellOutcome,
    ShellResult, TabState, ToolResult,
};
use telechir_providers::Dialect;

use super::{DIALECT, IMAGE, calls, history_of, image, reply, turn_of};

fn two_calls() -> Value {
    calls(&[
        ("call_a", "computer", json!({"action": "screenshot"})),
        ("call_b", "shell", json!({"command": "false"})),
    ])
}

fn two_results() -> Vec<ToolResult> {
    let output = CommandOutput {
        stdout: "a\n".to_owned(),
        stderr: "no\n".to_owned(),
        exit_code: Some(1),
        outcome: ShellOutcome::Error,
        ..CommandOutput::default()
    };
    vec![
        ToolResult::Computer(ComputerResult::ok("call_a", image())),
        ToolResult::Shell(ShellResult::new("call_b", vec![output])),
    ]
}

#[test]
fn images_follow_the_results_in_a_user_message() {
    let reply = reply(DIALECT, &two_calls(), two_results());
    assert!(reply.report.is_lossless());
    let expected = json!([
        {"role": "tool", "tool_call_id": "call_a", "content": "Done."},
        {"role": "tool", "tool_call_id": "call_b", "content": "a\n[stderr]\nno\n[exit code 1]"},
        {"role": "user", "content": [
            {"type": "text", "text": "The image that call call_a returned:"},
            {"type": "image_url", "image_url": {"url": IMAGE}},
        ]},
    ]);
    assert_eq!(json!(reply.items), expected);
}

#[test]
fn inline_images_are_part_of_the_result() {
    let reply = reply(Dialect::FunctionsInline, &two_calls(), two_results());
    let content = json!([
        {"type": "text", "text": "Done."},
        {"type": "image_url", "image_url": {"url": IMAGE}},
    ]);
    assert_eq!(
        reply.items[0],
        json!({"role": "tool", "tool_call_id": "call_a", "content": content})
    );
    assert_eq!(reply.items.len(), 2);
}

/// Written results are read back unchanged in both forms.
#[test]
fn results_are_read_back_unchanged() {
    let denied = Failure::new(FailureKind::Denied, "The policy denies\nthis \"click\".");
    let tab = TabState {
        tab_id: "1".to_owned(),
        title: "A page".to_owned(),
        url: "https://example.com/".to_owned(),
        active: true,
    };
    let results = [
        ComputerResult::new("call_a"),
        ComputerResult::ok("call_a", image()),
        ComputerResult::with_text("call_a", image(), "two\n\nparagraphs"),
        ComputerResult::with_text("call_a", image(), "Done."),
        ComputerResult::with_text("call_a", image(), "Error: as a page says"),
        ComputerResult::with_text("call_a", image(), "page: 3\n\nof 4"),
        ComputerResult::err("call_a", denied.clone()),
        ComputerResult {
            error: Some(denied),
            text_output: Some("and words".to_owned()),
            current_url: Some("https://example.com/".to_owned()),
            tabs: vec![tab],
            screenshot: Some(image()),
            ..ComputerResult::new("call_a")
        },
    ];
    let document = calls(&[("call_a", "computer", json!({"action": "screenshot"}))]);
    for dialect in [DIALECT, Dialect::FunctionsInline, Dialect::MistralChat] {
        for result in &results {
            let answered = vec![ToolResult::Computer(result.clone())];
            let reply = reply(dialect, &document, answered);
            let mut messages = vec![document["choices"][0]["message"].clone()];
            messages.extend(reply.items);
            let read = history_of(dialect, &json!(messages));
            assert_eq!(read.messages.len(), 2, "{messages:?}");
            let Content::ComputerResult(back) = &read.messages[1].contents[0] else {
                panic!("no result")
            };
            let mut expected = result.clone();
            expected.group = Some("computer".to_owned());
            expected.meta = back.meta.clone();
            assert_eq!(*back, expected, "{dialect}");
        }
    }
}

#[test]
fn a_failed_function_result_starts_with_the_error() {
    let result = FunctionResult {
        call_id: Some("call_a".into()),
        name: None,
        items: Vec::new(),
        result: None,
        error: Some(Failure::new(
            FailureKind::Unsupported,
            "There is no such tool.",
        )),
        meta: Default::default(),
    };
    let document = calls(&[("call_a", "weather", json!({}))]);
    let reply = reply(DIALECT, &document, vec![ToolResult::Function(result)]);
    assert_eq!(
        reply.items[0]["content"],
        "Error (unsupported): There is no such tool."
    );
}

#[test]
fn a_call_without_an_id_is_answered_without_one() {
    let message = json!({"role": "assistant", "tool_calls": [
        {"type": "function", "function": {"name": "shell", "arguments": "{\"command\":\"ls\"}"}},
    ]});
    let document = super::response(&message, "tool_calls");
    let turn = turn_of(DIALECT, &document);
    let id = turn.calls()[0].call_id().unwrap().clone();
    let result = ToolResult::Shell(ShellResult::new(id, vec![CommandOutput::default()]));
    let reply = reply(DIALECT, &document, vec![result]);
    assert_eq!(reply.items[0].get("tool_call_id"), None);
    assert_eq!(reply.items[0]["name"], "shell");
}

#[test]
fn a_legacy_call_is_answered_with_the_legacy_role() {
    let message = json!({"role": "assistant", "content": null,
        "function_call": {"name": "shell", "arguments": "{\"command\":\"ls\"}"}});
    let document = super::response(&message, "function_call");
    let id = turn_of(DIALECT, &document).calls()[0]
        .call_id()
        .unwrap()
        .clone();
    let result = ToolResult::Shell(ShellResult::new(id, vec![CommandOutput::default()]));
    let reply = reply(DIALECT, &document, vec![result]);
    let (role, name) = (&reply.items[0]["role"], &reply.items[0]["name"]);
    assert_eq!((role, name), (&json!("function"), &json!("shell")));
}

#[test]
fn an_error_of_several_lines_reaches_the_model_as_lines_and_is_read_back() {
    for message in [
        "The build failed:\nline 3: missing `;`\n\nline 9: unused",
        "\"look\" is not a tool of this session.",
        "\"a JSON string\"",
        "  indented\n",
        "",
    ] {
        let failure = Failure::new(FailureKind::Unsupported, message);
        let result = ToolResult::Function(FunctionResult {
            call_id: Some("call_a".into()),
            name: None,
            items: Vec::new(),
            result: Some("What was built.".into()),
            error: Some(failure.clone()),
            meta: Default::default(),
        });
        let document = calls(&[("call_a", "build", json!({}))]);
        let reply = reply(DIALECT, &document, vec![result]);
        let text = reply.items[0]["content"].as_str().unwrap();
        assert!(!text.contains("\\n"), "{text}");
        let call = document["choices"][0]["message"].clone();
        let read = history_of(DIALECT, &json!([call, reply.items[0]]));
        let Content::FunctionResult(back) = &read.messages[1].contents[0] else {
            panic!("no function result")
        };
        assert_eq!(back.error.as_ref(), Some(&failure), "{text}");
        assert_eq!(back.result, Some("What was built.".into()), "{text}");
    }
}
