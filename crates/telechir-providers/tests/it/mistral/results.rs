//! Results as entries, and calls that wait for the user's confirmation.

use serde_json::{Value, json};
use telechir_protocol::{ComputerResult, Content, Failure, FailureKind, ShellResult, ToolResult};

use super::DIALECT;
use crate::documents::document;
use crate::functions::{IMAGE, history_of, image, reply, turn_of, written};

#[test]
fn a_result_is_text_and_its_image_a_user_entry() {
    let response = document("mistral", "response__our_tools.json");
    let denied = Failure::new(FailureKind::Denied, "The policy denies this.");
    let shell = ShellResult {
        error: Some(denied),
        ..ShellResult::new("bB3dE5fG7", Vec::new())
    };
    let results = vec![
        ToolResult::Computer(ComputerResult::ok("aB3dE5fG7", image())),
        ToolResult::Shell(shell),
    ];
    let reply = reply(DIALECT, &response, results);
    assert!(reply.report.is_lossless());
    let expected = json!([
        {"type": "function.result", "tool_call_id": "aB3dE5fG7", "result": "Done."},
        {"type": "function.result", "tool_call_id": "bB3dE5fG7",
            "result": "The policy denies this.\n[failed: denied]"},
        {"type": "message.input", "role": "user", "content": [
            {"type": "text", "text": "The image that call aB3dE5fG7 returned:"},
            {"type": "image_url", "image_url": IMAGE},
        ]},
    ]);
    assert_eq!(json!(reply.items), expected);
    let mut entries = response["outputs"].as_array().unwrap().clone();
    entries.extend(reply.items);
    let read = history_of(DIALECT, &json!(entries));
    let Content::ComputerResult(result) = &read.messages[3].contents[0] else {
        panic!("no result")
    };
    assert!(result.screenshot.is_some());
    assert_eq!(read.messages.len(), 5);
}

#[test]
fn a_connector_call_is_an_approval_request() {
    let turn = turn_of(
        DIALECT,
        &document("mistral", "conv_response__confirmation_pending.json"),
    );
    assert_eq!(turn.calls(), []);
    let Content::ApprovalRequest(request) = &turn.contents()[0] else {
        panic!("no question")
    };
    let Content::FunctionCall(call) = request.call.as_ref() else {
        panic!("no call")
    };
    assert_eq!(
        (request.id.as_str(), call.name.as_str()),
        ("WJfo42Ow3", "gmail_search")
    );
    let answered = turn_of(
        DIALECT,
        &document("mistral", "response__connector_allowed.json"),
    );
    assert_eq!(answered.calls(), []);
}

#[test]
fn the_users_decision_is_part_of_the_request() {
    let request = document("mistral", "request__confirmations.json");
    let mut read = history_of(DIALECT, &request);
    let Content::ApprovalResponse(answer) = &mut read.messages[1].contents[0] else {
        panic!("no approval response")
    };
    assert!(!answer.approved);
    answer.approved = true;
    let (again, report) = written(DIALECT, &read);
    assert!(report.is_lossless());
    assert_eq!(again["tool_confirmations"][1]["confirmation"], "allow");
    read.envelope = telechir_providers::Envelope::List;
    let (_, report) = written(DIALECT, &read);
    assert_eq!(report.losses.len(), 2, "{report:?}");
}

#[test]
fn only_allow_is_an_approval() {
    for value in ["Allow", "yes", ""] {
        let request = json!({"tool_confirmations": [{"tool_call_id": "a", "confirmation": value}]});
        let read = history_of(DIALECT, &request);
        let Content::ApprovalResponse(answer) = &read.messages[0].contents[0] else {
            panic!("no approval response")
        };
        assert!(!answer.approved, "{value}");
    }
}

#[test]
fn new_messages_extend_a_request_with_string_input() {
    let request = document("mistral", "conv_request__string_input.json");
    let mut read = history_of(DIALECT, &request);
    let text = Content::text("And count them.");
    read.messages.push(telechir_protocol::Message::new(
        telechir_protocol::Role::User,
        vec![text],
    ));
    let (again, _) = written(DIALECT, &read);
    let inputs: Vec<&Value> = again["inputs"].as_array().unwrap().iter().collect();
    assert_eq!(
        inputs,
        [
            &json!({"type": "message.input", "role": "user", "content": "List the files."}),
            &json!({"type": "message.input", "role": "user", "content": "And count them."}),
        ]
    );
}
