//! Histories of other providers, written as messages and read back.

use serde_json::{Value, json};
use telechir_protocol::{
    Action, Command, CommandOutput, ComputerCall, ComputerResult, Content, FunctionCall,
    HostedCall, Message, ReasoningContent, Role, ShellAction, ShellCall, ShellResult,
};
use telechir_providers::{Dialect, Envelope, History};

use super::{DIALECT, history_of, image, written};

fn list(messages: Vec<Message>) -> History {
    History {
        messages,
        envelope: Envelope::List,
    }
}

fn assistant(contents: Vec<Content>) -> Message {
    Message::new(Role::Assistant, contents)
}

fn user(contents: Vec<Content>) -> Message {
    Message::new(Role::User, contents)
}

fn roles(items: &Value) -> Vec<&str> {
    let items = items.as_array().unwrap().iter();
    items.map(|item| item["role"].as_str().unwrap()).collect()
}

/// A history as another provider would have it: a batch, several commands, keys for a shell.
fn foreign_history() -> Vec<Message> {
    let click: Action = serde_json::from_value(
        json!({"action": "click", "coordinate": [3, 4], "modifiers": ["ctrl"]}),
    )
    .unwrap();
    let batch = ComputerCall::new("toolu_01ABCDEF", vec![click, Action::Screenshot]);
    let lines = ["cd /tmp", "pwd"].map(|line| Command::Line(line.to_owned()));
    let shell = ShellCall::execute("call_2", lines.to_vec());
    let restart = ShellCall {
        action: ShellAction::Restart,
        ..ShellCall::execute("call_3", Vec::new())
    };
    let output = |stdout: &str| CommandOutput {
        stdout: stdout.to_owned(),
        exit_code: Some(0),
        ..CommandOutput::default()
    };
    vec![
        user(vec![Content::text("Go."), Content::from(image())]),
        assistant(vec![
            Content::text("I go."),
            Content::ComputerCall(batch),
            Content::ShellCall(shell),
            Content::ShellCall(restart),
        ]),
        user(vec![
            Content::ComputerResult(ComputerResult::ok("toolu_01ABCDEF", image())),
            Content::ShellResult(ShellResult::new(
                "call_2",
                vec![output(""), output("/tmp\n")],
            )),
            Content::ShellResult(ShellResult::new("call_3", vec![output("restarted")])),
            Content::text("Go on."),
        ]),
        assistant(vec![Content::text("Yes.")]),
    ]
}

#[test]
fn results_follow_their_calls_and_text_follows_the_images() {
    let (items, report) = written(DIALECT, &list(foreign_history()));
    assert!(report.is_lossless(), "{report:?}");
    let expected = [
        "user",
        "assistant",
        "tool",
        "tool",
        "tool",
        "user",
        "user",
        "assistant",
    ];
    assert_eq!(roles(&items), expected);
    assert_eq!(items[6]["content"], "Go on.");
}

#[test]
fn written_calls_and_results_are_read_back_unchanged() {
    for dialect in [DIALECT, Dialect::FunctionsInline] {
        let (items, _) = written(dialect, &list(foreign_history()));
        let read = history_of(dialect, &items);
        let contents = |messages: &[Message]| {
            let all = messages.iter().flat_map(|message| message.contents.clone());
            let mut all: Vec<Content> = all.collect();
            for content in &mut all {
                if let Some(meta) = content.meta_mut() {
                    *meta = Default::default();
                }
                if let Content::ComputerCall(call) = content {
                    call.group = None;
                } else if let Content::ComputerResult(result) = content {
                    result.group = None;
                }
            }
            all
        };
        assert_eq!(
            contents(&read.messages),
            contents(&foreign_history()),
            "{dialect}"
        );
    }
}

#[test]
fn mistral_gets_valid_ids_and_a_message_between_tool_and_user() {
    let (items, report) = written(Dialect::MistralChat, &list(foreign_history()));
    let expected = [
        "user",
        "assistant",
        "tool",
        "tool",
        "tool",
        "assistant",
        "user",
        "user",
        "assistant",
    ];
    assert_eq!(roles(&items), expected);
    let calls = items[1]["tool_calls"].as_array().unwrap();
    for (call, result) in calls.iter().zip(&items.as_array().unwrap()[2..5]) {
        let id = call["id"].as_str().unwrap();
        assert_eq!(id.len(), 9, "{id}");
        assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        assert_eq!(result["tool_call_id"], id);
        assert_eq!(result["name"], call["function"]["name"]);
    }
    assert_eq!(report.losses.len(), 3, "{report:?}");
    assert!(
        report
            .losses
            .iter()
            .all(|loss| loss.what.starts_with("id `"))
    );
    // Remove the messages that the writer inserted.
    let read = history_of(Dialect::MistralChat, &items);
    assert_eq!(written(Dialect::MistralChat, &read).0, items);
    assert_eq!(read.messages.len(), 7);
}

#[test]
fn an_unanswered_call_gets_a_result_before_the_next_message() {
    let messages = vec![
        user(vec![Content::text("Go.")]),
        assistant(vec![Content::ShellCall(ShellCall::execute(
            "call_1",
            vec![Command::Line("ls".to_owned())],
        ))]),
        user(vec![Content::text("Stop.")]),
    ];
    let (items, report) = written(DIALECT, &list(messages));
    assert_eq!(roles(&items), ["user", "assistant", "tool", "user"]);
    assert_eq!(report.losses[0].what, "the absence of a result");
}

#[test]
fn a_late_result_becomes_a_user_message() {
    let result = ShellResult::new("call_1", vec![CommandOutput::default()]);
    let messages = vec![
        assistant(vec![Content::ShellCall(ShellCall::execute(
            "call_1",
            vec![Command::Line("ls".to_owned())],
        ))]),
        user(vec![Content::text("Well?")]),
        user(vec![Content::ShellResult(result)]),
    ];
    let (items, report) = written(DIALECT, &list(messages));
    assert_eq!(roles(&items), ["assistant", "tool", "user", "user"]);
    assert_eq!(report.losses.len(), 2);
}

#[test]
fn losses_of_function_calls_are_reported() {
    let thought = ReasoningContent {
        text: Some("Hm.".to_owned()),
        ..ReasoningContent::default()
    };
    let hosted = HostedCall {
        inputs: vec![Content::text("1+1")],
        ..HostedCall::default()
    };
    let mut searched = FunctionCall::new(
        "web_search",
        telechir_protocol::Arguments::Text("{}".to_owned()),
    );
    searched.call_id = Some("x".into());
    searched.requires_local_execution = false;
    let messages = vec![assistant(vec![
        Content::Reasoning(thought),
        Content::CommandCall(hosted),
        Content::FunctionCall(searched),
    ])];
    let (items, report) = written(DIALECT, &list(messages));
    let whats: Vec<&str> = report
        .losses
        .iter()
        .map(|loss| loss.what.as_str())
        .collect();
    let expected = [
        "thinking",
        "command_call",
        "the call of `web_search`",
        "fields `call_id` x",
    ];
    assert_eq!(whats, expected);
    let texts = ["[command_call] 1+1", "[web_search]"];
    let parts = texts.map(|text| json!({"type": "text", "text": text}));
    assert_eq!(items[0]["content"], json!(parts));
}

#[test]
fn an_edited_text_overrides_the_raw_json() {
    let mut read = history_of(
        DIALECT,
        &json!([{"role": "assistant", "content": "One.", "mood": "calm"}]),
    );
    read.messages[0].contents = vec![Content::text("Two.")];
    let (items, _) = written(DIALECT, &read);
    assert_eq!(
        items,
        json!([{"role": "assistant", "content": "Two.", "mood": "calm"}])
    );
}

#[test]
fn an_overlong_id_is_replaced_in_call_and_result() {
    let id = "x".repeat(64);
    let line = vec![Command::Line("ls".to_owned())];
    let output = vec![CommandOutput::default()];
    let messages = vec![
        assistant(vec![Content::ShellCall(ShellCall::execute(
            id.as_str(),
            line,
        ))]),
        user(vec![Content::ShellResult(ShellResult::new(
            id.as_str(),
            output,
        ))]),
    ];
    let (items, report) = written(DIALECT, &list(messages));
    let sent = &items[0]["tool_calls"][0]["id"];
    assert!(sent.as_str().unwrap().len() <= 40);
    assert_eq!(items[1]["tool_call_id"], *sent);
    assert_eq!(report.losses.len(), 1);
}

/// A message of the model with an image and calls: the image follows the results as a message of
/// the user, because a call is answered right after its message.
#[test]
fn an_image_of_the_model_does_not_separate_its_calls_from_their_results() {
    let image = json!({"image": {"format": "png", "source": {"bytes": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}});
    let call = |id: &str| json!({"toolUse": {"toolUseId": id, "name": "look_up", "input": {}}});
    let result = |id: &str| json!({"toolResult": {"toolUseId": id, "content": [{"text": format!("found {id}")}]}});
    let history = json!([
        {"role": "user", "content": [{"text": "Look."}]},
        {"role": "assistant", "content": [image, call("call00001"), call("call00002")]},
        {"role": "user", "content": [result("call00001"), result("call00002"), {"text": "Go on."}]},
    ]);
    let (read, _) = Dialect::BedrockConverse
        .decode_history(history.to_string())
        .unwrap();
    for to in [
        Dialect::Functions,
        Dialect::FunctionsInline,
        Dialect::MistralChat,
    ] {
        let (written, report) = to.encode_history(&read).unwrap();
        let roles: Vec<&str> = written
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|message| message["role"].as_str())
            .collect();
        let start = ["user", "assistant", "tool", "tool"];
        assert_eq!(roles[..4], start, "{to}: {written}");
        let results: Vec<&Value> = (2..4).map(|at| &written[at]["content"]).collect();
        assert_eq!(results, ["found call00001", "found call00002"], "{to}");
        let image = written.to_string().matches("iVBORw0KGgo").count();
        assert_eq!(image, 1, "{to}: {written}");
        let made_up = |loss: &&telechir_providers::Loss| loss.what.contains("result");
        assert_eq!(report.losses.iter().find(made_up), None, "{to}");
    }
}
