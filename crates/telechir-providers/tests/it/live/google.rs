//! Google's `generateContent` and Interactions.

use serde_json::{Value, json};
use telechir_providers::Dialect;

use super::{Rule, all, holds, list, members, of_type, texts};

const GENERATE: &[Dialect] = &[Dialect::GoogleGenerateContent];
const STEPS: &[Dialect] = &[Dialect::GoogleInteractions];

fn contents(document: &Value) -> &[Value] {
    document
        .as_array()
        .map_or_else(|| list(document, "contents"), Vec::as_slice)
}

fn parts<'a>(content: &'a Value, name: &str) -> Vec<&'a Value> {
    list(content, "parts")
        .iter()
        .filter_map(|part| part.get(name))
        .collect()
}

fn steps(document: &Value) -> &[Value] {
    document
        .as_array()
        .map_or_else(|| list(document, "input"), Vec::as_slice)
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        demand: "each call has one response in the next content, with its name and in its order",
        dialects: GENERATE,
        check: |document| {
            contents(document).windows(2).try_for_each(|pair| {
                let names = |content: &Value, of: &str| {
                    let all = parts(content, of).into_iter();
                    all.map(|one| texts(one, "name").to_owned())
                        .collect::<Vec<_>>()
                };
                let calls = names(&pair[0], "functionCall");
                holds(
                    calls.is_empty() || calls == names(&pair[1], "functionResponse"),
                    &pair[1],
                )
            })
        },
        broken: || {
            json!([
                {"role": "model", "parts": [{"functionCall": {"name": "a"}}, {"functionCall": {"name": "b"}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "b", "response": {}}}, {"functionResponse": {"name": "a", "response": {}}}]},
            ])
        },
    },
    Rule {
        demand: "a response is an object with its images beside it",
        dialects: GENERATE,
        check: |document| {
            all(members(document, "functionResponse"), |answer| {
                answer["response"].is_object() && answer["response"].get("parts").is_none()
            })
        },
        broken: || json!([{"functionResponse": {"name": "f", "response": "done"}}]),
    },
    Rule {
        demand: "the response to a computer call has a URL",
        dialects: GENERATE,
        check: |document| {
            let screens = members(document, "functionResponse").into_iter();
            all(
                screens.filter(|answer| !list(answer, "parts").is_empty()),
                |answer| {
                    let response = &answer["response"];
                    let is_screen = [
                        "click",
                        "click_at",
                        "take_screenshot",
                        "type_text_at",
                        "scroll",
                        "scroll_at",
                        "navigate",
                    ];
                    !is_screen.contains(&texts(answer, "name"))
                        || response
                            .get("url")
                            .or_else(|| response.get("current_url"))
                            .is_some()
                },
            )
        },
        broken: || json!([{"functionResponse": {"name": "click", "response": {}, "parts": [{"inlineData": {}}]}}]),
    },
    Rule {
        demand: "a required confirmation is acknowledged or gets an error",
        dialects: GENERATE,
        check: |document| {
            contents(document).windows(2).try_for_each(|pair| {
                let calls = parts(&pair[0], "functionCall").into_iter();
                calls
                    .zip(parts(&pair[1], "functionResponse"))
                    .try_for_each(|(call, answer)| {
                        let requires_confirmation =
                            call["args"]["safety_decision"]["decision"] == "require_confirmation";
                        let response = &answer["response"];
                        let is_answered = ["safety_acknowledgement", "error"]
                            .iter()
                            .any(|name| response.get(*name).is_some());
                        holds(!requires_confirmation || is_answered, answer)
                    })
            })
        },
        broken: || {
            json!([
                {"role": "model", "parts": [{"functionCall": {"name": "click", "args": {"safety_decision": {"decision": "require_confirmation"}}}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "click", "response": {"url": ""}}}]},
            ])
        },
    },
    Rule {
        demand: "a tool has no type, and an environment has its long name",
        dialects: GENERATE,
        check: |document| {
            let tools = members(document, "computerUse").into_iter();
            all(tools, |tool| {
                tool.get("environment").is_none_or(|name| {
                    name.as_str()
                        .is_some_and(|name| name.starts_with("ENVIRONMENT_"))
                })
            })?;
            all(list(document, "tools"), |tool| tool.get("type").is_none())
        },
        broken: || json!({"tools": [{"computerUse": {"environment": "DESKTOP"}}]}),
    },
    Rule {
        demand: "a function has at most one schema, with properties; a tool has at most 512 functions",
        dialects: GENERATE,
        check: |document| {
            all(members(document, "functionDeclarations"), |functions| {
                let fits = |function: &Value| {
                    let (one, other) = (
                        function.get("parameters"),
                        function.get("parametersJsonSchema"),
                    );
                    let is_empty = |schema: &Value| {
                        schema["properties"]
                            .as_object()
                            .is_some_and(serde_json::Map::is_empty)
                    };
                    let mut schemas = one.into_iter().chain(other);
                    schemas.clone().count() < 2 && !schemas.any(is_empty)
                };
                functions
                    .as_array()
                    .is_some_and(|all| all.len() <= 512 && all.iter().all(fits))
            })
        },
        broken: || json!([{"functionDeclarations": [{"name": "f", "parameters": {"type": "OBJECT", "properties": {}}}]}]),
    },
    Rule {
        demand: "results follow their calls, in the order of the calls",
        dialects: STEPS,
        check: |document| {
            let steps = steps(document);
            let calls: Vec<&str> = steps
                .iter()
                .filter(|step| step["type"] == "function_call")
                .map(|step| texts(step, "id"))
                .collect();
            let results = steps
                .iter()
                .filter(|step| step["type"] == "function_result");
            let positions: Vec<usize> = results
                .filter_map(|step| calls.iter().position(|id| *id == texts(step, "call_id")))
                .collect();
            holds(positions.is_sorted(), document)
        },
        broken: || {
            json!([
                {"type": "function_call", "id": "a"}, {"type": "function_call", "id": "b"},
                {"type": "function_result", "call_id": "b"}, {"type": "function_result", "call_id": "a"},
            ])
        },
    },
    Rule {
        demand: "an acknowledgement is also beside the result",
        dialects: STEPS,
        check: |document| {
            all(of_type(document, "function_result"), |step| {
                let inside = step["result"]
                    .to_string()
                    .contains("safety_acknowledgement");
                !inside || step.get("safety_acknowledgement").is_some()
            })
        },
        broken: || json!([{"type": "function_result", "call_id": "a", "result": [{"type": "text", "text": "{\"safety_acknowledgement\":true}"}]}]),
    },
    Rule {
        demand: "a result is a string, an object or a list; an environment has its short name",
        dialects: STEPS,
        check: |document| {
            all(of_type(document, "function_result"), |step| {
                let result = &step["result"];
                result.is_string() || result.is_object() || result.is_array()
            })?;
            all(of_type(document, "computer_use"), |tool| {
                tool.get("environment").is_none_or(|name| {
                    ["browser", "mobile", "desktop"]
                        .iter()
                        .any(|known| name == known)
                })
            })
        },
        broken: || json!([{"type": "computer_use", "environment": "ENVIRONMENT_DESKTOP"}]),
    },
];
