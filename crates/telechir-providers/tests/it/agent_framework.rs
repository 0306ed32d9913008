//! Agent Framework: every neutral content survives a round trip through it.

mod functions;
mod without_raw;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use telechir_protocol::{
    ComputerResult, Content, Failure, FailureKind, Message, Role, ShellResult, ToolResult,
};
use telechir_providers::conform::Manifest;
use telechir_providers::{Dialect, Envelope, History, Loss};

const DIALECT: Dialect = Dialect::AgentFramework;

fn read(document: &Value) -> History {
    DIALECT
        .decode_history(document.to_string().as_bytes())
        .unwrap()
        .0
}

fn written(messages: Vec<Message>) -> (Value, Vec<Loss>) {
    let envelope = Envelope::List;
    let (value, report) = DIALECT
        .encode_history(&History { messages, envelope })
        .unwrap();
    (value, report.losses)
}

fn through(messages: Vec<Message>) -> Vec<Message> {
    read(&written(messages).0).messages
}

/// Every history in the vectors of the other dialects, with its file.
fn histories() -> Vec<(PathBuf, Dialect, History)> {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let mut found = Vec::new();
    for folder in fs::read_dir(vectors)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        let manifest = ["manifest.json", "index.json"]
            .iter()
            .find_map(|name| fs::read(folder.join(name)).ok())
            .unwrap();
        for vector in Manifest::read(&manifest, None).unwrap().vectors {
            let file = folder.join(&vector.file);
            let dialect = vector.dialect.unwrap();
            let bytes = fs::read(&file).unwrap();
            if let Ok((history, _)) = dialect.decode_history(&bytes) {
                found.push((file, dialect, history));
            }
        }
    }
    assert!(found.len() > 50, "{}", found.len());
    found
}

#[test]
fn histories_of_every_dialect_survive_a_round_trip() {
    for (file, dialect, history) in histories() {
        if dialect != DIALECT {
            let back = through(history.messages.clone());
            assert_eq!(back, history.messages, "{}", file.display());
        }
    }
}

#[test]
fn reports_no_loss_for_values_that_the_framework_has_fields_for() {
    let history = json!([{"type": "message", "role": "assistant", "contents": [
        {"type": "computer_tool_call", "id": "cu_1", "call_id": "c", "actions": [{"type": "screenshot"}], "additional_properties": {}},
        {"type": "shell_tool_call", "call_id": "d", "commands": ["ls"], "additional_properties": {}},
    ], "additional_properties": {}}]);
    let mut messages = read(&history).messages;
    messages[0].meta.raw_representation = None;
    for content in &mut messages[0].contents {
        content.meta_mut().unwrap().raw_representation = None;
    }
    assert_eq!(written(messages), (history, Vec::new()));
}

#[test]
fn keeps_values_without_a_field_in_the_sidecar() {
    let call = json!({"type": "computer_call", "call_id": "c", "group": "computer", "intent": "look",
        "actions": [{"action": "zoom", "region": [0, 0, 10, 10]}]});
    let messages = vec![Message::new(
        Role::Assistant,
        vec![serde_json::from_value(call).unwrap()],
    )];
    let (value, losses) = written(messages.clone());
    assert_eq!(losses, []);
    let action = &value[0]["contents"][0]["actions"][0];
    assert_eq!(action["action"], "zoom", "{value}");
    assert_eq!(read(&value).messages, messages);
}

#[test]
fn a_changed_field_takes_precedence_over_the_sidecar() {
    let call = json!({"type": "shell_call", "call_id": "c", "commands": ["ls"], "cwd": "/tmp"});
    let content: Content = serde_json::from_value(call).unwrap();
    let (mut value, _) = written(vec![Message::new(Role::Assistant, vec![content])]);
    value[0]["contents"][0]["commands"] = json!(["pwd"]);
    let (history, report) = DIALECT
        .decode_history(value.to_string().as_bytes())
        .unwrap();
    let Content::ShellCall(call) = &history.messages[0].contents[0] else {
        panic!("{history:?}")
    };
    assert_eq!(call.commands[0].to_line(), "pwd");
    assert_eq!(call.cwd, None);
    assert_eq!(report.losses.len(), 1);
}

#[test]
fn a_changed_neutral_value_takes_precedence_over_the_original_json() {
    let history = json!([{"type": "message", "role": "user", "contents": [
        {"type": "text", "text": "before", "additional_properties": {}}], "additional_properties": {}}]);
    let mut messages = read(&history).messages;
    let Content::Text(text) = &mut messages[0].contents[0] else {
        panic!("no text")
    };
    text.text = "after".to_owned();
    assert_eq!(written(messages).0[0]["contents"][0]["text"], "after");
}

/// The framework has no field for a failed computer call, so a text repeats the failure for the
/// model. Decoding drops that text.
#[test]
fn a_failure_is_written_as_text_and_decoded_once() {
    let failure = Failure::new(FailureKind::Denied, "The policy forbids it.");
    let results = vec![
        Content::ComputerResult(ComputerResult::err("c", failure.clone())),
        Content::ShellResult(ShellResult {
            error: Some(failure),
            ..ShellResult::new("d", Vec::new())
        }),
    ];
    let messages = vec![Message::new(Role::User, results)];
    let (value, _) = written(messages.clone());
    let contents = value[0]["contents"].as_array().unwrap();
    assert_eq!(value[0]["role"], "tool");
    assert_eq!(contents[1]["text"], "The policy forbids it.");
    assert_eq!(
        contents[2]["outputs"][0]["stderr"],
        "The policy forbids it."
    );
    assert_eq!(through(messages.clone()), messages);
}

#[test]
fn keeps_results_in_a_user_message() {
    let history = json!([{"type": "message", "role": "user", "contents": [
        {"type": "shell_tool_result", "call_id": "d", "outputs": [], "additional_properties": {}},
    ], "additional_properties": {}}]);
    assert_eq!(written(read(&history).messages).0, history);
}

#[test]
fn encodes_results_as_one_tool_message() {
    let response = json!({"type": "message", "role": "assistant", "contents": [
        {"type": "shell_tool_call", "call_id": "d", "commands": ["ls"], "additional_properties": {}}]});
    let (turn, _) = DIALECT
        .decode_response(response.to_string().as_bytes())
        .unwrap();
    let answered = turn
        .answer(vec![ToolResult::Shell(ShellResult::new("d", Vec::new()))])
        .unwrap();
    let reply = DIALECT.encode_results(&answered).unwrap();
    assert_eq!(reply.items.len(), 1);
    assert_eq!(reply.items[0]["role"], "tool");
    assert_eq!(reply.items[0]["contents"][0]["call_id"], "d");
}

/// An image is stored once in the framework's field, even if the sidecar refers to it several
/// times.
#[test]
fn stores_an_image_only_once() {
    let image = "iVBORw0KGgo".repeat(1_000);
    let history = json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "screenshot", "toolset_name": "computer", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "toolset_name": "computer", "content": [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": image}}]}]},
    ]);
    let read = Dialect::AnthropicMessages.decode_history(history.to_string().as_bytes());
    let (value, _) = written(read.unwrap().0.messages);
    let length = value.to_string().len();
    assert!(length < history.to_string().len() * 5 / 4, "{length}");
}

#[test]
fn members_around_another_dialect_s_messages_become_instructions_or_are_reported() {
    let request = json!({
        "model": "m", "max_tokens": 9, "system": [{"type": "text", "text": "Be brief."}],
        "messages": [{"role": "user", "content": "Go."}],
    });
    let (read, _) = Dialect::AnthropicMessages
        .decode_history(request.to_string())
        .unwrap();
    let (document, report) = Dialect::AgentFramework.encode_history(&read).unwrap();
    assert!(document.to_string().contains("Be brief."), "{document}");
    let lost: Vec<&str> = report
        .losses
        .iter()
        .filter(|loss| loss.preserved_as.is_none())
        .map(|loss| loss.location.as_str())
        .collect();
    assert_eq!(lost, ["/model", "/max_tokens"]);
}

#[test]
fn fields_of_a_message_are_reported_elsewhere() {
    let message = json!({
        "type": "message", "role": "user", "author_name": "ada", "message_id": "m_7",
        "contents": [{"type": "text", "text": "Go.", "additional_properties": {}}],
        "additional_properties": {"origin": "form"},
    });
    let (read, _) = Dialect::AgentFramework
        .decode_history(json!([message]).to_string())
        .unwrap();
    for to in [
        Dialect::Functions,
        Dialect::OpenaiResponses,
        Dialect::AnthropicMessages,
    ] {
        let (_, report) = to.encode_history(&read).unwrap();
        let whats: Vec<&str> = report
            .losses
            .iter()
            .map(|loss| loss.what.as_str())
            .collect();
        let expected = "fields of the message: `author_name`, `message_id` m_7, `origin`";
        assert!(whats.contains(&expected), "{to}: {whats:?}");
    }
}

#[test]
fn a_call_of_an_unknown_type_gets_an_answer_unless_the_framework_gave_one() {
    let call = |id: &str| json!({"type": "map_tool_call", "call_id": id, "city": "Oslo", "additional_properties": {}});
    let result = json!({"type": "map_tool_result", "call_id": "m_2", "image": "x"});
    let document = json!({"messages": [{"type": "message", "role": "assistant",
        "contents": [call("m_1"), call("m_2"), result], "additional_properties": {}}]});
    let (turn, _) = DIALECT.decode_response(document.to_string()).unwrap();
    let open: Vec<String> = turn
        .calls()
        .iter()
        .filter_map(|call| Some(call.call_id()?.as_str().to_owned()))
        .collect();
    assert_eq!(open, ["m_1"]);
    let (history, _) = DIALECT.decode_history(document.to_string()).unwrap();
    let (again, _) = DIALECT.encode_history(&history).unwrap();
    for at in 0..2 {
        let content = |document: &Value| document["messages"][0]["contents"][at].clone();
        assert_eq!(content(&again), content(&document));
    }
    let (chat, _) = Dialect::Functions.encode_history(&history).unwrap();
    assert!(chat.to_string().contains("map_tool_call"), "{chat}");
    assert!(chat.to_string().contains("Oslo"), "{chat}");
}

#[test]
fn messages_of_other_dialects_are_not_read_as_messages_without_contents() {
    let call = json!({"id": "call_1", "type": "function", "function": {"name": "lookup", "arguments": "{}"}});
    for message in [
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        json!({"role": "assistant", "content": null, "function_call": {"name": "lookup", "arguments": "{}"}}),
        json!({"role": "assistant", "content": "It rains."}),
        json!({"role": "user", "parts": [{"text": "It rains."}]}),
        json!({"type": "message", "role": "assistant", "content": [{"type": "text", "text": "It rains."}]}),
    ] {
        for document in [
            message.clone(),
            json!([message]),
            json!({"messages": [message]}),
        ] {
            let response = DIALECT.decode_response(document.to_string());
            let history = DIALECT.decode_history(document.to_string());
            assert!(response.is_err(), "{document}: {response:?}");
            assert!(history.is_err(), "{document}: {history:?}");
        }
    }
    for message in [
        json!({"role": "assistant"}),
        json!({"type": "message", "role": "assistant", "contents": null}),
    ] {
        assert_eq!(read(&message).messages[0].contents, []);
    }
}
