//! Every hosted tool of every provider: declared in the other provider's form, or reported by name.

use serde_json::{Value, json};
use telechir_providers::Dialect;

use super::translate;

/// A request with one tool, and the tool's name.
fn requests() -> Vec<(Dialect, Value, String)> {
    let anthropic = [
        json!({"type": "web_search_20260318", "name": "web_search", "max_uses": 3}),
        json!({"type": "web_fetch_20260318", "name": "web_fetch"}),
        json!({"type": "code_execution_20260120", "name": "code_execution"}),
        json!({"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}),
        json!({"type": "advisor_20260301", "name": "advisor", "model": "claude-opus-5"}),
    ];
    let openai = [
        json!({"type": "file_search", "vector_store_ids": ["vs_91"], "max_num_results": 7}),
        json!({"type": "web_search"}),
        json!({"type": "code_interpreter", "container": {"type": "auto"}}),
        json!({"type": "image_generation"}),
        json!({"type": "tool_search"}),
        json!({"type": "programmatic_tool_calling"}),
        json!({"type": "mcp", "server_label": "notes", "connector_id": "connector_drive"}),
    ];
    let generate = [
        json!({"fileSearch": {"fileSearchStoreNames": ["fileSearchStores/reports"], "topK": 4}}),
        json!({"googleMaps": {"enableWidget": true}}),
        json!({"googleSearch": {}}),
        json!({"urlContext": {}}),
        json!({"enterpriseWebSearch": {}}),
        json!({"retrieval": {"vertexAiSearch": {"datastore": "d"}}}),
    ];
    let steps = [
        json!({"type": "file_search", "file_search_store_names": ["fileSearchStores/reports"]}),
        json!({"type": "google_maps", "latitude": 48.25}),
        json!({"type": "retrieval", "retrieval_types": ["rag_store"]}),
        json!({"type": "tool_search"}),
    ];
    let conversations = [
        json!({"type": "document_library", "library_ids": ["lib_3"]}),
        json!({"type": "web_search_premium"}),
        json!({"type": "connector", "connector_id": "c_1"}),
    ];
    let request = |dialect: Dialect, tool: Value| {
        let messages = json!([{"role": "user", "content": "Look it up."}]);
        match dialect {
            Dialect::AnthropicMessages => {
                json!({"model": "m", "max_tokens": 9, "messages": messages, "tools": [tool]})
            }
            Dialect::GoogleGenerateContent => {
                json!({"contents": [{"role": "user", "parts": [{"text": "Look it up."}]}], "tools": [tool]})
            }
            Dialect::MistralConversations => {
                json!({"model": "m", "inputs": "Look it up.", "tools": [tool]})
            }
            _ => json!({"model": "m", "input": "Look it up.", "tools": [tool]}),
        }
    };
    let all = [
        (Dialect::AnthropicMessages, anthropic.to_vec()),
        (Dialect::OpenaiResponses, openai.to_vec()),
        (Dialect::GoogleGenerateContent, generate.to_vec()),
        (Dialect::GoogleInteractions, steps.to_vec()),
        (Dialect::MistralConversations, conversations.to_vec()),
    ];
    let mut requests = Vec::new();
    for (dialect, tools) in all {
        for tool in tools {
            let name = match tool["type"].as_str() {
                Some(kind) => kind.to_owned(),
                None => tool
                    .as_object()
                    .expect("a tool")
                    .keys()
                    .next()
                    .expect("a name")
                    .clone(),
            };
            requests.push((dialect, request(dialect, tool), name));
        }
    }
    requests
}

#[test]
fn a_hosted_tool_is_declared_or_reported_by_its_name() {
    let mut lost = Vec::new();
    for (from, request, name) in requests() {
        for to in Dialect::ALL.into_iter().filter(|to| *to != from) {
            let translated = translate(from, to, &request);
            let written = translated.document.to_string();
            let is_declared = [
                "/tools",
                "/toolConfig/tools",
                "/options/tools",
                "/actionGroups",
            ]
            .iter()
            .any(|pointer| translated.document.pointer(pointer).is_some());
            let losses = &translated.report.losses;
            let is_reported = losses.iter().any(|loss| {
                // The names of an agent's action groups, and the member of all tools.
                let without_tools = matches!(to, Dialect::BedrockAgents | Dialect::Neutral);
                let is_tools = loss.what.contains("tools") && without_tools;
                loss.what.contains(&name) || is_tools
            });
            if !is_declared && !is_reported {
                lost.push(format!("{from} to {to}: `{name}` {losses:?} {written}"));
            }
        }
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}

#[test]
fn a_search_of_files_goes_over_between_the_apis_of_one_provider() {
    let request = json!({"contents": [{"role": "user", "parts": [{"text": "Which harvest was best?"}]}],
        "tools": [{"fileSearch": {"fileSearchStoreNames": ["fileSearchStores/farm"], "topK": 6, "metadataFilter": "year > 2019"}}]});
    let there = translate(
        Dialect::GoogleGenerateContent,
        Dialect::GoogleInteractions,
        &request,
    );
    let tool = json!({"type": "file_search", "file_search_store_names": ["fileSearchStores/farm"],
        "top_k": 6, "metadata_filter": "year > 2019"});
    assert_eq!(there.document["tools"], json!([tool]));
    let back = translate(
        Dialect::GoogleInteractions,
        Dialect::GoogleGenerateContent,
        &there.document,
    );
    assert_eq!(back.document["tools"], request["tools"]);
}

#[test]
fn the_stores_of_another_provider_are_named() {
    let request = json!({"model": "gpt-6", "input": "Which harvest was best?",
        "tools": [{"type": "file_search", "vector_store_ids": ["vs_farm"], "max_num_results": 6}]});
    for to in [
        Dialect::AnthropicMessages,
        Dialect::GoogleGenerateContent,
        Dialect::MistralConversations,
    ] {
        let losses = translate(Dialect::OpenaiResponses, to, &request)
            .report
            .losses;
        for (what, why) in [
            ("tool `file_search`", "exist only at their provider"),
            ("`vector_store_ids`", "no such setting"),
            ("`max_num_results`", "no such setting"),
        ] {
            let is_named = |loss: &telechir_providers::Loss| {
                loss.what.contains(what) && loss.why.contains(why)
            };
            assert!(losses.iter().any(is_named), "{to}: {what}: {losses:?}");
        }
    }
}
