//! Documents that clients and services write, although references describe them otherwise, are
//! written back unchanged. In other dialects nothing of them is lost in silence.

use serde_json::{Map, Value, json};
use telechir_providers::Dialect;
use telechir_providers::conform::{DocumentKind, check_document};

fn check(dialect: Dialect, document: &Value) {
    let report = check_document(dialect, DocumentKind::History, document);
    assert_eq!(report.refused, None, "{document}");
    assert_eq!(report.difference, None, "{document}");
    let (history, _) = dialect.decode_history(document.to_string()).unwrap();
    let (_, losses) = dialect.encode_history(&history).unwrap();
    assert_eq!(losses.losses, [], "{document}");
    for pair in report.pairs {
        let to = &pair.to;
        assert_eq!(pair.refused, None, "to {to}: {document}");
        assert_eq!(pair.crash, None, "to {to}: {document}");
        assert!(
            pair.problems.is_empty(),
            "to {to}: {document}: {:?}",
            pair.problems
        );
        assert_eq!(pair.findings, [], "to {to}: {document}");
    }
}

fn anthropic(results: &Value) -> Value {
    json!([
        {"role": "user", "content": "Look it up."},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "toolu_1", "name": "lookup", "input": {"place": "Ghent"}},
        ]},
        {"role": "user", "content": results},
    ])
}

/// Converse's messages with these results.
fn converse(results: &Value) -> Value {
    json!([
        {"role": "user", "content": [{"text": "Look it up."}]},
        {"role": "assistant", "content": [
            {"toolUse": {"toolUseId": "call_1", "name": "lookup", "input": {}}},
        ]},
        {"role": "user", "content": results},
    ])
}

#[test]
fn two_results_of_one_call_stay() {
    check(
        Dialect::AnthropicMessages,
        &anthropic(&json!([
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "The first answer."},
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "The second answer."},
        ])),
    );
    let result = |text| json!({"toolResult": {"toolUseId": "call_1", "content": [{"text": text}]}});
    check(
        Dialect::BedrockConverse,
        &converse(&json!([
            result("The first answer."),
            result("The second answer.")
        ])),
    );
    let output =
        |text| json!({"type": "function_call_output", "call_id": "call_1", "output": text});
    check(
        Dialect::OpenaiResponses,
        &json!({"model": "gpt-6.1-sol", "input": [
            {"type": "function_call", "call_id": "call_1", "name": "lookup", "arguments": "{}"},
            output("The first answer."),
            output("The second answer."),
        ]}),
    );
    let message = |text| json!({"role": "tool", "tool_call_id": "call_1", "content": text});
    check(
        Dialect::Functions,
        &json!([
            {"role": "user", "content": "Look it up."},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "lookup", "arguments": "{}"}},
            ]},
            message("The first answer."),
            message("The second answer."),
        ]),
    );
    let response = |text| json!({"functionResponse": {"id": "call_1", "name": "lookup", "response": {"output": text}}});
    check(
        Dialect::GoogleGenerateContent,
        &json!([
            {"role": "user", "parts": [{"text": "Look it up."}]},
            {"role": "model", "parts": [
                {"functionCall": {"id": "call_1", "name": "lookup", "args": {}}},
            ]},
            {"role": "user", "parts": [response("The first answer."), response("The second answer.")]},
        ]),
    );
    let entry =
        |text| json!({"type": "function.result", "tool_call_id": "call00001", "result": text});
    check(
        Dialect::MistralConversations,
        &json!([
            {"type": "message.input", "role": "user", "content": "Look it up."},
            {"type": "function.call", "tool_call_id": "call00001", "name": "lookup", "arguments": {}},
            entry("The first answer."),
            entry("The second answer."),
        ]),
    );
}

#[test]
fn failed_results_need_no_text() {
    for content in [json!([]), json!(""), Value::Null] {
        check(
            Dialect::AnthropicMessages,
            &anthropic(&json!([
                {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": true, "content": content},
            ])),
        );
    }
    for content in [
        json!([]),
        json!([{"json": {"reason": "The service is down."}}]),
        json!([{"document": {"format": "txt", "name": "log", "source": {"text": "No route."}}}]),
    ] {
        check(
            Dialect::BedrockConverse,
            &converse(&json!([
                {"toolResult": {"toolUseId": "call_1", "status": "error", "content": content}},
            ])),
        );
    }
}

#[test]
fn stored_messages_of_converse_need_no_tool_config() {
    check(
        Dialect::BedrockConverse,
        &json!({"messages": [
            {"role": "user", "content": [{"text": "Look it up."}]},
            {"role": "assistant", "content": [
                {"toolUse": {"toolUseId": "call_1", "name": "lookup"}},
            ]},
            {"role": "user", "content": [
                {"toolResult": {"toolUseId": "call_1", "status": null, "content": [{"text": "Ghent"}]}},
                {"text": "Go on.", "image": null},
            ]},
        ]}),
    );
}

#[test]
fn absent_lists_stay_absent() {
    let system = json!({"role": "user", "parts": [{"text": "Look it up."}]});
    for empty in [
        json!({"role": "model"}),
        json!({"role": "model", "parts": null}),
        json!({"role": "model", "parts": []}),
    ] {
        check(Dialect::GoogleGenerateContent, &json!([system, empty]));
    }
    check(
        Dialect::GoogleInteractions,
        &json!([{"type": "user_input", "content": null}, {"type": "model_output"}]),
    );
    for list in [Value::Null, json!([])] {
        check(
            Dialect::OpenaiResponses,
            &json!({"id": "resp_1", "object": "response", "status": "failed", "output": list}),
        );
        check(
            Dialect::OpenaiResponses,
            &json!({"model": "gpt-6.1-sol", "prompt": {"id": "pmpt_1"}, "input": list}),
        );
        check(
            Dialect::MistralConversations,
            &json!({"object": "conversation.response", "conversation_id": "conv_1", "outputs": list}),
        );
        check(
            Dialect::AgentFramework,
            &json!([{"type": "message", "role": "assistant", "contents": list}]),
        );
    }
    check(
        Dialect::AgentFramework,
        &json!([{"type": "message", "role": "user"}, {"role": "assistant", "contents": [
            {"type": "hologram", "address": "https://example.org/a"},
            {"address": "https://example.org/b"},
        ]}]),
    );
}

#[test]
fn calls_of_google_stay_open() {
    check(
        Dialect::GoogleGenerateContent,
        &json!([
            {"role": "user", "parts": [{"text": "Look it up."}]},
            {"role": "model", "parts": [
                {"functionCall": {"name": "lookup", "args": {"place": "Ghent"}}},
                {"functionCall": {"name": "lookup", "args": {"place": "Bruges"}}},
            ]},
            {"role": "user", "parts": [{"text": "Stop."}]},
        ]),
    );
}

#[test]
fn media_types_that_a_decoder_adds_are_no_losses() {
    check(
        Dialect::MistralChat,
        &json!([{"role": "user", "content": [
            {"type": "document_url", "document_url": "https://example.org/report.pdf"},
        ]}]),
    );
}

/// How many results of calls a document has.
fn results(document: &Value) -> usize {
    let is_result = |members: &Map<String, Value>| {
        let kind = members.get("type").and_then(Value::as_str);
        kind.is_some_and(|kind| kind == "tool_result" || kind.ends_with("_output"))
            || members.contains_key("toolResult")
            || members.contains_key("functionResult")
    };
    match document {
        Value::Object(members) => {
            let inner: usize = members.values().map(results).sum();
            usize::from(is_result(members)) + inner
        }
        Value::Array(items) => items.iter().map(results).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

#[test]
fn a_further_result_of_a_call_is_a_reported_user_message_elsewhere() {
    let anthropic = anthropic(&json!([
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "The first answer."},
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "The second answer."},
    ]));
    let result =
        |text| json!({"toolResult": {"toolUseId": "toolu_1", "content": [{"text": text}]}});
    let converse = json!([
        {"role": "user", "content": [{"text": "Look it up."}]},
        {"role": "assistant", "content": [
            {"toolUse": {"toolUseId": "toolu_1", "name": "lookup", "input": {}}},
        ]},
        {"role": "user", "content": [result("The first answer."), result("The second answer.")]},
    ]);
    let response = |text| json!({"functionResponse": {"id": "toolu_1", "name": "lookup", "response": {"output": text}}});
    let google = json!([
        {"role": "user", "parts": [{"text": "Look it up."}]},
        {"role": "model", "parts": [
            {"functionCall": {"id": "toolu_1", "name": "lookup", "args": {}}},
        ]},
        {"role": "user", "parts": [response("The first answer."), response("The second answer.")]},
    ]);
    let rejecting = [
        Dialect::AnthropicMessages,
        Dialect::BedrockMessages,
        Dialect::BedrockInvoke,
        Dialect::BedrockConverse,
        Dialect::BedrockAgents,
        Dialect::OpenaiResponses,
    ];
    let joining = [
        Dialect::Functions,
        Dialect::FunctionsInline,
        Dialect::MistralChat,
        Dialect::MistralConversations,
    ];
    for (from, document) in [
        (Dialect::AnthropicMessages, anthropic),
        (Dialect::BedrockConverse, converse),
        (Dialect::GoogleGenerateContent, google),
    ] {
        let (history, _) = from.decode_history(document.to_string()).unwrap();
        for to in rejecting.into_iter().chain(joining) {
            // The three bodies of Anthropic have one format.
            let is_anthropic = |dialect: Dialect| rejecting[..3].contains(&dialect);
            if to == from || is_anthropic(from) && is_anthropic(to) {
                continue;
            }
            let (written, report) = to.encode_history(&history).unwrap();
            let text = written.to_string();
            assert!(text.contains("The first answer."), "{from} to {to}: {text}");
            assert!(
                text.contains("The second answer."),
                "{from} to {to}: {text}"
            );
            if rejecting.contains(&to) {
                assert_eq!(results(&written), 1, "{from} to {to}: {text}");
            }
            let is_named = report
                .losses
                .iter()
                .any(|loss| loss.what.contains("result of call") && loss.preserved_as.is_some());
            assert!(is_named, "{from} to {to}: {report:?}");
        }
    }
}

#[test]
fn a_result_of_another_dialect_after_one_that_stays_is_a_user_message() {
    let document = anthropic(&json!([
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "The first answer."},
    ]));
    let (mut history, _) = Dialect::AnthropicMessages
        .decode_history(document.to_string())
        .unwrap();
    let more =
        json!([{"type": "function_result", "call_id": "toolu_1", "result": "The second answer."}]);
    let more = Dialect::AgentFramework.decode_history(more.to_string());
    history.messages.extend(more.unwrap().0.messages);
    for to in [Dialect::AnthropicMessages, Dialect::BedrockConverse] {
        let (written, report) = to.encode_history(&history).unwrap();
        assert_eq!(results(&written), 1, "{to}: {written}");
        assert!(written.to_string().contains("The second answer."), "{to}");
        let named = |name| report.losses.iter().any(|loss| loss.what == name);
        assert!(
            named("a further result of call toolu_1"),
            "{to}: {report:?}"
        );
    }
}
