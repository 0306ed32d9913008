//! Nothing that chat messages cannot hold is lost without a report.

use serde_json::{Value, json};
use telechir_protocol::{Content, HostedCall, HostedFileContent, Message, Role};
use telechir_providers::{Dialect, Envelope, History, Report};

use super::{DIALECT, IMAGE, history_of, image, written};

const CHAT: [Dialect; 4] = [
    Dialect::Functions,
    Dialect::FunctionsInline,
    Dialect::MistralChat,
    Dialect::MistralConversations,
];

fn translated(from: Dialect, to: Dialect, document: &Value) -> (String, Report) {
    let (document, report) = written(to, &history_of(from, document));
    (document.to_string(), report)
}

fn names(report: &Report, name: &str) -> bool {
    report.losses.iter().any(|loss| loss.what.contains(name))
}

#[test]
fn documents_and_searches_in_a_result_are_reported_or_named_in_its_text() {
    let document = json!({"messages": [
        {"role": "user", "content": "Read it."},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "fetch", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [
            {"type": "search_result", "source": "https://a.example/x", "title": "A page", "content": [{"type": "text", "text": "Found."}]},
            {"type": "document", "source": {"type": "url", "url": "https://a.example/y.pdf"}},
        ]}]},
    ]});
    for to in CHAT {
        let (text, report) = translated(Dialect::AnthropicMessages, to, &document);
        for (kind, address) in [
            ("search_result", "a.example/x"),
            ("document", "a.example/y.pdf"),
        ] {
            let is_present = text.contains(address);
            assert!(
                is_present || names(&report, kind),
                "{to}: {kind}: {report:?}"
            );
        }
    }
}

#[test]
fn the_fields_of_a_message_are_reported_by_name() {
    let document = json!({"messages": [
        {"role": "user", "name": "ada", "content": "Hello."},
        {"role": "assistant", "name": "bert", "content": "Good day."},
        {"role": "user", "content": "Go."},
    ]});
    for to in Dialect::ALL {
        let (text, report) = translated(DIALECT, to, &document);
        let is_present = text.contains("\"ada\"") && text.contains("\"bert\"");
        let reported = report
            .losses
            .iter()
            .filter(|loss| loss.what.contains("`name`"))
            .count();
        assert_eq!(reported, if is_present { 0 } else { 2 }, "{to}: {report:?}");
    }
}

#[test]
fn fields_of_an_entry_stay_out_of_chat_messages() {
    let document = json!({"outputs": [
        {"type": "function.call", "id": "fc_9", "tool_call_id": "Ab3dE5gH7", "name": "look", "arguments": "{}",
            "object": "entry", "created_at": "2026-02-01T00:00:00Z"},
        {"type": "function.result", "tool_call_id": "Ab3dE5gH7", "result": "seen", "object": "entry"},
    ], "conversation_id": "conv_1", "object": "conversation.response"});
    let from = Dialect::MistralConversations;
    let (text, report) = translated(from, Dialect::MistralChat, &document);
    assert!(
        !text.contains("created_at") && !text.contains("entry"),
        "{text}"
    );
    assert!(names(&report, "`created_at`"), "{report:?}");
    assert_eq!(written(from, &history_of(from, &document)).0, document);
}

#[test]
fn a_source_of_mistral_s_search_is_a_link_elsewhere() {
    let source = json!({"type": "tool_reference", "tool": "web_search", "title": "Heights", "url": "https://a.example/h"});
    let document = json!([
        {"type": "message.input", "role": "user", "content": "How high is it?"},
        {"type": "tool.execution", "id": "tool_exec_4", "name": "web_search", "arguments": "{}"},
        {"type": "message.output", "role": "assistant", "content": [{"type": "text", "text": "8849 m"}, source]},
        {"type": "message.input", "role": "user", "content": "And the next?"},
    ]);
    for to in [
        Dialect::Functions,
        Dialect::FunctionsInline,
        Dialect::MistralChat,
    ] {
        let (text, report) = translated(Dialect::MistralConversations, to, &document);
        assert!(!text.contains("tool_reference"), "{to}: {text}");
        assert!(
            text.contains("[Heights](https://a.example/h)"),
            "{to}: {text}"
        );
        assert!(names(&report, "tool_reference"), "{to}: {report:?}");
    }
}

#[test]
fn a_call_that_a_service_executed_without_a_result_is_not_left_open() {
    let document = json!([
        {"type": "message.input", "role": "user", "content": "How high is it?"},
        {"type": "tool.execution", "id": "tool_exec_4", "name": "web_search", "arguments": "{\"query\": \"height\"}"},
        {"type": "message.output", "role": "assistant", "content": "8849 m"},
        {"type": "message.input", "role": "user", "content": "And the next?"},
    ]);
    let from = Dialect::MistralConversations;
    for to in [
        Dialect::Functions,
        Dialect::MistralChat,
        Dialect::OpenaiResponses,
    ] {
        let (text, report) = translated(from, to, &document);
        assert!(
            !text.contains("call_id") && !text.contains("tool_calls"),
            "{to}: {text}"
        );
        assert!(
            text.contains("[web_search]") && text.contains("height"),
            "{to}: {text}"
        );
        assert!(names(&report, "web_search"), "{to}: {report:?}");
    }
}

/// A history in which another provider ran code that failed and drew an image.
fn failed_command() -> History {
    let call = HostedCall {
        call_id: Some("exec_1".into()),
        inputs: vec![Content::text("plot()")],
        ..HostedCall::default()
    };
    let result = HostedCall {
        call_id: Some("exec_1".into()),
        status: Some("failed".to_owned()),
        results: vec![
            Content::text("half a plot"),
            Content::from(image()),
            Content::HostedFile(HostedFileContent {
                file_id: "file_77".to_owned(),
                media_type: None,
                name: Some("plot.csv".to_owned()),
                meta: Default::default(),
            }),
        ],
        ..HostedCall::default()
    };
    let contents = vec![Content::CommandCall(call), Content::CommandResult(result)];
    History {
        messages: vec![
            Message::new(Role::User, vec![Content::text("Plot it.")]),
            Message::new(Role::Assistant, contents),
        ],
        envelope: Envelope::List,
    }
}

#[test]
fn a_failed_command_of_another_provider_stays_failed_and_shows_its_image() {
    for to in CHAT.into_iter().chain([Dialect::OpenaiResponses]) {
        let (document, report) = written(to, &failed_command());
        let text = document.to_string();
        assert!(text.contains("failed"), "{to}: {text}");
        assert!(text.contains("half a plot"), "{to}: {text}");
        assert!(text.contains(IMAGE), "{to}: {text}");
        let is_present = text.contains("plot.csv") || text.contains("file_77");
        assert!(is_present || names(&report, "plot.csv"), "{to}: {report:?}");
    }
}

#[test]
fn audio_has_the_names_that_chat_completions_know() {
    let audio = |media_type: &str| {
        let part = json!({"inlineData": {"mimeType": media_type, "data": "AAAA"}});
        json!({"contents": [{"role": "user", "parts": [part]}]})
    };
    for (media_type, format) in [
        ("audio/mpeg", "mp3"),
        ("audio/x-wav", "wav"),
        ("audio/mp3", "mp3"),
    ] {
        let from = Dialect::GoogleGenerateContent;
        let (document, _) = written(DIALECT, &history_of(from, &audio(media_type)));
        assert_eq!(document[0]["content"][0]["input_audio"]["format"], format);
    }
}

#[test]
fn the_exit_code_of_a_command_that_a_provider_ran_is_in_its_text() {
    let document = json!({"messages": [
        {"role": "user", "content": "Build it."},
        {"role": "assistant", "content": [
            {"type": "server_tool_use", "id": "srvtoolu_3", "name": "bash_code_execution", "input": {"command": "make"}},
            {"type": "bash_code_execution_tool_result", "tool_use_id": "srvtoolu_3", "content": {
                "type": "bash_code_execution_result", "content": [], "return_code": 17, "stdout": "", "stderr": "no rule",
            }},
            {"type": "text", "text": "There is no rule."},
        ]},
    ]});
    for to in CHAT.into_iter().chain([Dialect::OpenaiResponses]) {
        let (text, _) = translated(Dialect::AnthropicMessages, to, &document);
        assert!(
            text.to_lowercase().matches("exit code").count() == 1
                && text.contains("17")
                && text.contains("no rule"),
            "{to}: {text}"
        );
    }
}

#[test]
fn an_unknown_field_of_a_neutral_content_is_reported_unless_it_is_null() {
    let messages = json!([{"role": "user", "contents": [{"type": "text", "text": "Hi.", "mood": "calm", "weather": null}]}]);
    let history = History {
        messages: serde_json::from_value(messages).unwrap(),
        envelope: Envelope::List,
    };
    for to in CHAT.into_iter().chain([Dialect::OpenaiResponses]) {
        let (_, report) = written(to, &history);
        assert!(
            names(&report, "mood") && !names(&report, "weather"),
            "{to}: {report:?}"
        );
    }
}

#[test]
fn an_approval_of_another_provider_is_a_text() {
    let items = json!([
        {"type": "message", "role": "user", "content": "Remove it."},
        {"type": "mcp_approval_request", "id": "mcpr_8", "server_label": "files", "name": "remove", "arguments": "{\"path\": \"b\"}"},
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_8", "approve": false, "reason": "still needed"},
    ]);
    for to in CHAT {
        let (text, report) = translated(Dialect::OpenaiResponses, to, &items);
        for value in ["remove", "mcpr_8", "declines", "still needed"] {
            assert!(text.contains(value), "{to}: {value}: {text}");
        }
        assert!(
            names(&report, "approval request mcpr_8"),
            "{to}: {report:?}"
        );
    }
    let pending = json!([{
        "type": "function.call", "id": "fc_2", "tool_call_id": "Ab3dE5gH7", "name": "send_mail",
        "arguments": "{}", "confirmation_status": "pending",
    }]);
    let from = Dialect::MistralConversations;
    let (text, report) = translated(from, Dialect::OpenaiResponses, &pending);
    assert!(text.contains("send_mail"), "{text}");
    assert!(names(&report, "approval request"), "{report:?}");
}

#[test]
fn a_document_by_address_is_no_image() {
    let part = json!({"type": "document_url", "document_url": "https://a.example/b.pdf"});
    let document = json!([{"role": "user", "content": [part]}]);
    for to in [Dialect::Functions, Dialect::OpenaiResponses] {
        let (text, _) = translated(Dialect::MistralChat, to, &document);
        assert!(
            !text.contains("image") && text.contains("b.pdf"),
            "{to}: {text}"
        );
    }
}
