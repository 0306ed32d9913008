//! What a message or content has beyond its neutral values arrives or is in the report by name.

use serde_json::{Value, json};
use telechir_providers::{Dialect, Report};

fn translated(from: Dialect, to: Dialect, document: &Value) -> (String, Report) {
    let (history, _) = from.decode_history(document.to_string()).unwrap();
    let (document, report) = to.encode_history(&history).unwrap();
    (document.to_string(), report)
}

fn whats(report: &Report) -> String {
    let whats = report.losses.iter().map(|loss| loss.what.as_str());
    whats.collect::<Vec<_>>().join("\n")
}

const CHAT: [Dialect; 4] = [
    Dialect::Functions,
    Dialect::FunctionsInline,
    Dialect::MistralChat,
    Dialect::MistralConversations,
];

#[test]
fn an_object_setting_lists_the_names_inside_it() {
    let document = json!([{"role": "assistant", "content": [
        {"type": "tool_use", "id": "toolu_9", "name": "look_up", "input": {},
            "caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_8"}},
    ]}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_9", "content": "x"}]}]);
    for to in CHAT.into_iter().chain([Dialect::OpenaiResponses]) {
        let (_, report) = translated(Dialect::AnthropicMessages, to, &document);
        let expected = "settings of anthropic: caller.tool_id `srvtoolu_8`";
        assert!(
            whats(&report).lines().any(|what| what == expected),
            "{to}: {report:?}"
        );
    }
}

#[test]
fn values_of_an_item_without_a_field_in_chat_are_reported_by_name() {
    let document = json!([
        {"type": "message", "role": "user", "content": "Is the order paid?"},
        {"type": "reasoning", "id": "rs_4", "summary": [], "encrypted_content": "b3BhcXVlIGJ5dGVz"},
        {"type": "message", "id": "msg_4", "role": "assistant", "phase": "commentary",
            "content": [{"type": "output_text", "text": "I look.", "annotations": []}]},
        {"type": "function_call", "id": "fc_4", "call_id": "call_4", "name": "order", "namespace": "shop",
            "arguments": "{\"number\": 7}"},
        {"type": "function_call_output", "call_id": "call_4", "output": "paid", "name": "order_state"},
    ]);
    for to in CHAT {
        let (text, report) = translated(Dialect::OpenaiResponses, to, &document);
        for (name, value) in [
            ("phase", "commentary"),
            ("namespace", "\"shop\""),
            ("fc_4", "fc_4"),
            ("rs_4", "rs_4"),
            ("thinking", "b3BhcXVlIGJ5dGVz"),
            ("name", "order_state"),
        ] {
            let arrived = text.contains(value);
            let named = whats(&report).contains(name);
            assert!(arrived != named, "{to}: {name}: {report:?}");
        }
    }
}

#[test]
fn the_form_of_a_content_is_no_setting() {
    let document = json!({"inputs": [
        {"type": "message.input", "role": "user", "content": [{"type": "text", "text": "Go."}]},
        {"type": "function.call", "tool_call_id": "Ab3dE5gH7", "name": "look", "arguments": "{}"},
        {"type": "function.result", "tool_call_id": "Ab3dE5gH7", "result": "seen"},
    ]});
    for to in [
        Dialect::Functions,
        Dialect::OpenaiResponses,
        Dialect::AnthropicMessages,
    ] {
        let (_, report) = translated(Dialect::MistralConversations, to, &document);
        for marker in ["parts", "entry", "images_after"] {
            assert!(!whats(&report).contains(marker), "{to}: {report:?}");
        }
    }
}

#[test]
fn flat_properties_of_the_framework_are_reported_by_name() {
    let document = json!([
        {"type": "message", "role": "user", "additional_properties": {"channel": "phone"},
            "contents": [{"type": "text", "text": "Go.", "additional_properties": {"score": 0.25}}]},
    ]);
    for to in CHAT.into_iter().chain([Dialect::OpenaiResponses]) {
        let (_, report) = translated(Dialect::AgentFramework, to, &document);
        for name in ["channel", "score"] {
            assert!(whats(&report).contains(name), "{to}: {name}: {report:?}");
        }
    }
}

#[test]
fn arguments_that_cannot_be_read_arrive_as_they_came() {
    let broken = "{\"action\": \"click\", \"coordinate\": [3, ";
    let chat = json!([
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "Ab3dE5gH7", "type": "function", "function": {"name": "computer", "arguments": broken}},
            {"id": "Ab3dE5gH8", "type": "function", "function": {"name": "shell", "arguments": broken}},
        ]},
    ]);
    let entries = json!([
        {"type": "message.input", "role": "user", "content": "Go."},
        {"type": "function.call", "tool_call_id": "Ab3dE5gH7", "name": "computer", "arguments": broken},
        {"type": "function.call", "tool_call_id": "Ab3dE5gH8", "name": "shell", "arguments": broken},
    ]);
    for (from, document) in [
        (Dialect::Functions, chat),
        (Dialect::MistralConversations, entries),
    ] {
        for to in CHAT.into_iter().chain([Dialect::OpenaiResponses]) {
            let (text, report) = translated(from, to, &document);
            let written = Value::from(broken).to_string();
            let count = text.matches(&written).count();
            assert_eq!(count, 2, "{from} to {to}: {text}\n{report:?}");
        }
    }
}

#[test]
fn an_id_that_does_not_arrive_is_reported_with_its_value() {
    let items = json!([
        {"type": "message", "id": "msg_7", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "I look.", "annotations": []}]},
        {"type": "function_call", "id": "fc_7", "call_id": "call_7", "name": "order", "arguments": "{}"},
    ]);
    let response = json!({"id": "resp_7", "object": "response", "status": "completed", "model": "m", "output": items});
    for to in Dialect::ALL {
        let (text, report) = translated(Dialect::OpenaiResponses, to, &items);
        let complete = Dialect::OpenaiResponses
            .translate(to, response.to_string().as_bytes(), &Default::default())
            .unwrap();
        let complete = (complete.document.to_string(), complete.report);
        for (text, report) in [(text, report), complete] {
            for id in ["msg_7", "fc_7"] {
                let is_named = text.contains(id) || whats(&report).contains(id);
                assert!(is_named, "{to}: {id}: {text} {report:?}");
            }
        }
    }
}

#[test]
fn a_lost_name_of_a_file_is_reported_beside_a_lost_name_of_its_message() {
    let document = json!([{"role": "user", "name": "ann", "content": [
        {"type": "file", "file": {"filename": "b.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}},
    ]}]);
    let (_, report) = translated(Dialect::Functions, Dialect::GoogleInteractions, &document);
    for location in ["messages[0]", "messages[0].contents[0]"] {
        let mut losses = report.losses.iter();
        let named = losses.any(|loss| loss.location == location && loss.what.contains("name"));
        assert!(named, "{location}: {report:?}");
    }
}
