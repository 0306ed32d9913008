//! Tests of the dialect `bedrock-agents`.

use serde_json::{Value, json};
use telechir_protocol::{
    Action, Command, CommandOutput, ComputerResult, Content, Failure, FailureKind, SafetySource,
    ShellResult, ToolResult,
};
use telechir_providers::Dialect;

use super::{PNG, history, image, read, reply};

const DIALECT: Dialect = Dialect::BedrockAgents;

fn input(function: &str, kind: &str, parameters: Value) -> Value {
    json!({"functionInvocationInput": {
        "actionGroup": format!("my_{function}"), "agentId": "AGENT12345", "function": function,
        "actionInvocationType": kind, "parameters": parameters,
    }})
}

fn string(name: &str, value: &str) -> Value {
    json!({"name": name, "type": "string", "value": value})
}

fn payload(inputs: Vec<Value>) -> Value {
    json!({"invocationId": "i-1", "invocationInputs": inputs})
}

fn click() -> Value {
    let parameters = json!([
        string("action", "left_click"),
        string("coordinate", "[500, 300]")
    ]);
    input("computer", "RESULT", parameters)
}

#[test]
fn parameters_are_decoded_but_typed_text_stays_text() {
    let typed = json!([string("action", "type"), string("text", "[1, 2]")]);
    let bash = json!([string("command", "[ -f a ]")]);
    let turn = read(
        DIALECT,
        &payload(vec![
            click(),
            input("computer", "RESULT", typed),
            input("bash", "RESULT", bash),
        ]),
    );
    let [
        Content::ComputerCall(click),
        Content::ComputerCall(typed),
        Content::ShellCall(bash),
    ] = turn.contents()
    else {
        panic!("{turn:?}")
    };
    assert!(matches!(click.actions[..], [Action::Click { .. }]));
    assert!(matches!(&typed.actions[..], [Action::Type { text, .. }] if text == "[1, 2]"));
    assert_eq!(bash.commands, [Command::Line("[ -f a ]".to_owned())]);
    let ids = [&click.call_id, &typed.call_id, &bash.call_id].map(ToString::to_string);
    assert_eq!(ids, ["i-1_1", "i-1_2", "i-1_3"]);
}

#[test]
fn a_result_is_an_image_or_text_and_repeats_its_names() {
    let bash = json!([string("command", "ls")]);
    let response = payload(vec![click(), input("bash", "RESULT", bash), click()]);
    let output = CommandOutput {
        stdout: "a\n".to_owned(),
        exit_code: Some(0),
        ..CommandOutput::default()
    };
    let failure = Failure::new(FailureKind::Device, "The device failed.");
    let results = vec![
        ToolResult::Computer(ComputerResult::ok("i-1_1", image())),
        ToolResult::Shell(ShellResult::new("i-1_2", vec![output])),
        ToolResult::Computer(ComputerResult::err("i-1_3", failure)),
    ];
    let reply = reply(DIALECT, &response, results).unwrap();
    let image = json!({"format": "png", "source": {"bytes": PNG}});
    let screenshot_result = json!({"functionResult": {
        "actionGroup": "my_computer", "agentId": "AGENT12345", "function": "computer",
        "responseBody": {"IMAGES": {"images": [image]}},
    }});
    assert_eq!(reply.items[0], screenshot_result);
    let shell = &reply.items[1]["functionResult"];
    assert_eq!(
        (&shell["actionGroup"], &shell["function"]),
        (&json!("my_bash"), &json!("bash"))
    );
    let body = shell["responseBody"]["TEXT"]["body"].as_str();
    assert!(body.unwrap().starts_with("a\n"), "{body:?}");
    let failed = json!({"functionResult": {
        "actionGroup": "my_computer", "agentId": "AGENT12345", "function": "computer",
        "responseState": "REPROMPT", "responseBody": {"TEXT": {"body": "The device failed."}},
    }});
    assert_eq!(reply.items[2], failed);
    assert!(reply.report.is_lossless(), "{:?}", reply.report);
}

#[test]
fn only_the_user_confirms() {
    let confirmation_request = payload(vec![input(
        "computer",
        "USER_CONFIRMATION_AND_RESULT",
        json!([string("action", "left_click")]),
    )]);
    let turn = read(DIALECT, &confirmation_request);
    let Content::ComputerCall(call) = &turn.contents()[0] else {
        panic!("{turn:?}")
    };
    let check = call.pending_safety_checks[0].clone();
    assert_eq!(check.source, SafetySource::Bedrock);
    let state = |result: ComputerResult| {
        let reply = reply(
            DIALECT,
            &confirmation_request,
            vec![ToolResult::Computer(result)],
        )
        .unwrap();
        let state = reply.items[0]["functionResult"].get("confirmationState");
        (state.cloned(), reply.report.losses.len())
    };
    let done = ComputerResult::ok("i-1", image());
    let confirmed = ComputerResult {
        acknowledged_safety_checks: vec![check],
        ..done.clone()
    };
    let denied = Failure::new(FailureKind::Denied, "The user said no.");
    assert_eq!(state(confirmed), (Some(json!("CONFIRM")), 0));
    assert_eq!(
        state(ComputerResult::err("i-1", denied)),
        (Some(json!("DENY")), 0)
    );
    assert_eq!(state(done), (None, 1));
}

#[test]
fn an_unanswered_approval_request_is_denied() {
    let confirmation_request = payload(vec![input("send_mail", "USER_CONFIRMATION", json!([]))]);
    let turn = read(DIALECT, &confirmation_request);
    assert!(
        matches!(turn.contents(), [Content::ApprovalRequest(_)]),
        "{turn:?}"
    );
    let reply = reply(DIALECT, &confirmation_request, Vec::new()).unwrap();
    let no = json!({"functionResult": {
        "actionGroup": "my_send_mail", "agentId": "AGENT12345", "function": "send_mail",
        "confirmationState": "DENY",
    }});
    assert_eq!((reply.items, reply.report.losses.len()), (vec![no], 1));
}

#[test]
fn a_foreign_history_becomes_requests_and_responses_and_round_trips() {
    let messages = json!([
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": [
            {"type": "text", "text": "I do."},
            {"type": "tool_use", "id": "toolu_1", "name": "left_click", "toolset_name": "computer", "input": {"coordinate": [5, 6]}},
            {"type": "tool_use", "id": "toolu_2", "name": "bash", "input": {"command": "ls"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "toolset_name": "computer", "content": [{"type": "text", "text": "Clicked."}]},
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no", "is_error": true},
        ]},
    ]);
    let read = history(Dialect::AnthropicMessages, &messages);
    let (items, report) = DIALECT.encode_history(&read).unwrap();
    assert!(report.is_lossless(), "{report:?}");
    assert_eq!(items[0], json!({"inputText": "Look."}));
    let inputs = &items[1]["completion"][1]["returnControl"]["invocationInputs"];
    let parameters = json!([string("action", "left_click"), {"name": "coordinate", "type": "array", "value": "[5,6]"}]);
    assert_eq!(
        inputs[0]["functionInvocationInput"]["parameters"],
        parameters
    );
    let results = &items[2]["sessionState"]["returnControlInvocationResults"];
    assert_eq!(results[1]["functionResult"]["responseState"], "REPROMPT");
    let again = history(DIALECT, &items);
    let ids = |history: &telechir_providers::History| {
        let contents = history
            .messages
            .iter()
            .flat_map(|message| &message.contents);
        let id = |content: &Content| match content {
            Content::ComputerCall(call) => Some(call.call_id.to_string()),
            Content::ShellResult(result) => Some(result.call_id.to_string()),
            _ => None,
        };
        contents.filter_map(id).collect::<Vec<_>>()
    };
    assert_eq!(
        (ids(&again), ids(&read)),
        (
            vec!["toolu_1".to_owned(), "toolu_2".to_owned()],
            ids(&again)
        )
    );
}

/// A request can answer only one invocation of at most five calls.
#[test]
fn a_response_with_too_many_calls_is_an_error() {
    let five = vec![click(); 5];
    let (turn, _) = DIALECT
        .decode_response(payload(five.clone()).to_string())
        .unwrap();
    assert_eq!(turn.calls().len(), 5);
    let event = json!({"returnControl": payload(five)});
    for (response, expected) in [
        (payload(vec![click(); 6]), "`invocationInputs` has 6 calls"),
        (json!({"completion": [event, event]}), "2 `returnControl`"),
    ] {
        let error = DIALECT.decode_response(response.to_string()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}
