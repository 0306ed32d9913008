//! Rules of Bedrock's Converse API and agents.

use serde_json::{Value, json};
use telechir_providers::Dialect;

use super::{Rule, all, holds, list, members, texts};

const CONVERSE: &[Dialect] = &[Dialect::BedrockConverse];
const AGENTS: &[Dialect] = &[Dialect::BedrockAgents];

pub(super) const RULES: &[Rule] = &[
    Rule {
        demand: "only calls of the service's own tools have a type",
        dialects: CONVERSE,
        check: |document| {
            all(members(document, "toolUse"), |call| {
                call.get("type")
                    .is_none_or(|kind| kind == "server_tool_use")
            })
        },
        broken: || json!([{"toolUse": {"toolUseId": "t", "type": "tool_use"}}]),
    },
    Rule {
        demand: "a request with calls has a toolConfig",
        dialects: CONVERSE,
        check: |document| {
            let has_calls = !members(document, "toolUse").is_empty()
                || !members(document, "toolResult").is_empty();
            let is_request = document.get("messages").is_some();
            holds(
                !(has_calls && is_request) || document.get("toolConfig").is_some(),
                document,
            )
        },
        broken: || json!({"messages": [{"role": "user", "content": [{"toolResult": {}}]}]}),
    },
    Rule {
        demand: "a computer tool has its beta, and tool names are distinct",
        dialects: CONVERSE,
        check: |document| {
            let extra = &document["additionalModelRequestFields"];
            let model_tools = list(extra, "tools");
            let betas = list(extra, "anthropic_beta");
            let is_computer = |tool: &Value| texts(tool, "type").starts_with("computer_2");
            let has_beta = betas.iter().any(|beta| {
                beta.as_str()
                    .is_some_and(|beta| beta.starts_with("computer-use-"))
            });
            all(model_tools, |tool| !is_computer(tool) || has_beta)?;
            let specs = list(&document["toolConfig"], "tools")
                .iter()
                .map(|tool| texts(&tool["toolSpec"], "name"));
            let names = specs.chain(model_tools.iter().map(|tool| texts(tool, "name")));
            let mut names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            holds(names.len() == count, document)
        },
        broken: || json!({"additionalModelRequestFields": {"tools": [{"type": "computer_20250124", "name": "computer"}]}}),
    },
    Rule {
        demand: "every call has a result in the next message",
        dialects: CONVERSE,
        check: |document| {
            let messages = document
                .as_array()
                .map_or_else(|| list(document, "messages"), Vec::as_slice);
            messages.windows(2).try_for_each(|pair| {
                let ids = |message: &Value, name: &str| {
                    let blocks = list(message, "content")
                        .iter()
                        .filter_map(|block| block.get(name).cloned());
                    let own = blocks.filter(|block| block.get("type").is_none());
                    let mut ids: Vec<String> = own
                        .map(|block| texts(&block, "toolUseId").to_owned())
                        .collect();
                    ids.sort_unstable();
                    ids
                };
                let calls = ids(&pair[0], "toolUse");
                holds(
                    calls.is_empty() || calls == ids(&pair[1], "toolResult"),
                    &pair[1],
                )
            })
        },
        broken: || {
            json!([
                {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "f", "input": {}}}]},
                {"role": "user", "content": [{"text": "x"}]},
            ])
        },
    },
    Rule {
        demand: "one to five results, each text or one image",
        dialects: AGENTS,
        check: |document| {
            all(
                members(document, "returnControlInvocationResults"),
                |results| {
                    results
                        .as_array()
                        .is_some_and(|all| (1..=5).contains(&all.len()))
                },
            )?;
            all(members(document, "functionResult"), |result| {
                let body = result["responseBody"].as_object();
                let images = &result["responseBody"]["IMAGES"];
                let one = images.is_null() || list(images, "images").len() == 1;
                body.is_none_or(|body| body.len() == 1) && one
            })
        },
        broken: || json!({"returnControlInvocationResults": [{"functionResult": {"responseBody": {"TEXT": {}, "IMAGES": {}}}}]}),
    },
    Rule {
        demand: "all settings of a declaration are strings",
        dialects: AGENTS,
        check: |document| {
            all(
                members(document, "parentActionGroupSignatureParams"),
                |params| {
                    params
                        .as_object()
                        .is_some_and(|params| params.values().all(Value::is_string))
                },
            )
        },
        broken: || json!([{"parentActionGroupSignatureParams": {"display_width_px": 1280}}]),
    },
];
