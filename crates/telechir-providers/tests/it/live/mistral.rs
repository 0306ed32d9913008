//! Mistral's Conversations and chat APIs, and chat completions of other services.

use serde_json::{Value, json};
use telechir_providers::Dialect;

use super::{Rule, all, holds, list, members, of_type, texts};

const CHAT: &[Dialect] = &[Dialect::MistralChat];
const ENTRIES: &[Dialect] = &[Dialect::MistralConversations];
const TEXT_ONLY: &[Dialect] = &[Dialect::Functions];
const COMPLETIONS: &[Dialect] = &[
    Dialect::Functions,
    Dialect::FunctionsInline,
    Dialect::MistralChat,
];

fn messages(document: &Value) -> &[Value] {
    document
        .as_array()
        .map_or_else(|| list(document, "messages"), Vec::as_slice)
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        demand: "no user message directly follows a tool message",
        dialects: CHAT,
        check: |document| {
            messages(document).windows(2).try_for_each(|pair| {
                holds(
                    pair[0]["role"] != "tool" || pair[1]["role"] != "user",
                    &pair[1],
                )
            })
        },
        broken: || json!([{"role": "tool", "content": ""}, {"role": "user", "content": ""}]),
    },
    Rule {
        demand: "a result is a string",
        dialects: ENTRIES,
        check: |document| {
            all(of_type(document, "function.result"), |entry| {
                entry["result"].is_string()
            })
        },
        broken: || json!([{"type": "function.result", "tool_call_id": "a", "result": []}]),
    },
    Rule {
        demand: "a call that waits for the user gets a confirmation and no result",
        dialects: ENTRIES,
        check: |document| {
            let pending = of_type(document, "function.call").into_iter();
            let pending = pending.filter(|call| call["confirmation_status"] == "pending");
            let answered = of_type(document, "function.result");
            all(pending, |call| {
                !answered
                    .iter()
                    .any(|result| result["tool_call_id"] == call["tool_call_id"])
            })
        },
        broken: || {
            json!([
                {"type": "function.call", "tool_call_id": "a", "confirmation_status": "pending"},
                {"type": "function.result", "tool_call_id": "a", "result": ""},
            ])
        },
    },
    Rule {
        demand: "a tool message holds only text",
        dialects: TEXT_ONLY,
        check: |document| {
            let tools = messages(document)
                .iter()
                .filter(|message| message["role"] == "tool");
            all(tools.flat_map(|message| list(message, "content")), |part| {
                part["type"] == "text"
            })
        },
        broken: || json!([{"role": "tool", "content": [{"type": "image_url"}]}]),
    },
    Rule {
        demand: "every call of a message is answered directly after it",
        dialects: COMPLETIONS,
        check: |document| {
            let messages = messages(document);
            for (at, message) in messages.iter().enumerate() {
                let ids = list(message, "tool_calls")
                    .iter()
                    .filter_map(|call| call["id"].as_str());
                let behind = messages[at + 1..]
                    .iter()
                    .take_while(|next| next["role"] == "tool");
                let answered: Vec<&str> = behind.map(|next| texts(next, "tool_call_id")).collect();
                let is_last = at + 1 == messages.len();
                for id in ids.filter(|id| *id != "null") {
                    holds(is_last || answered.contains(&id), message)?;
                }
            }
            Ok(())
        },
        broken: || {
            json!([
                {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]},
                {"role": "user", "content": "x"},
            ])
        },
    },
    Rule {
        demand: "arguments are a JSON string",
        dialects: &[Dialect::Functions, Dialect::FunctionsInline],
        check: |document| {
            let calls = members(document, "tool_calls")
                .into_iter()
                .filter_map(Value::as_array)
                .flatten();
            all(calls, |call| {
                call["function"].is_null()
                    || call["function"]["arguments"].is_string()
                    || call["function"].get("arguments").is_none()
            })
        },
        broken: || json!([{"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {}}}]}]),
    },
];
