//! Rules of Anthropic's Messages API, and of its request bodies on Bedrock.

use serde_json::{Value, json};
use telechir_providers::Dialect;

use super::{Rule, all, holds, list, members, objects, of_type, texts};

const ALL: &[Dialect] = &[
    Dialect::AnthropicMessages,
    Dialect::BedrockMessages,
    Dialect::BedrockInvoke,
];
const SERVES_TOOLSETS: &[Dialect] = &[Dialect::AnthropicMessages, Dialect::BedrockMessages];
const BEHIND_BEDROCK: &[Dialect] = &[Dialect::BedrockMessages, Dialect::BedrockInvoke];
const INVOKE: &[Dialect] = &[Dialect::BedrockInvoke];

const HALTED: [(&str, &str); 2] = [
    (
        "computer",
        "Not executed: an earlier computer action in this turn failed.",
    ),
    (
        "browser",
        "Not executed: an earlier action in this turn failed.",
    ),
];

fn messages(document: &Value) -> &[Value] {
    document
        .as_array()
        .map_or_else(|| list(document, "messages"), Vec::as_slice)
}

/// Results in user messages, each with the earlier results of its toolset.
fn after_others(document: &Value) -> Vec<(&Value, Vec<&Value>)> {
    let mut found = Vec::new();
    for message in messages(document) {
        let mut before: Vec<&Value> = Vec::new();
        let results = list(message, "content").iter();
        for result in results.filter(|block| block["type"] == "tool_result") {
            let toolset = before
                .iter()
                .filter(|other| other["toolset_name"] == result["toolset_name"]);
            found.push((result, toolset.copied().collect()));
            before.push(result);
        }
    }
    found
}

fn result_text(result: &Value) -> &str {
    let part = || {
        list(result, "content")
            .iter()
            .find_map(|part| part["text"].as_str())
    };
    result["content"].as_str().or_else(part).unwrap_or_default()
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        demand: "a toolset entry has only supported fields",
        dialects: SERVES_TOOLSETS,
        check: |document| {
            let entries = members(document, "type")
                .into_iter()
                .filter_map(Value::as_str);
            let kinds: Vec<&str> = entries.filter(|kind| kind.contains("_toolset_2")).collect();
            let known = ["type", "configs", "cache_control"];
            kinds.iter().try_for_each(|kind| {
                all(of_type(document, kind), |entry| {
                    entry.as_object().is_some_and(|entry| {
                        entry.keys().all(|name| known.contains(&name.as_str()))
                    })
                })
            })
        },
        broken: || json!([{"type": "computer_toolset_20260801", "name": "computer"}]),
    },
    Rule {
        demand: "one toolset of each kind, and no other tool with its name",
        dialects: SERVES_TOOLSETS,
        check: |document| {
            let tools = document
                .as_array()
                .map_or_else(|| list(document, "tools"), Vec::as_slice);
            ["computer", "browser"].into_iter().try_for_each(|toolset| {
                let start = format!("{toolset}_toolset_");
                let own = tools
                    .iter()
                    .filter(|tool| texts(tool, "type").starts_with(&start))
                    .count();
                let named = tools.iter().filter(|tool| tool["name"] == toolset).count();
                holds(own == 0 || own + named == 1, document)
            })
        },
        broken: || json!([{"type": "browser_toolset_20260801"}, {"name": "browser", "input_schema": {}}]),
    },
    Rule {
        demand: "an error contains text",
        dialects: ALL,
        check: |document| {
            all(of_type(document, "tool_result"), |result| {
                result["is_error"] != true || !result_text(result).is_empty()
            })
        },
        broken: || json!([{"type": "tool_result", "tool_use_id": "t", "is_error": true, "content": []}]),
    },
    Rule {
        demand: "after a failure later results of the toolset have the fixed error text",
        dialects: ALL,
        check: |document| {
            after_others(document)
                .into_iter()
                .try_for_each(|(result, before)| {
                    let toolset = texts(result, "toolset_name");
                    let Some((_, sentence)) = HALTED.iter().find(|(name, _)| *name == toolset)
                    else {
                        return Ok(());
                    };
                    let has_failed = before.iter().any(|other| other["is_error"] == true);
                    let halted = result["is_error"] == true && result_text(result) == *sentence;
                    holds(!has_failed || halted, result)
                })
        },
        broken: || {
            let result = |id: &str, error: bool| json!({"type": "tool_result", "tool_use_id": id, "toolset_name": "computer", "is_error": error, "content": "x"});
            json!([{"role": "user", "content": [result("a", true), result("b", false)]}])
        },
    },
    Rule {
        demand: "a toolset result has text and images, and for a browser one browser_state",
        dialects: ALL,
        check: |document| {
            all(of_type(document, "tool_result"), |result| {
                let toolset = texts(result, "toolset_name");
                let kinds: Vec<&str> = list(result, "content")
                    .iter()
                    .map(|part| texts(part, "type"))
                    .collect();
                let states = kinds
                    .iter()
                    .filter(|kind| **kind == "browser_state")
                    .count();
                let plain = kinds
                    .iter()
                    .all(|kind| matches!(*kind, "text" | "image" | "browser_state"));
                let max_states = usize::from(toolset == "browser" && result["is_error"] != true);
                toolset.is_empty() || (plain && states <= max_states)
            })
        },
        broken: || json!([{"type": "tool_result", "toolset_name": "computer", "content": [{"type": "browser_state"}]}]),
    },
    Rule {
        demand: "results precede all other blocks of a message",
        dialects: ALL,
        check: |document| {
            all(messages(document), |message| {
                let content = list(message, "content").iter();
                let kinds = content.map(|block| block["type"] == "tool_result");
                kinds.is_sorted_by(|before, after| before >= after)
            })
        },
        broken: || json!([{"role": "user", "content": [{"type": "text"}, {"type": "tool_result"}]}]),
    },
    Rule {
        demand: "tabs have distinct ids and one is active; changes are not empty",
        dialects: ALL,
        check: |document| {
            all(of_type(document, "browser_state"), |state| {
                let tabs = list(state, "tabs");
                let mut ids: Vec<&str> = tabs.iter().map(|tab| texts(tab, "tab_id")).collect();
                ids.sort_unstable();
                ids.dedup();
                let active = tabs.iter().filter(|tab| tab["active"] == true).count();
                let changes = state
                    .get("state_changes")
                    .filter(|changes| !changes.is_null());
                let some = changes.is_none_or(|changes| {
                    changes
                        .as_array()
                        .is_some_and(|all| !all.is_empty() && all.len() <= 200)
                });
                ids.len() == tabs.len()
                    && tabs.len() <= 100
                    && (tabs.is_empty() || active == 1)
                    && some
            })
        },
        broken: || json!([{"type": "browser_state", "tabs": [{"tab_id": "1"}]}]),
    },
    Rule {
        demand: "repetitions and durations are within their limits",
        dialects: ALL,
        check: |document| {
            all(of_type(document, "tool_use"), |call| {
                let input = &call["input"];
                let repeat = input["repeat"]
                    .as_f64()
                    .is_none_or(|times| (1.0..=100.0).contains(&times));
                let seconds = input["duration"].as_f64().is_none_or(|seconds| {
                    match texts(call, "toolset_name") {
                        "computer" => input["duration"].is_u64() && seconds <= 300.0,
                        "browser" => seconds <= 30.0,
                        _ => true,
                    }
                });
                repeat && seconds
            })
        },
        broken: || json!([{"type": "tool_use", "toolset_name": "computer", "name": "wait", "input": {"duration": 1.5}}]),
    },
    Rule {
        demand: "at most four cache_control markers",
        dialects: ALL,
        check: |document| {
            let marks = members(document, "cache_control")
                .into_iter()
                .filter(|mark| !mark.is_null());
            holds(marks.count() <= 4, document)
        },
        broken: || vec![json!({"cache_control": {"type": "ephemeral"}}); 5].into(),
    },
    Rule {
        demand: "the newest version has no sampling parameters and no assistant documents",
        dialects: SERVES_TOOLSETS,
        check: |document| {
            let sampling = ["temperature", "top_p", "top_k"]
                .into_iter()
                .filter_map(|name| document.get(name));
            all(sampling, |_| false)?;
            let assistant_messages = messages(document)
                .iter()
                .filter(|message| message["role"] == "assistant");
            all(
                assistant_messages.flat_map(|message| list(message, "content")),
                |block| block["type"] != "document",
            )
        },
        broken: || json!({"temperature": 1, "messages": []}),
    },
    Rule {
        demand: "images are sent as base64 of at most 5 MB",
        dialects: BEHIND_BEDROCK,
        check: |document| {
            all(of_type(document, "image"), |image| {
                let source = &image["source"];
                source["type"] == "base64" && texts(source, "data").len() <= 5 * 1024 * 1024
            })
        },
        broken: || json!([{"type": "image", "source": {"type": "url", "url": "https://a.test/b.png"}}]),
    },
    Rule {
        demand: "a body has no toolset, declared or called, and no field of the path",
        dialects: INVOKE,
        check: |document| {
            let mut found = Vec::new();
            objects(document, &mut found);
            all(found, |object| {
                !texts(object, "type").contains("_toolset_")
                    && object.get("toolset_name").is_none_or(Value::is_null)
            })?;
            all(
                ["model", "stream"]
                    .into_iter()
                    .filter_map(|name| document.get(name)),
                |_| false,
            )
        },
        broken: || json!([{"type": "computer_toolset_20260801"}]),
    },
    Rule {
        demand: "a computer tool in a body has its beta",
        dialects: INVOKE,
        check: |document| {
            let computers = list(document, "tools")
                .iter()
                .filter(|tool| texts(tool, "type").starts_with("computer_2"));
            let betas = list(document, "anthropic_beta");
            all(computers, |_| {
                betas.iter().any(|beta| {
                    beta.as_str()
                        .is_some_and(|beta| beta.starts_with("computer-use-"))
                })
            })
        },
        broken: || json!({"tools": [{"type": "computer_20251124"}], "messages": []}),
    },
];
