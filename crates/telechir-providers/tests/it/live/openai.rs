//! The Responses API of OpenAI.

use serde_json::{Value, json};
use telechir_providers::Dialect;

use super::{Rule, all, list, members, of_type, texts};

const DIALECTS: &[Dialect] = &[Dialect::OpenaiResponses];

/// Maximum characters of an image's URL, and of any text that a tool returns.
const MAX_IMAGE_URL_CHARS: usize = 20_971_520;
const MAX_TEXT_CHARS: usize = 10_485_760;

pub(super) const RULES: &[Rule] = &[
    Rule {
        demand: "a call id has 1 to 64 characters",
        dialects: DIALECTS,
        check: |document| {
            let fits = |id: &Value| id.as_str().is_none_or(|id| (1..=64).contains(&id.len()));
            all(members(document, "call_id"), fits)
        },
        broken: || json!([{"type": "function_call_output", "call_id": "c".repeat(65), "output": ""}]),
    },
    Rule {
        demand: "a screenshot is one image, by URL or file id, within the size limit",
        dialects: DIALECTS,
        check: |document| {
            all(of_type(document, "computer_call_output"), |output| {
                let image = &output["output"];
                let (address, file) = (texts(image, "image_url"), texts(image, "file_id"));
                address.is_empty() != file.is_empty() && address.len() <= MAX_IMAGE_URL_CHARS
            })
        },
        broken: || json!([{"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot"}}]),
    },
    Rule {
        demand: "acknowledged checks are a list or absent, not null",
        dialects: DIALECTS,
        check: |document| {
            all(
                members(document, "acknowledged_safety_checks"),
                Value::is_array,
            )
        },
        broken: || json!([{"type": "computer_call_output", "acknowledged_safety_checks": null}]),
    },
    Rule {
        demand: "a shell output does not have status failed and has one entry per command",
        dialects: DIALECTS,
        check: |document| {
            let calls = of_type(document, "shell_call");
            all(of_type(document, "shell_call_output"), |output| {
                let call = calls
                    .iter()
                    .find(|call| call["call_id"] == output["call_id"]);
                let commands = call.map_or(0, |call| list(&call["action"], "commands").len());
                let entries = list(output, "output").len();
                output["status"] != "failed" && (commands == 0 || entries <= commands)
            })
        },
        broken: || json!([{"type": "shell_call_output", "status": "failed", "output": []}]),
    },
    Rule {
        demand: "a shell entry has both streams and, for an exit, its code",
        dialects: DIALECTS,
        check: |document| {
            let entries = of_type(document, "shell_call_output");
            all(
                entries
                    .into_iter()
                    .flat_map(|output| list(output, "output")),
                |entry| {
                    let fits = |name: &str| {
                        entry[name]
                            .as_str()
                            .is_some_and(|text| text.len() <= MAX_TEXT_CHARS)
                    };
                    let outcome = &entry["outcome"];
                    let ended = outcome["type"] != "exit" || outcome["exit_code"].is_i64();
                    fits("stdout") && fits("stderr") && ended
                },
            )
        },
        broken: || json!([{"type": "shell_call_output", "output": [{"stdout": "", "outcome": {"type": "exit", "exit_code": 0}}]}]),
    },
    Rule {
        demand: "a local shell output refers to its call by call_id",
        dialects: DIALECTS,
        check: |document| {
            all(of_type(document, "local_shell_call_output"), |output| {
                output["call_id"].is_string()
            })
        },
        broken: || json!([{"type": "local_shell_call_output", "id": "x", "output": ""}]),
    },
    Rule {
        demand: "a computer call has one action or a non-empty batch",
        dialects: DIALECTS,
        check: |document| {
            all(of_type(document, "computer_call"), |call| {
                let batch = call
                    .get("actions")
                    .map(|_| !list(call, "actions").is_empty());
                batch.unwrap_or_else(|| call["action"].is_object())
                    && !(batch.is_some() && call.get("action").is_some())
            })
        },
        broken: || json!([{"type": "computer_call", "call_id": "c", "actions": []}]),
    },
    Rule {
        demand: "reasoning directly precedes an item of the model",
        dialects: DIALECTS,
        check: |document| {
            let items = document
                .as_array()
                .map_or_else(|| list(document, "input"), Vec::as_slice);
            all(items, |item| {
                let at = items.iter().position(|other| std::ptr::eq(other, item));
                let next = at.and_then(|at| items.get(at + 1));
                let is_clients = |next: &Value| {
                    texts(next, "type").ends_with("_output") || next["role"] == "user"
                };
                item["type"] != "reasoning"
                    || items.len() == 1
                    || next.is_some_and(|next| !is_clients(next))
            })
        },
        broken: || json!([{"type": "reasoning"}, {"role": "user", "content": "x"}]),
    },
    Rule {
        demand: "a request contains no output-only member",
        dialects: DIALECTS,
        check: |document| match document.get("store") {
            Some(Value::Bool(false)) => all(
                ["created_by", "parsed_arguments"]
                    .into_iter()
                    .flat_map(|name| members(document, name)),
                |_| false,
            ),
            _ => Ok(()),
        },
        broken: || json!({"store": false, "input": [{"type": "shell_call_output", "created_by": "u"}]}),
    },
    Rule {
        demand: "the computer tool has no field but its type",
        dialects: DIALECTS,
        check: |document| {
            all(of_type(document, "computer"), |tool| {
                tool.as_object().is_some_and(|tool| tool.len() == 1)
            })
        },
        broken: || json!([{"type": "computer", "display_width": 1280}]),
    },
    Rule {
        demand: "a function declares its parameters and strictness",
        dialects: DIALECTS,
        check: |document| {
            let functions = of_type(document, "function");
            let declared = functions
                .into_iter()
                .filter(|tool| tool.get("name").is_some());
            let declared = declared.filter(|tool| tool.get("mode").is_none());
            all(declared, |tool| {
                tool.get("strict").is_some() && tool.get("parameters").is_some()
            })
        },
        broken: || json!([{"type": "function", "name": "f", "parameters": {}}]),
    },
];
