//! Settings of tools and instructions that several providers have: what is cached, where a search
//! looks, which MCP server the model uses.

use serde_json::{Value, json};
use telechir_providers::Dialect;

use super::{is_reported, translate};

fn cached_request() -> Value {
    json!({
        "modelId": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "system": [{"text": "Answer in one line."}, {"cachePoint": {"type": "default", "ttl": "1h"}}],
        "messages": [
            {"role": "user", "content": [
                {"text": "The novel: …"}, {"cachePoint": {"type": "default"}}, {"text": "Who is the thief?"},
            ]},
            {"role": "assistant", "content": [
                {"toolUse": {"toolUseId": "t-1", "name": "find", "input": {"word": "thief"}}},
            ]},
            {"role": "user", "content": [
                {"toolResult": {"toolUseId": "t-1", "content": [{"text": "page 90"}]}},
                {"cachePoint": {"type": "default", "ttl": "5m"}},
            ]},
        ],
        "toolConfig": {"tools": [
            {"toolSpec": {"name": "find", "inputSchema": {"json": {"type": "object", "properties": {"word": {"type": "string"}}}}}},
            {"cachePoint": {"type": "default"}},
        ]},
        "inferenceConfig": {"maxTokens": 900},
    })
}

#[test]
fn a_cache_point_is_the_marker_of_the_block_before_it() {
    let request = cached_request();
    let (from, to) = (Dialect::BedrockConverse, Dialect::AnthropicMessages);
    let there = translate(from, to, &request);
    let document = &there.document;
    let marker = json!({"type": "ephemeral"});
    let with_ttl = |ttl: &str| json!({"type": "ephemeral", "ttl": ttl});
    assert_eq!(document["system"][0]["cache_control"], with_ttl("1h"));
    assert_eq!(document["tools"][0]["cache_control"], marker);
    let content = &document["messages"][0]["content"];
    assert_eq!(content[0]["cache_control"], marker);
    assert_eq!(content[1]["text"], "Who is the thief?");
    let result = &document["messages"][2]["content"];
    assert_eq!(result[0]["cache_control"], with_ttl("5m"));
    assert_eq!(result.as_array().map(Vec::len), Some(1));
    let is_of_cache = |what: &str| what.contains("cache");
    assert!(
        !there
            .report
            .losses
            .iter()
            .any(|loss| is_of_cache(&loss.what))
    );

    let back = translate(to, from, document);
    for pointer in ["/system", "/messages", "/toolConfig/tools/1"] {
        assert_eq!(
            back.document.pointer(pointer),
            request.pointer(pointer),
            "{pointer}"
        );
    }
}

#[test]
fn a_cache_point_stays_where_it_is_in_its_own_dialect() {
    let mut request = cached_request();
    // One that no block precedes, two in a row, and one after thinking.
    request["messages"][0]["content"] = json!([
        {"cachePoint": {"type": "default"}}, {"text": "a"},
        {"cachePoint": {"type": "default"}}, {"cachePoint": {"type": "default", "ttl": "1h"}},
    ]);
    request["messages"][1]["content"]
        .as_array_mut()
        .expect("a list")
        .insert(
            0,
            json!({"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}),
        );
    request["messages"][1]["content"]
        .as_array_mut()
        .expect("a list")
        .insert(1, json!({"cachePoint": {"type": "default"}}));
    let dialect = Dialect::BedrockConverse;
    let (history, _) = dialect
        .decode_history(request.to_string())
        .expect("a request");
    let (written, report) = dialect.encode_history(&history).expect("a request");
    assert_eq!(written, request);
    assert!(report.is_lossless(), "{report:?}");
}

#[test]
fn a_cache_marker_without_a_counterpart_is_reported() {
    for to in [
        Dialect::OpenaiResponses,
        Dialect::GoogleGenerateContent,
        Dialect::Functions,
    ] {
        let translated = translate(Dialect::BedrockConverse, to, &cached_request());
        let losses = &translated.report.losses;
        let count = losses
            .iter()
            .filter(|loss| loss.what.contains("cache_control"))
            .count();
        assert!(count >= 4, "{to}: {losses:?}");
    }
}

#[test]
fn the_domains_and_the_location_of_a_search_go_along() {
    let location = json!({"type": "approximate", "city": "Bern", "country": "CH"});
    let request = json!({
        "model": "claude-sonnet-4-5", "max_tokens": 500,
        "messages": [{"role": "user", "content": "What is on tonight?"}],
        "tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": 3,
            "allowed_domains": ["bern.example"], "user_location": location}],
    });
    let there = translate(
        Dialect::AnthropicMessages,
        Dialect::OpenaiResponses,
        &request,
    );
    let tool = &there.document["tools"][0];
    assert_eq!(tool["type"], "web_search");
    assert_eq!(
        tool["filters"],
        json!({"allowed_domains": ["bern.example"]})
    );
    assert_eq!(tool["user_location"], location);
    assert!(is_reported(&there.report.losses, "/tools/0/max_uses"));

    let mut openai = there.document.clone();
    openai["tools"][0]["search_context_size"] = "low".into();
    let back = translate(
        Dialect::OpenaiResponses,
        Dialect::AnthropicMessages,
        &openai,
    );
    let tool = &back.document["tools"][0];
    assert_eq!(tool["allowed_domains"], json!(["bern.example"]));
    assert_eq!(tool["user_location"], location);
    assert!(is_reported(
        &back.report.losses,
        "/tools/0/search_context_size"
    ));

    let google = translate(
        Dialect::OpenaiResponses,
        Dialect::GoogleGenerateContent,
        &openai,
    );
    for pointer in ["/tools/0/filters/allowed_domains", "/tools/0/user_location"] {
        assert!(
            is_reported(&google.report.losses, pointer),
            "{:?}",
            google.report
        );
    }
}

#[test]
fn an_mcp_server_is_declared_by_each_provider_that_connects_to_one() {
    let request = json!({
        "model": "gpt-5.4", "input": "File a ticket.",
        "tools": [{"type": "mcp", "server_label": "tickets", "server_url": "https://mcp.example/t",
            "authorization": "token-5", "allowed_tools": ["file"]}],
    });
    let to = |dialect| translate(Dialect::OpenaiResponses, dialect, &request);
    let anthropic = to(Dialect::AnthropicMessages);
    let server = &anthropic.document["mcp_servers"][0];
    assert_eq!(
        *server,
        json!({"type": "url", "url": "https://mcp.example/t", "name": "tickets", "authorization_token": "token-5"})
    );
    assert_eq!(anthropic.document["tools"][0]["mcp_server_name"], "tickets");
    let google = to(Dialect::GoogleInteractions);
    let tool = &google.document["tools"][0];
    assert_eq!(
        *tool,
        json!({"type": "mcp_server", "name": "tickets", "url": "https://mcp.example/t",
            "headers": {"Authorization": "Bearer token-5"}})
    );
    for translated in [&anthropic, &google, &to(Dialect::Functions)] {
        assert!(is_reported(
            &translated.report.losses,
            "/tools/0/allowed_tools"
        ));
        assert!(!json!(translated.report).to_string().contains("token-5"));
    }
    assert!(is_reported(
        &to(Dialect::Functions).report.losses,
        "/tools/0"
    ));

    for (from, document) in [
        (Dialect::AnthropicMessages, &anthropic.document),
        (Dialect::GoogleInteractions, &google.document),
        (
            Dialect::GoogleGenerateContent,
            &to(Dialect::GoogleGenerateContent).document,
        ),
    ] {
        let back = translate(from, Dialect::OpenaiResponses, document);
        let tools = back.document["tools"].as_array().expect("a list");
        let server = tools.iter().find(|tool| tool["type"] == "mcp");
        let server = server.unwrap_or_else(|| panic!("{from}: {}", back.document));
        assert_eq!(server["server_label"], "tickets", "{from}");
        assert_eq!(server["server_url"], "https://mcp.example/t", "{from}");
        assert_eq!(server["authorization"], "token-5", "{from}");
    }
}
