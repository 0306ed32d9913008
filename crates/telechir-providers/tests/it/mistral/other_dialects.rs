//! Histories of other providers as entries, and declarations.

use serde_json::{Value, json};
use telechir_protocol::{
    Command, CommandOutput, ComputerCall, ComputerResult, Content, HostedCall, HostedTool, Message,
    Role, ShellCall, ShellResult, ShellTool, Tool,
};
use telechir_providers::{Dialect, Envelope, History, ToolOffer};

use super::DIALECT;
use crate::functions::{history_of, image, written};

fn list(messages: Vec<Message>) -> History {
    History {
        messages,
        envelope: Envelope::List,
    }
}

fn foreign_history() -> History {
    let screenshot = telechir_protocol::Action::Screenshot;
    list(vec![
        Message::new(Role::System, vec![Content::text("Be brief.")]),
        Message::new(Role::User, vec![Content::text("Go.")]),
        Message::new(
            Role::Assistant,
            vec![
                Content::text("I go."),
                Content::ComputerCall(ComputerCall::new("toolu_01", vec![screenshot])),
                Content::ShellCall(ShellCall::execute(
                    "toolu_02",
                    vec![Command::Line("ls".to_owned())],
                )),
            ],
        ),
        Message::new(
            Role::User,
            vec![
                Content::ComputerResult(ComputerResult::ok("toolu_01", image())),
                Content::ShellResult(ShellResult::new(
                    "toolu_02",
                    vec![CommandOutput {
                        stdout: "a\n".to_owned(),
                        exit_code: Some(0),
                        ..CommandOutput::default()
                    }],
                )),
                Content::text("Go on."),
            ],
        ),
    ])
}

#[test]
fn entries_decode_to_the_same_messages() {
    let (entries, report) = written(DIALECT, &foreign_history());
    let kinds: Vec<&str> = entries
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["type"].as_str().unwrap())
        .collect();
    let expected = [
        "message.input",
        "message.input",
        "message.output",
        "function.call",
        "function.call",
        "function.result",
        "function.result",
        "message.input",
        "message.input",
    ];
    assert_eq!(kinds, expected);
    let whats: Vec<&str> = report
        .losses
        .iter()
        .map(|loss| loss.what.as_str())
        .collect();
    assert_eq!(whats, ["instructions", "id `toolu_01`", "id `toolu_02`"]);
    let (call, result) = (&entries[3]["tool_call_id"], &entries[5]["tool_call_id"]);
    assert_eq!(call, result);
    assert_eq!(call.as_str().unwrap().len(), 9);
    let read = history_of(DIALECT, &entries);
    assert_eq!(written(DIALECT, &read).0, entries);
    assert!(matches!(
        &read.messages[5].contents[0],
        Content::ComputerResult(result) if result.screenshot.is_some()
    ));
}

#[test]
fn both_mistral_dialects_decode_to_the_same_history() {
    let (entries, _) = written(DIALECT, &foreign_history());
    let read = history_of(DIALECT, &entries);
    let (messages, report) = written(Dialect::MistralChat, &read);
    assert!(report.is_lossless(), "{report:?}");
    let calls = |messages: &Value| {
        let all = messages.as_array().unwrap().iter();
        let entries = all.flat_map(|message| {
            message["tool_calls"]
                .as_array()
                .cloned()
                .unwrap_or_default()
        });
        entries.map(|entry| entry["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        calls(&messages),
        [
            entries[3]["tool_call_id"].clone(),
            entries[4]["tool_call_id"].clone()
        ]
    );
}

#[test]
fn another_providers_code_interpreter_call_is_an_execution() {
    let call = HostedCall {
        call_id: Some("ci_1".into()),
        inputs: vec![Content::text("1+1")],
        ..HostedCall::default()
    };
    let result = HostedCall {
        call_id: Some("ci_1".into()),
        results: vec![Content::text("2")],
        ..HostedCall::default()
    };
    let contents = vec![Content::CommandCall(call), Content::CommandResult(result)];
    let (entries, _) = written(
        DIALECT,
        &list(vec![Message::new(Role::Assistant, contents)]),
    );
    let expected = json!([{
        "type": "tool.execution", "name": "code_interpreter", "arguments": "{\"code\":\"1+1\"}",
        "info": {"code": "1+1", "code_output": "2"},
    }]);
    assert_eq!(entries, expected);
}

#[test]
fn hosted_tools_are_declared_by_type() {
    let settings = json!({"mistral": {"library_ids": ["l-1"]}});
    let library = HostedTool {
        hosted_type: "document_library".to_owned(),
        additional_properties: settings.as_object().unwrap().clone(),
    };
    let offer = ToolOffer {
        tools: vec![
            Tool::Shell(ShellTool::default()),
            Tool::ImageGeneration {
                additional_properties: Default::default(),
            },
            Tool::CodeInterpreter {
                additional_properties: Default::default(),
            },
            Tool::Hosted(library),
        ],
        model: None,
    };
    let (declaration, report) = DIALECT.declare(&offer).unwrap();
    assert!(report.is_lossless());
    assert_eq!(declaration.tools[0]["function"]["name"], "shell");
    assert_eq!(
        declaration.tools[1..],
        [
            json!({"type": "image_generation"}),
            json!({"type": "code_interpreter"}),
            json!({"type": "document_library", "library_ids": ["l-1"]}),
        ]
    );
    let (declaration, report) = Dialect::MistralChat.declare(&offer).unwrap();
    assert_eq!(declaration.tools.len(), 3);
    assert_eq!(report.losses[0].what, "tool `code_interpreter`");
}
