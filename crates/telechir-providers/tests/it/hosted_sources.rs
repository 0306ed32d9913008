//! What a model read at its provider is found in the responses of every dialect.

use std::fs;

use serde_json::{Value, json};
use telechir_providers::Dialect;

fn source(dialect: &str, response: &Value) -> Option<String> {
    let dialect: Dialect = dialect.parse().unwrap();
    let (turn, _) = dialect.decode_response(response.to_string()).unwrap();
    turn.hosted_source()
}

fn vector(path: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors");
    serde_json::from_slice(&fs::read(format!("{folder}/{path}")).unwrap()).unwrap()
}

/// A response of chat completions with more members of its message and of itself.
fn chat(message: &Value, response: &Value) -> Value {
    let mut document = json!({"choices": [{"index": 0, "message":
        {"role": "assistant", "content": "x"}, "finish_reason": "stop"}]});
    let into = |target: &mut Value, members: &Value| {
        let members = members.as_object().unwrap().clone();
        target.as_object_mut().unwrap().extend(members);
    };
    into(&mut document["choices"][0]["message"], message);
    into(&mut document, response);
    document
}

fn google(candidate: &str, value: &Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "x"}]},
        "finishReason": "STOP", candidate: value}]})
}

fn converse(content: &Value) -> Value {
    json!({"output": {"message": {"role": "assistant", "content": [content]}},
        "stopReason": "end_turn"})
}

fn anthropic(content: &Value) -> Value {
    json!({"type": "message", "role": "assistant", "content": [content], "stop_reason": "end_turn"})
}

fn interactions(step: &Value) -> Value {
    json!({"id": "i", "status": "completed", "steps": [step]})
}

#[test]
fn searches_fetches_and_connectors_of_every_provider_are_found() {
    let found = anthropic(
        &json!({"type": "web_search_tool_result", "tool_use_id": "s",
        "content": [{"type": "web_search_result", "url": "https://a.example",
            "encrypted_content": "x"}]}),
    );
    let fetched = anthropic(&json!({"type": "web_fetch_tool_result", "tool_use_id": "s",
        "content": {"type": "web_fetch_result", "url": "https://a.example"}}));
    let connected = anthropic(&json!({"type": "mcp_tool_result", "tool_use_id": "s",
        "content": [{"type": "text", "text": "x"}], "is_error": false}));
    let mut counted = anthropic(&json!({"type": "text", "text": "x"}));
    counted["usage"] = json!({"server_tool_use": {"web_search_requests": 1}});
    let search = json!({"output": [{"type": "web_search_call", "id": "w", "status": "completed"}]});
    let files = json!({"output": [{"type": "file_search_call", "id": "f", "status": "completed",
        "queries": ["x"], "results": null}]});
    let mcp = json!({"output": [{"type": "mcp_call", "id": "m", "name": "read",
        "server_label": "s", "arguments": "{}", "output": "x"}]});
    let cited = json!([{"type": "url_citation", "url_citation": {"url": "https://a.example"}}]);
    let cited = chat(&json!({"annotations": cited}), &json!({}));
    let chunks = json!({"groundingChunks": [{"web": {"uri": "https://a.example"}}]});
    let of_a_tool = json!({"url": "https://a.example"});
    let step = json!({"type": "google_search_result", "call_id": "g", "result": [of_a_tool]});
    let located = json!({"citationsContent": {"content": [{"text": "x"}],
        "citations": [{"location": {"web": {"url": "https://a.example"}}}]}});
    let nova = json!({"toolResult": {"toolUseId": "t", "type": "nova_grounding_result",
        "content": [{"text": "x"}]}});
    let executed = json!([{"type": "search", "output": "x"}]);
    let neutral = json!([{"type": "function_result", "call_id": "c", "name": "s", "result": "x"}]);
    let by_framework = json!({"messages": [{"role": "assistant", "contents": neutral}]});
    let of_an_agent = json!({"completion": [{"chunk": {"bytes": "eA==",
        "attribution": {"citations": [{"retrievedReferences": [{"content": {"text": "x"}}]}]}}}]});
    for (dialect, response) in [
        ("anthropic-messages", &found),
        ("anthropic-messages", &fetched),
        ("anthropic-messages", &connected),
        ("anthropic-messages", &counted),
        (
            "anthropic-messages",
            &vector("anthropic/message__pause_turn.json"),
        ),
        ("bedrock-messages", &found),
        ("bedrock-invoke", &found),
        ("bedrock-converse", &converse(&located)),
        ("bedrock-converse", &converse(&nova)),
        ("bedrock-agents", &of_an_agent),
        ("openai-responses", &search),
        ("openai-responses", &files),
        ("openai-responses", &mcp),
        (
            "openai-responses",
            &vector("openai/output.hosted_others.json"),
        ),
        (
            "openai-responses",
            &vector("openai/response.shell_hosted.json"),
        ),
        (
            "google-generate-content",
            &google("groundingMetadata", &chunks),
        ),
        (
            "google-generate-content",
            &google("urlContextMetadata", &json!({"urlMetadata": [of_a_tool]})),
        ),
        (
            "google-generate-content",
            &vector("google/gc_response__code_execution.json"),
        ),
        ("google-interactions", &interactions(&step)),
        (
            "google-interactions",
            &vector("google/ix_response__server_tools.json"),
        ),
        ("functions", &cited),
        ("functions-inline", &cited),
        (
            "functions",
            &chat(&json!({"executed_tools": executed}), &json!({})),
        ),
        (
            "functions",
            &chat(
                &json!({"context": {"citations": [{"content": "x"}]}}),
                &json!({}),
            ),
        ),
        (
            "functions",
            &chat(&json!({}), &json!({"citations": ["https://a.example"]})),
        ),
        (
            "functions",
            &chat(&json!({}), &json!({"search_results": [of_a_tool]})),
        ),
        (
            "functions",
            &chat(&json!({}), &json!({"usage": {"num_sources_used": 2}})),
        ),
        ("mistral-chat", &cited),
        (
            "mistral-conversations",
            &vector("mistral/response__web_search.json"),
        ),
        (
            "mistral-conversations",
            &vector("mistral/response__connector_allowed.json"),
        ),
        (
            "mistral-conversations",
            &vector("mistral/response__document_library.json"),
        ),
        ("agent-framework", &by_framework),
        (
            "agent-framework",
            &vector("agent-framework/history__hosted.json"),
        ),
        ("neutral", &neutral),
    ] {
        assert!(source(dialect, response).is_some(), "{dialect}: {response}");
    }
}

#[test]
fn responses_without_such_content_have_no_source() {
    let mut uncounted = anthropic(&json!({"type": "text", "text": "x", "citations": [
        {"type": "char_location", "cited_text": "of a document in the request"}]}));
    uncounted["usage"] = json!({"server_tool_use": {"web_search_requests": 0}});
    let of_the_caller = json!({"citationsContent": {"content": [{"text": "x"}],
        "citations": [{"location": {"documentChar": {"documentIndex": 0}}}]}});
    let arguments = json!({"type": "tool_use", "id": "t", "name": "note",
        "input": {"citations": ["x"], "search_results": ["x"], "context": {"intent": "x"}}});
    let idle = json!({"annotations": [], "executed_tools": [], "context": {}});
    let unused = json!({"citations": [], "search_results": null,
        "usage": {"num_sources_used": 0, "server_tool_use": {}}});
    for (dialect, response) in [
        ("anthropic-messages", &uncounted),
        ("anthropic-messages", &anthropic(&arguments)),
        ("bedrock-converse", &converse(&of_the_caller)),
        (
            "google-generate-content",
            &google("groundingMetadata", &json!({})),
        ),
        ("functions", &chat(&idle, &unused)),
        (
            "openai-responses",
            &json!({"output": [{"type": "message", "role": "assistant", "content": [
                {"type": "output_text", "text": "x", "annotations": []}]}]}),
        ),
        ("openai-responses", &vector("openai/response.computer.json")),
        (
            "openai-responses",
            &vector("openai/output.shell_call.local.json"),
        ),
        (
            "openai-responses",
            &vector("openai/output.image_generation_call.json"),
        ),
        ("openai-responses", &vector("openai/output.reasoning.json")),
        (
            "anthropic-messages",
            &vector("anthropic/message__thinking_then_tool.json"),
        ),
        ("bedrock-messages", &vector("bedrock/message__toolset.json")),
        (
            "bedrock-converse",
            &vector("bedrock/response__text_and_calls.json"),
        ),
        (
            "bedrock-agents",
            &vector("bedrock/return_control__interface.json"),
        ),
        (
            "google-generate-content",
            &vector("google/gc_response__parallel_calls.json"),
        ),
        (
            "google-interactions",
            &vector("google/ix_response__cu_requires_action.json"),
        ),
        (
            "functions",
            &vector("functions/response__all_browser_actions.json"),
        ),
        (
            "mistral-chat",
            &vector("mistral/chat_response__tool_calls.json"),
        ),
        (
            "mistral-conversations",
            &vector("mistral/response__our_tools.json"),
        ),
        (
            "mistral-conversations",
            &vector("mistral/conv_response__image_generation.json"),
        ),
        (
            "agent-framework",
            &vector("agent-framework/response__chat_response.json"),
        ),
        ("neutral", &vector("neutral/response__calls.json")),
    ] {
        assert_eq!(source(dialect, response), None, "{dialect}: {response}");
    }
}
