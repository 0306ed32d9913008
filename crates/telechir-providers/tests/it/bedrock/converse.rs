//! Tests of the dialect `bedrock-converse`.

use serde_json::{Value, json};
use telechir_protocol::{
    Action, CommandOutput, ComputerResult, Content, Failure, FailureKind, ShellResult, ToolResult,
};
use telechir_providers::Dialect;

use super::{PNG, converse, image, read, reply};

const DIALECT: Dialect = Dialect::BedrockConverse;

fn call(id: &str, name: &str, input: Value) -> Value {
    json!({"toolUse": {"toolUseId": id, "name": name, "input": input}})
}

#[test]
fn a_computer_call_gets_an_image_result() {
    let input = json!({"action": "left_click", "coordinate": [512, 384]});
    let response = converse(&json!([{"text": "I click."}, call("tooluse_1", "computer", input)]));
    let turn = read(DIALECT, &response);
    let [
        Content::Text(_),
        Content::ComputerCall(computer_call),
        Content::Usage(usage),
    ] = turn.contents()
    else {
        panic!("{turn:?}")
    };
    assert!(matches!(computer_call.actions[..], [Action::Click { .. }]));
    assert_eq!(usage.total_token_count, Some(19));
    let result = ToolResult::Computer(ComputerResult::ok("tooluse_1", image()));
    let reply = reply(DIALECT, &response, vec![result]).unwrap();
    let image = json!({"image": {"format": "png", "source": {"bytes": PNG}}});
    let expected = json!({"toolResult": {"toolUseId": "tooluse_1", "content": [image]}});
    assert_eq!((reply.items, reply.report.losses), (vec![expected], vec![]));
}

#[test]
fn failures_and_shell_results_have_their_own_format() {
    let response = converse(&json!([
        call("a", "computer", json!({"action": "key", "text": "Return"})),
        call("b", "bash", json!({"command": "false"})),
    ]));
    let denied = Failure::new(FailureKind::Denied, "The user said no.");
    let output = CommandOutput {
        stdout: "x\n".to_owned(),
        ..CommandOutput::default()
    };
    let results = vec![
        ToolResult::Computer(ComputerResult::err("a", denied)),
        ToolResult::Shell(ShellResult::new("b", vec![output])),
    ];
    let reply = reply(DIALECT, &response, results).unwrap();
    let refused = json!({"toolResult": {"toolUseId": "a", "content": [{"text": "The user said no."}], "status": "error"}});
    assert_eq!(reply.items[0], refused);
    assert_eq!(reply.items[1]["toolResult"]["toolUseId"], "b");
    let text = reply.items[1]["toolResult"]["content"][0]["text"].as_str();
    assert!(text.unwrap().starts_with("x\n"), "{text:?}");
}
