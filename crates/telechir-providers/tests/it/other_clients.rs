//! Documents of kinds that client libraries and compatible services write beside the provider's own:
//! copies of a parsed answer, names of tools beside results, single elements without a list.
//!
//! Every value of them arrives in every dialect or is named, and no entry calls a value lost that
//! arrived.

use serde_json::{Value, json};
use telechir_providers::conform::{DocumentKind, FoundDocuments, check_document};
use telechir_providers::{Dialect, TranslationOptions};

/// Fails if a document is not recognized as `dialect`, is changed in it, or if a translation loses a
/// value in silence or calls one lost that arrived.
fn check(dialect: Dialect, document: &Value) {
    let found = FoundDocuments::in_bytes(document.to_string().as_bytes()).documents;
    let found: Vec<Dialect> = found.iter().map(|found| found.dialect).collect();
    assert_eq!(found, [dialect], "{document}");
    let report = check_document(dialect, DocumentKind::History, document);
    assert_eq!(
        (report.refused, report.difference),
        (None, None),
        "{document}"
    );
    for pair in report.pairs {
        let problems = pair.crash.iter().chain(&pair.problems);
        assert_eq!(problems.count(), 0, "{pair:?}");
        assert_eq!(pair.findings, [], "to {}", pair.to);
    }
}

/// What the translation of a whole request or response reports, as `what at where`.
fn reported(from: Dialect, to: Dialect, document: &Value) -> Vec<String> {
    let options = TranslationOptions::default();
    let document = document.to_string();
    let translated = from.translate(to, document.as_bytes(), &options).unwrap();
    let losses = translated.report.losses.into_iter();
    losses
        .map(|loss| format!("{} at {}", loss.what, loss.location))
        .collect()
}

#[test]
fn a_parsed_copy_of_an_answer_is_no_loss() {
    let steps = json!({"steps": [{"text": "Fill the can", "litres": "7"}], "total": "7"});
    check(
        Dialect::MistralChat,
        &json!({"id": "c1", "object": "chat.completion", "model": "mistral-large-latest", "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant",
                "content": steps.to_string(), "parsed": steps}},
        ]}),
    );
}

#[test]
fn a_result_that_only_has_the_name_of_its_tool_belongs_to_the_call() {
    check(
        Dialect::Functions,
        &json!({"model": "llama3.2", "stream": false, "messages": [
            {"role": "user", "content": "Is it raining?"},
            {"role": "assistant", "content": "", "tool_calls": [
                {"function": {"name": "weather", "arguments": {"city": "Ulm"}}},
            ]},
            {"role": "tool", "tool_name": "weather", "content": "Nine degrees and dry."},
        ]}),
    );
}

#[test]
fn the_name_of_another_tool_at_a_result_is_reported() {
    check(
        Dialect::Functions,
        &json!({"model": "m", "messages": [
            {"role": "user", "content": "Is it raining?"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}},
            ]},
            {"role": "tool", "tool_call_id": "call_1", "tool_name": "barometer", "content": "Dry."},
        ]}),
    );
}

#[test]
fn blocks_alone_keep_their_calls() {
    check(
        Dialect::BedrockConverse,
        &json!([
            {"text": "I look for it."},
            {"toolUse": {"toolUseId": "tooluse_q", "name": "find", "input": {"q": "rake"}}},
        ]),
    );
}

#[test]
fn a_name_inside_of_an_id_is_not_called_lost() {
    check(
        Dialect::Functions,
        &json!({"id": "f", "object": "chat.completion", "model": "m", "choices": [
            {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": "Hm",
                "tool_calls": [{"index": 0, "id": "functions.get_time:0", "type": "function",
                    "function": {"name": "get_time", "arguments": "{}"}}]}},
        ]}),
    );
}

#[test]
fn one_content_and_one_part_of_google_need_no_list() {
    let document = json!({
        "contents": {"role": "USER", "parts": {"text": "Water the plants."}},
        "system_instruction": {"parts": {"text": "Be kind."}},
    });
    check(Dialect::GoogleGenerateContent, &document);
    let options = TranslationOptions::default();
    let translated = Dialect::GoogleGenerateContent
        .translate(
            Dialect::AnthropicMessages,
            document.to_string().as_bytes(),
            &options,
        )
        .unwrap();
    let written = translated.document;
    assert_eq!(written["system"], "Be kind.");
    assert_eq!(written["messages"][0]["role"], "user");
    assert_eq!(
        written["messages"][0]["content"][0]["text"],
        "Water the plants."
    );
}

#[test]
fn a_tool_of_an_unreadable_form_is_reported() {
    let declared = |tool: Value| json!({"model": "m", "messages": [], "tools": [tool]});
    for (tool, expected) in [
        (
            json!({"type": "function", "function": {"name": ["find"], "parameters": {}}}),
            "tool `a function without a name` at /tools/0",
        ),
        (
            json!({"type": "function", "function": {"name": "find", "parameters": ["q"]}}),
            "`parameters` of the tool `find` at /tools/0/parameters",
        ),
        (
            json!({"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": "q"}}}),
            "`parameters` of the tool `find` at /tools/0/parameters",
        ),
    ] {
        let losses = reported(
            Dialect::Functions,
            Dialect::AnthropicMessages,
            &declared(tool),
        );
        assert!(losses.iter().any(|loss| loss == expected), "{losses:?}");
    }
}

#[test]
fn instructions_of_an_unreadable_form_are_reported() {
    let losses = reported(
        Dialect::GoogleInteractions,
        Dialect::Functions,
        &json!({"model": "gemini-3", "input": "Hi", "system_instruction": {"text": "Be kind."}}),
    );
    let expected = "`system_instruction` at /system_instruction";
    assert!(losses.iter().any(|loss| loss == expected), "{losses:?}");
}

/// In another folder or without its limit the command would do something else.
#[test]
fn a_command_with_unreadable_settings_is_not_executed() {
    let call = |kind: &str, action: Value| json!([{"type": kind, "call_id": "c1", "status": "completed", "action": action}]);
    for (document, expected) in [
        (
            call(
                "local_shell_call",
                json!({"type": "exec", "command": ["ls"], "env": {}, "working_directory": ["/w"]}),
            ),
            "`action.working_directory` is not a string",
        ),
        (
            call(
                "local_shell_call",
                json!({"type": "exec", "command": ["ls"], "env": "A=1"}),
            ),
            "`action.env` is not an object",
        ),
        (
            call(
                "shell_call",
                json!({"commands": ["ls"], "timeout_ms": "soon"}),
            ),
            "`action.timeout_ms` is not a number",
        ),
    ] {
        check(Dialect::OpenaiResponses, &document);
        let (turn, _) = Dialect::OpenaiResponses
            .decode_response(document.to_string())
            .unwrap();
        let call = serde_json::to_value(turn.contents()).unwrap();
        assert_eq!(call[0]["exception"], expected, "{call}");
    }
}

#[test]
fn arguments_that_are_no_json_arrive_as_an_object_at_google() {
    let document = json!({"id": "c", "object": "chat.completion", "model": "m", "choices": [
        {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": null, "tool_calls": [
            {"id": "call_a", "type": "function", "function": {"name": "computer", "arguments": "{\"action\": \"cli"}},
        ]}},
    ]});
    let (history, _) = Dialect::Functions
        .decode_history(document.to_string())
        .unwrap();
    let (steps, _) = Dialect::GoogleInteractions
        .encode_history(&history)
        .unwrap();
    let call = steps.as_array().unwrap().last().unwrap();
    assert_eq!(
        call["arguments"],
        json!({"arguments": "{\"action\": \"cli"}),
        "{steps}"
    );
}

#[test]
fn usage_among_contents_and_properties_of_a_message_are_reported() {
    let response = json!({"type": "chat_response", "response_id": "r1", "messages": [
        {"type": "message", "role": "assistant", "additional_properties": {"pier": {"lamp": 1}},
            "contents": [
                {"type": "text", "text": "High at six."},
                {"type": "usage", "usage_details": {"input_token_count": 7, "output_token_count": 3}}]},
    ]});
    let from = Dialect::AgentFramework;
    for to in Dialect::ALL {
        // Their contents keep the original.
        if matches!(to, Dialect::AgentFramework | Dialect::Neutral) {
            continue;
        }
        let (history, mut messages) = from.decode_history(response.to_string()).unwrap();
        messages.absorb(to.encode_history(&history).unwrap().1);
        let translated = from
            .translate(
                to,
                response.to_string().as_bytes(),
                &TranslationOptions::default(),
            )
            .unwrap();
        for (scope, report) in [("messages", messages), ("document", translated.report)] {
            for name in ["input_token_count", "output_token_count", "lamp"] {
                let mut losses = report.losses.iter();
                let is_named = losses.any(|loss| loss.what.contains(name));
                assert!(is_named, "{to}, {scope}: {name}: {:?}", report.losses);
            }
        }
    }
}
