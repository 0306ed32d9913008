//! Histories: contents round-trip unless their neutral values were changed.

use serde_json::{Value, json};
use telechir_protocol::{Action, Content, Role};
use telechir_providers::Report;

use super::{history, image, member, written};

fn exchange() -> Value {
    json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [
            {"type": "text", "text": "I look.", "citations": [{"type": "char_location"}]},
            member("toolu_1", "computer", "left_click", json!({"coordinate": [1, 2]})),
            member("toolu_2", "computer", "screenshot", json!({})),
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "toolset_name": "computer", "content": [{"type": "text", "text": "ok"}]},
            {"type": "tool_result", "tool_use_id": "toolu_2", "toolset_name": "computer", "content": [image()], "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": "And now?"},
        ]},
        {"role": "system", "content": "Be brief.", "odd": 1},
    ])
}

#[test]
fn an_exchange_decodes_and_encodes_unchanged() {
    let read = history(&exchange());
    let roles: Vec<&Role> = read.messages.iter().map(|message| &message.role).collect();
    assert_eq!(
        roles,
        [&Role::User, &Role::Assistant, &Role::User, &Role::System]
    );
    let [
        Content::Text(text),
        Content::ComputerCall(_),
        Content::ComputerCall(_),
    ] = read.messages[1].contents.as_slice()
    else {
        panic!("{:?}", read.messages[1])
    };
    assert_eq!(text.meta.annotations, [json!({"type": "char_location"})]);
    let [
        Content::ComputerResult(first),
        Content::ComputerResult(second),
        Content::Text(_),
    ] = read.messages[2].contents.as_slice()
    else {
        panic!("{:?}", read.messages[2])
    };
    assert_eq!(
        (first.text_output.as_deref(), first.group.as_deref()),
        (Some("ok"), Some("computer"))
    );
    assert!(second.screenshot.is_some());
    assert_eq!(written(&read).unwrap(), (exchange(), Report::default()));
}

#[test]
fn a_history_survives_neutral_json() {
    let mut read = history(&exchange());
    let json = serde_json::to_string(&read.messages).unwrap();
    read.messages = serde_json::from_str(&json).unwrap();
    assert_eq!(written(&read).unwrap().0, exchange());
}

#[test]
fn changed_values_override_the_raw_json() {
    let mut read = history(&exchange());
    let Content::ComputerCall(call) = &mut read.messages[1].contents[1] else {
        panic!()
    };
    call.actions = vec![Action::Move {
        at: telechir_protocol::Point::new(7, 8).into(),
    }];
    let Content::ComputerResult(result) = &mut read.messages[2].contents[0] else {
        panic!()
    };
    result.text_output = Some("moved".into());
    read.messages[0].contents = vec![];
    let mut expected = exchange();
    expected[0]["content"] = json!([]);
    expected[1]["content"][1] = member(
        "toolu_1",
        "computer",
        "mouse_move",
        json!({"coordinate": [7, 8]}),
    );
    expected[2]["content"][0]["content"] = json!([{"type": "text", "text": "moved"}]);
    assert_eq!(written(&read).unwrap(), (expected, Report::default()));
}

#[test]
fn a_changed_call_keeps_its_tool_version() {
    let call = json!({"type": "tool_use", "id": "t", "name": "computer", "input": {"action": "wait", "duration": 1}});
    let mut read = history(&json!([{"role": "assistant", "content": [call]}]));
    let Content::ComputerCall(call) = &mut read.messages[0].contents[0] else {
        panic!()
    };
    call.actions = vec![Action::Wait {
        duration: Some(std::time::Duration::from_millis(1500)),
    }];
    let (messages, report) = written(&read).unwrap();
    assert_eq!(
        messages[0]["content"][0]["input"],
        json!({"action": "wait", "duration": 1.5})
    );
    assert!(report.is_lossless());
}

#[test]
fn declared_functions_take_precedence_over_tool_names() {
    let call = json!({"type": "tool_use", "id": "t", "name": "bash", "input": {"x": 1}});
    let request = json!({
        "model": "claude-opus-5-5", "max_tokens": 1, "system": "s",
        "tools": [{"name": "bash", "input_schema": {"type": "object"}}],
        "messages": [{"role": "assistant", "content": [call]}],
    });
    let read = history(&request);
    assert!(
        matches!(&read.messages[0].contents[0], Content::FunctionCall(call) if call.name == "bash")
    );
    assert_eq!(written(&read).unwrap().0, request);
}

#[test]
fn images_and_documents_are_media_in_any_form() {
    let blocks = json!([
        image(),
        {"type": "image", "source": {"type": "url", "url": "https://e.org/a.png"}},
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}, "title": "t"},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "log"}},
        {"type": "container_upload", "file_id": "file_2"},
    ]);
    let messages = json!([{"role": "user", "content": blocks}]);
    let read = history(&messages);
    let kinds: Vec<&str> = read.messages[0]
        .contents
        .iter()
        .map(|content| match content {
            Content::Data(_) => "data",
            Content::Uri(_) => "uri",
            Content::HostedFile(_) => "file",
            Content::Other(_) => "other",
            _ => "?",
        })
        .collect();
    assert_eq!(kinds, ["data", "uri", "file", "data", "other", "other"]);
    assert_eq!(written(&read).unwrap().0, messages);
}

#[test]
fn rejects_a_history_that_the_provider_rejects() {
    let mut unanswered = exchange();
    unanswered[2]["content"].as_array_mut().unwrap().remove(0);
    let mut foreign = exchange();
    foreign[2]["content"][0]["toolset_name"] = "browser".into();
    let mut empty = exchange();
    empty[2]["content"][0] = json!({"type": "tool_result", "tool_use_id": "toolu_1", "toolset_name": "computer", "is_error": true});
    let table = [
        (
            unanswered,
            "messages[2] must contain a tool_result for toolu_1",
        ),
        (foreign, "toolset_name must be \"computer\", as in the call"),
        (empty, "an error must contain text"),
    ];
    for (messages, expected) in table {
        let error = written(&history(&messages)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_turn_contains_refusal_and_usage() {
    let message = json!({
        "type": "message", "role": "assistant", "content": [], "stop_reason": "refusal",
        "stop_details": {"type": "refusal", "category": "cyber", "explanation": "no"},
        "usage": {"input_tokens": 3, "output_tokens": 4},
    });
    let turn = super::DIALECT
        .decode_response(message.to_string().as_bytes())
        .unwrap()
        .0;
    let [Content::Error(error), Content::Usage(usage)] = turn.contents() else {
        panic!("{turn:?}")
    };
    assert_eq!(
        (error.message.as_str(), error.error_code.as_deref()),
        ("no", Some("refusal"))
    );
    assert_eq!(usage.total_token_count, Some(7));
}
