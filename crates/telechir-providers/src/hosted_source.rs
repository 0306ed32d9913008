//! What shows around the contents of a response that the model read something at its provider: the
//! sources of an answer, the tools that the service executed, what it counted.

use serde_json::Value;
use telechir_protocol::{cites_outside, hosted_source_named};

use crate::json::is_empty;

/// Members that a service adds where it searched, fetched or executed something for the model.
const SOURCES: [&str; 12] = [
    "groundingMetadata",
    "grounding_metadata",
    "urlContextMetadata",
    "url_context_metadata",
    "search_results",
    "web_search",
    "executed_tools",
    "hosted_tools",
    "citations",
    "annotations",
    "citationsContent",
    "retrieved_context",
];

/// The same where only a member of this object is one: Azure's `context` of a message.
const CONTEXT: &str = "context";
const OF_CONTEXT: [&str; 3] = ["citations", "intent", "all_retrieved_documents"];

/// Counters of hosted tools and of the tokens of their results.
const COUNTERS: [&str; 8] = [
    "web_search_requests",
    "web_fetch_requests",
    "num_sources_used",
    "num_search_queries",
    "toolUsePromptTokenCount",
    "tool_use_prompt_token_count",
    "total_tool_use_tokens",
    "num_server_side_tools_used",
];

/// Members in which a model writes what it likes.
const OF_THE_MODEL: [&str; 9] = [
    "arguments",
    "returned_arguments",
    "args",
    "input",
    "inputs",
    "parameters",
    "toolInput",
    "raw_representation",
    "actions",
];

/// The first source around the contents of a response of any dialect; none if nothing shows one.
pub(crate) fn find(response: &Value) -> Option<String> {
    match response {
        Value::Array(items) => items.iter().find_map(find),
        Value::Object(members) => members.iter().find_map(|(name, value)| {
            let name = name.as_str();
            if OF_THE_MODEL.contains(&name) {
                return None;
            }
            let shows = match name {
                CONTEXT => OF_CONTEXT.iter().any(|of| is_source(&value[*of])),
                _ if SOURCES.contains(&name) => is_source(value),
                _ if COUNTERS.contains(&name) => is_counted(value),
                _ => false,
            };
            match shows {
                true => Some(hosted_source_named(name)),
                false => find(value),
            }
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Whether the member has anything, other than citations of the caller's own documents.
fn is_source(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => false,
        Value::Number(_) => is_counted(value),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => items.iter().any(cites_outside),
        Value::Object(members) => match members.get("citations") {
            Some(citations) => is_source(citations),
            None => members.values().any(|value| !is_empty(value)),
        },
    }
}

/// Whether a number, or one inside of the value, is above zero.
fn is_counted(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64().is_some_and(|number| number > 0.0),
        Value::Array(items) => items.iter().any(is_counted),
        Value::Object(members) => members.values().any(is_counted),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}
