//! Values of another JSON type than the one that decoders read, and known names in objects that
//! nobody knows: each is followed, answered with an error or named in the report.

use serde_json::{Value, json};
use telechir_providers::conform::{DocumentKind, check_document, recognize};
use telechir_providers::survival::{Change, ChangedDocument, Fault, TranslationScope};
use telechir_providers::{Dialect, Report};

/// The report of a translation of messages.
fn report(from: Dialect, to: Dialect, document: &Value) -> Report {
    let (history, mut report) = from.decode_history(document.to_string()).unwrap();
    let (_, losses) = to.encode_history(&history).unwrap();
    report.absorb(losses);
    report
}

/// The dialects in whose report no entry has one of the names.
fn unnamed(from: Dialect, document: &Value, names: &[&str]) -> Vec<String> {
    let has = |report: &Report, name: &str| {
        let mut losses = report.losses.iter();
        losses.any(|loss| loss.what.contains(name))
    };
    let others = Dialect::ALL.into_iter().filter(|to| {
        // Their contents keep the original.
        *to != from && !matches!(to, Dialect::AgentFramework | Dialect::Neutral)
    });
    let unnamed = others.flat_map(|to| {
        let report = report(from, to, document);
        let missing = names.iter().filter(|name| !has(&report, name));
        let missing = missing.map(|name| format!("{to}: {name}: {:?}", report.losses));
        missing.collect::<Vec<_>>()
    });
    unnamed.collect()
}

#[track_caller]
fn assert_named(from: Dialect, document: &Value, names: &[&str]) {
    assert_eq!(unnamed(from, document, names), [""; 0], "{document}");
}

#[track_caller]
fn assert_nothing_is_silent(dialect: Dialect, document: &Value) {
    let report = check_document(dialect, DocumentKind::History, document);
    assert_eq!(report.difference, None, "{document}");
    for pair in report.pairs {
        let mut findings = pair.findings.iter();
        let silent = findings.find(|finding| finding.fault == Fault::SilentLoss);
        assert_eq!(silent, None, "to {}", pair.to);
    }
}

#[test]
fn known_names_in_an_object_that_nobody_knows_are_named() {
    let document = json!([
        {"type": "function.call", "tool_call_id": "abcdefgh1", "name": "water", "arguments": "{}",
            "confirmation_status": {"code": "pump-on", "status": "half-way", "language": "welsh-1"}},
        {"type": "function.result", "tool_call_id": "abcdefgh1", "result": "Forty litres."},
    ]);
    let from = Dialect::MistralConversations;
    let others = unnamed(from, &document, &["code", "status", "language"]);
    assert_eq!(others, [""; 0]);
}

#[test]
fn the_code_of_a_safety_check_is_named() {
    let document = json!([
        {"type": "computer_call", "id": "cu_1", "call_id": "call_1", "status": "completed",
            "action": {"type": "click", "x": 5, "y": 6, "button": "left"}, "pending_safety_checks": []},
        {"type": "computer_call_output", "id": "cuo_1", "call_id": "call_1",
            "output": {"type": "computer_screenshot", "image_url": "https://img.example/garden.png"},
            "acknowledged_safety_checks": [
                {"id": "sc_1", "code": "irrelevant_domain", "message": "Look at the domain."},
            ]},
    ]);
    assert_nothing_is_silent(Dialect::OpenaiResponses, &document);
}

#[test]
fn a_small_number_is_missing_with_what_stands_beside_it() {
    let document = json!([{"role": "user", "parts": [
        {"fileData": {"mimeType": "video/mp4", "fileUri": "https://video.example/garden"},
            "videoMetadata": {"startOffset": "31s", "endOffset": "95s", "fps": 2}},
        {"text": "Which of the 2 pumps runs?"},
    ]}]);
    let from = Dialect::GoogleGenerateContent;
    let report = report(from, Dialect::GoogleInteractions, &document);
    let mut losses = report.losses.iter();
    assert!(losses.any(|loss| loss.what.contains("fps")), "{report:?}");
}

#[test]
fn an_argument_that_its_action_does_not_take_is_named() {
    let action = json!({"coordinate": [3, 4], "url": "https://garden.example/pump", "seconds": 86});
    let document = json!([
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "toolu_1", "name": "left_click", "input": action}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Clicked."}]},
    ]);
    let mut computer = document.clone();
    computer[0]["content"][0]["name"] = "computer".into();
    computer[0]["content"][0]["input"]["action"] = "left_click".into();
    for document in [document, computer] {
        let to_chat = report(Dialect::AnthropicMessages, Dialect::Functions, &document);
        let is_named = |name: &str| to_chat.losses.iter().any(|loss| loss.what.contains(name));
        let arrived = Dialect::AnthropicMessages
            .decode_history(document.to_string())
            .map(|(history, _)| Dialect::Functions.encode_history(&history).unwrap().0)
            .unwrap()
            .to_string();
        for (name, value) in [("url", "garden.example/pump"), ("seconds", "86")] {
            assert!(
                arrived.contains(value) || is_named(name),
                "{name}: {to_chat:?}"
            );
        }
    }
}

#[test]
fn tools_that_a_service_executed_are_named_beside_a_call_of_ours() {
    let document = json!([
        {"role": "user", "content": "How many litres?"},
        {"role": "assistant", "content": "I look.", "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "shell", "arguments": "{\"command\":\"ls\"}"}}],
            "executed_tools": [
                {"index": 0, "type": "python", "arguments": "{\"code\": \"print(2+2)\", \"url\": \"https://pump.example\"}"},
                {"index": 1, "type": "search", "arguments": {"query": "pump prices", "language": ["welsh-1"]}},
            ]},
        {"role": "tool", "tool_call_id": "call_1", "content": "pump.txt"},
    ]);
    assert_nothing_is_silent(Dialect::Functions, &document);
    let names = ["code", "url", "query", "language"];
    let others = unnamed(Dialect::Functions, &document, &names);
    let others: Vec<String> = others
        .into_iter()
        .filter(|line| !line.starts_with("functions") && !line.starts_with("mistral-chat"))
        .collect();
    assert_eq!(others, [""; 0]);
}

#[test]
fn the_name_of_a_result_that_is_no_text_is_named() {
    let document = json!([
        {"type": "function_call", "id": "call_1", "name": "water", "arguments": {}},
        {"type": "function_result", "call_id": "call_1", "name": 8_812_345, "result": "Forty litres."},
    ]);
    assert_nothing_is_silent(Dialect::GoogleInteractions, &document);
}

#[test]
fn an_item_with_a_type_that_is_no_text_is_named() {
    let item = json!([{"type": ["quarterly"], "role": "user", "content": "Water the garden."}]);
    assert_named(Dialect::OpenaiResponses, &item, &["quarterly", "type"][1..]);
    assert_named(Dialect::MistralConversations, &item, &["type"]);
}

#[test]
fn a_content_without_a_type_is_named_by_its_members() {
    let document = json!([{"role": "user", "contents": [{"text": "q", "hint": "slow"}]}]);
    assert_named(Dialect::Neutral, &document, &["text", "hint"]);
}

/// The problem of a call of a function of ours with these arguments.
fn problem(name: &str, arguments: &Value) -> Option<String> {
    let call = json!({"name": name, "arguments": arguments.to_string()});
    let message = json!([{"role": "assistant", "content": null, "tool_calls": [
        {"id": "call_1", "type": "function", "function": call}]}]);
    let (history, _) = Dialect::Functions
        .decode_history(message.to_string())
        .unwrap();
    let json = serde_json::to_value(&history.messages[0].contents[0]).unwrap();
    json["exception"].as_str().map(str::to_owned)
}

#[test]
fn a_command_with_an_unreadable_setting_is_not_executed() {
    let odd = [
        ("cwd", json!(5)),
        ("cwd", json!(["/srv"])),
        ("user", json!({"name": "root"})),
        ("env", json!("PATH=/srv")),
        ("env", json!(["PATH=/srv"])),
        ("timeout_ms", json!("soon")),
        ("timeout_ms", json!(-4)),
        ("timeout_ms", json!([4])),
        ("max_output", json!({"lines": 4})),
        ("action", json!(7)),
        ("job", json!(3)),
    ];
    for (name, value) in odd {
        let arguments = json!({"command": "rm -r build", name: value});
        let problem = problem("shell", &arguments);
        let is_named = |problem: &String| problem.contains(&format!("`{name}` is"));
        assert!(
            problem.as_ref().is_some_and(is_named),
            "{arguments}: {problem:?}"
        );
    }
    for (name, value) in [
        ("timeout_ms", json!(2500.0)),
        ("timeout_ms", json!("2500")),
        ("timeout_ms", json!("")),
        ("timeout_ms", json!(0)),
        ("max_output", json!(null)),
        ("cwd", json!(null)),
        ("env", json!({})),
        ("env", json!("")),
    ] {
        let arguments = json!({"command": "ls", name: value});
        assert_eq!(problem("shell", &arguments), None, "{arguments}");
    }
}

#[test]
fn an_action_of_the_shell_lacks_what_it_needs() {
    for (arguments, expected) in [
        (
            json!({"action": "send_text"}),
            "`send_text` requires `text`",
        ),
        (json!({"action": "read"}), "`read` requires `job`"),
        (
            json!({"action": "send_text", "text": 5}),
            "`text` is 5, expected a string",
        ),
        (
            json!({"action": "stop", "job": ["a"]}),
            "`job` is [\"a\"], expected a string",
        ),
    ] {
        assert_eq!(problem("shell", &arguments).as_deref(), Some(expected));
    }
}

#[test]
fn a_target_that_is_no_text_is_not_replaced_by_the_default() {
    let arguments = json!({"action": "screenshot", "target": 5});
    for name in ["computer", "browser"] {
        let problem = problem(name, &arguments).unwrap_or_default();
        assert!(problem.contains("`target` is 5"), "{name}: {problem}");
    }
}

#[test]
fn responses_of_ollama_and_items_of_any_kind_are_recognized() {
    let ollama = json!({"model": "qwen3", "created_at": "2026-09-09T10:00:00Z", "done": true,
        "done_reason": "stop", "message": {"role": "assistant", "content": "Forty litres."}});
    assert_eq!(
        recognize(&ollama),
        Some((Dialect::Functions, DocumentKind::Response))
    );
    let items = json!([
        {"role": "user", "content": "Which tools?"},
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": false},
    ]);
    assert_eq!(
        recognize(&items),
        Some((Dialect::OpenaiResponses, DocumentKind::History))
    );
    let items = json!([
        {"role": "user", "content": "Go on."},
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "c2VhbGVk"},
    ]);
    assert_eq!(
        recognize(&items),
        Some((Dialect::OpenaiResponses, DocumentKind::History))
    );
}

#[test]
fn a_parameter_without_a_readable_name_is_named_or_followed() {
    let call = |parameters: Value| {
        json!({"invocationInputs": [{"functionInvocationInput": {"actionGroup": "garden",
            "function": "water", "parameters": parameters}}], "invocationId": "inv-1"})
    };
    for parameters in [
        json!(["forty litres"]),
        json!([{"name": 8_812_345, "type": "string", "value": "forty litres"}]),
        json!([{"name": ["amount-9"], "value": "forty litres"}, 7_391_746]),
    ] {
        assert_nothing_is_silent(Dialect::BedrockAgents, &call(parameters));
    }
}

#[test]
fn an_unreadable_image_after_a_result_is_named() {
    let document = |image: Value| {
        json!([
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "computer", "arguments": "{\"action\":\"screenshot\"}"}}]},
            {"role": "tool", "tool_call_id": "call_1", "content": "Done."},
            {"role": "user", "content": [
                {"type": "text", "text": "The image that call call_1 returned:"},
                {"type": "image_url", "image_url": image}]},
        ])
    };
    for image in [
        json!(["garden-1"]),
        json!({"url": {"of": "garden-1"}}),
        json!(7_391_746),
    ] {
        assert_nothing_is_silent(Dialect::Functions, &document(image));
    }
}

#[test]
fn a_declaration_of_an_unreadable_form_is_named() {
    let options = telechir_providers::TranslationOptions::default();
    let is_named = |from: Dialect, document: Value, word: &str| {
        // The neutral document keeps the original.
        let others = Dialect::ALL.into_iter();
        for to in others.filter(|to| *to != from && *to != Dialect::Neutral) {
            let translated = from.translate(to, document.to_string().as_bytes(), &options);
            let losses = translated.unwrap().report.losses;
            let mut losses = losses.iter();
            assert!(losses.any(|loss| loss.what.contains(word)), "{to}: {word}");
        }
    };
    is_named(
        Dialect::BedrockConverse,
        json!({"messages": [{"role": "user", "content": [{"text": "Water it."}]}], "toolConfig": {"tools": [
            {"toolSpec": {"name": "water", "inputSchema": ["litres"]}}]}}),
        "inputSchema",
    );
    for kind in [json!(["bash_20250124"]), json!(7), json!({"of": "bash"})] {
        let document = json!({"model": "claude-x", "max_tokens": 9, "messages": [{"role": "user", "content": "Water it."}],
            "tools": [{"type": kind, "name": "bash"}]});
        let options = &options;
        for to in [
            Dialect::OpenaiResponses,
            Dialect::Functions,
            Dialect::BedrockConverse,
        ] {
            let from = Dialect::AnthropicMessages;
            let translated = from.translate(to, document.to_string().as_bytes(), options);
            let losses = translated.unwrap().report.losses;
            let mut losses = losses.iter();
            assert!(
                losses.any(|loss| loss.location == "/tools/0"),
                "{to}: {kind}"
            );
        }
    }
}

#[test]
fn a_result_of_google_that_is_no_object_stays_a_result() {
    for response in [json!("Forty litres."), json!(["Forty litres.", 7_391_746])] {
        for name in ["water", "click_at", "shell"] {
            let document = json!([
                {"role": "model", "parts": [{"functionCall": {"id": "call-1", "name": name, "args": {"x": 1, "y": 2, "command": "ls"}}}]},
                {"role": "user", "parts": [{"functionResponse": {"id": "call-1", "name": name, "response": response}}]},
            ]);
            assert_nothing_is_silent(Dialect::GoogleGenerateContent, &document);
        }
    }
}

#[test]
fn keys_of_an_action_without_keys_are_named() {
    let scroll = json!({"action": "scroll", "coordinate": [5, 6], "scroll_direction": "up",
        "scroll_amount": "3", "keys": "zz"});
    let document = json!([
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "toolu_1", "name": "computer", "input": scroll}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Scrolled."}]},
    ]);
    assert_nothing_is_silent(Dialect::AnthropicMessages, &document);
}

#[test]
fn a_short_value_is_missing_with_what_stands_beside_it() {
    let citation = json!({"type": "char_location", "cited_text": "six", "document_index": 0,
        "document_title": "Tides of the year", "start_char_index": 2, "end_char_index": 5});
    let document = json!([{"role": "assistant", "content": [
        {"type": "text", "text": "High at six.", "citations": [citation]}]}]);
    assert_nothing_is_silent(Dialect::AnthropicMessages, &document);
}

/// Two calls whose results have each other's name, at the tools of a screen and at functions.
#[test]
fn the_name_of_another_function_at_a_result_arrives_or_is_named() {
    for (first, second) in [
        ("click", "navigate"),
        ("sprinkle", "drain"),
        ("click", "drain"),
    ] {
        let args = |name: &str| match name {
            "click" => json!({"x": 300, "y": 400}),
            _ => json!({"url": "https://pump.example"}),
        };
        let call = |id: &str, name: &str| json!({"functionCall": {"id": id, "name": name, "args": args(name)}});
        let answer = |id: &str, name: &str| json!({"functionResponse": {"id": id, "name": name, "response": {"url": "https://pump.example"}}});
        let parts = json!([
            {"role": "model", "parts": [call("c1", first), call("c2", second)]},
            {"role": "user", "parts": [answer("c1", second), answer("c2", "rinse")]},
        ]);
        let call = |id: &str, name: &str| json!({"type": "function_call", "id": id, "name": name, "arguments": args(name)});
        let answer = |id: &str, name: &str| json!({"type": "function_result", "call_id": id, "name": name, "result": "Done."});
        let steps = json!([
            call("c1", first),
            call("c2", second),
            answer("c1", second),
            answer("c2", "rinse"),
        ]);
        let call = |id: &str, name: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": args(name).to_string()}});
        let answer = |id: &str, name: &str| json!({"role": "tool", "tool_call_id": id, "name": name, "content": "Done."});
        let messages = json!([
            {"role": "assistant", "content": null, "tool_calls": [
                call("abcdefgh1", first), call("abcdefgh2", second)]},
            answer("abcdefgh1", second), answer("abcdefgh2", "rinse"),
        ]);
        for (from, document) in [
            (Dialect::GoogleGenerateContent, &parts),
            (Dialect::GoogleInteractions, &steps),
            (Dialect::Functions, &messages),
            (Dialect::MistralChat, &messages),
        ] {
            for to in Dialect::ALL {
                // Their contents keep the original.
                if to == from || matches!(to, Dialect::AgentFramework | Dialect::Neutral) {
                    continue;
                }
                let (history, mut report) = from.decode_history(document.to_string()).unwrap();
                let (written, losses) = to.encode_history(&history).unwrap();
                report.absorb(losses);
                let lost: Vec<&str> = report
                    .losses
                    .iter()
                    .map(|loss| loss.what.as_str())
                    .collect();
                for (id, name) in [("1", second), ("2", "rinse")] {
                    let is_named =
                        |what: &&&str| what.contains(&format!("`{name}`")) && what.ends_with(id);
                    let named = lost.iter().filter(is_named).count();
                    let has_name = has_result(&written, id, name);
                    assert_eq!(
                        named + usize::from(has_name),
                        1,
                        "{from} to {to}: {name} of {id}: {lost:?} {written}"
                    );
                }
            }
        }
    }
}

/// Whether a document has a result of the call whose id ends in `id` with a tool's name.
fn has_result(document: &Value, id: &str, name: &str) -> bool {
    match document {
        Value::Array(items) => items.iter().any(|item| has_result(item, id, name)),
        Value::Object(members) => {
            let ids = ["id", "call_id", "tool_call_id"].iter();
            let mut ids = ids.filter_map(|id| members.get(*id)?.as_str());
            let is_result = ["response", "result", "content"]
                .iter()
                .any(|member| members.contains_key(*member));
            (is_result
                && members.get("name") == Some(&name.into())
                && ids.any(|own| own.ends_with(id)))
                || members.values().any(|value| has_result(value, id, name))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[test]
fn a_failed_result_may_hold_its_error_as_json() {
    let document = json!([
        {"type": "function_call", "id": "c1", "name": "navigate", "arguments": {"url": "https://pump.example"}},
        {"type": "function_result", "call_id": "c1", "name": "navigate", "is_error": true, "result": [
            {"type": "text", "text": "{\"url\": \"about:blank\", \"error\": \"The name has no address.\"}"}]},
    ]);
    assert_nothing_is_silent(Dialect::GoogleInteractions, &document);
}

#[test]
fn what_stands_around_a_list_of_entries_is_named_with_its_changes() {
    let document = json!({"object": "conversation.history", "conversation_id": "conv_71", "entries": [
        {"object": "entry", "type": "message.input", "role": "user", "content": "How many litres?"},
    ]});
    let from = Dialect::MistralConversations;
    let changed = ChangedDocument::new(from, TranslationScope::Document, &document);
    let changes = Change::all(&document).into_iter();
    let changes: Vec<Change> = changes.chain(Change::types(&document)).collect();
    for to in Dialect::ALL.into_iter().filter(|to| *to != from) {
        let lost: Vec<_> = changes
            .iter()
            .filter_map(|change| changed.follow(change, to))
            .collect();
        assert_eq!(lost, [], "{to}");
    }
}

/// Two screenshots with addresses, of which only one has a type that Google keeps beside it.
#[test]
fn the_type_of_an_image_behind_an_address_is_named() {
    let result = |id: &str, screenshot: Value| {
        json!({"role": "tool", "contents": [
            {"type": "computer_tool_result", "call_id": id, "screenshot": screenshot}]})
    };
    let call = |id: &str| {
        json!({"role": "assistant", "contents": [
            {"type": "computer_tool_call", "call_id": id, "actions": [{"type": "screenshot"}]}]})
    };
    let document = json!([
        call("c1"),
        result(
            "c1",
            json!({"type": "uri", "uri": "https://img.example/first", "media_type": "image/png"})
        ),
        call("c2"),
        result(
            "c2",
            json!({"type": "data", "uri": "data:image/png;base64,iVBORw0KGgo=", "media_type": "image/png"})
        ),
    ]);
    let (history, _) = Dialect::AgentFramework
        .decode_history(document.to_string())
        .unwrap();
    for to in [Dialect::OpenaiResponses, Dialect::AnthropicMessages] {
        let (_, report) = to.encode_history(&history).unwrap();
        let whats: Vec<&str> = report
            .losses
            .iter()
            .map(|loss| loss.what.as_str())
            .collect();
        let named = whats
            .iter()
            .filter(|what| what.contains("media type `image/png`"));
        assert_eq!(named.count(), 1, "{to}: {whats:?}");
    }
}
