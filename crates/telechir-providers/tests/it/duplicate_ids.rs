//! Histories with two calls of the same id, each with its result, because some servers restart
//! their ids in every turn. Both calls keep their own result.

use std::collections::HashMap;
use std::slice;

use serde_json::{Value, json};
use telechir_protocol::Message;
use telechir_providers::{Dialect, Envelope, History, Loss};

/// A call and its result with this id.
type Pair = fn(&str, usize) -> [Value; 2];

const KINDS: [(&str, Pair); 3] = [
    ("function", |id, at| {
        let noun = ["moon", "sun"][at];
        let result = json!([{"type": "text", "text": format!("It is {noun}.")}]);
        [
            json!({"type": "function_call", "call_id": id, "name": "look_up", "arguments": {"word": noun}}),
            json!({"type": "function_result", "call_id": id, "name": "look_up", "items": result}),
        ]
    }),
    ("shell", |id, at| {
        let (command, out) = [("pwd", "/\n"), ("id -u", "0\n")][at];
        let output = json!({"stdout": out, "stderr": "", "exit_code": 0, "outcome": "success"});
        [
            json!({"type": "shell_call", "call_id": id, "commands": [command]}),
            json!({"type": "shell_result", "call_id": id, "outputs": [output]}),
        ]
    }),
    ("computer", |id, at| {
        let image = format!("data:image/png;base64,{}", ["AAAA", "BBBB"][at]);
        let image = json!({"type": "data", "uri": image, "media_type": "image/png"});
        let click = json!({"action": "click", "coordinate": [at, 2], "button": "left"});
        [
            json!({"type": "computer_call", "call_id": id, "actions": [click]}),
            json!({"type": "computer_result", "call_id": id, "screenshot": image}),
        ]
    }),
];

const BODIES: [Dialect; 3] = [
    Dialect::AnthropicMessages,
    Dialect::BedrockMessages,
    Dialect::BedrockInvoke,
];

fn message(role: &str, contents: &[Value]) -> Value {
    json!({"role": role, "contents": contents})
}

/// Two turns with one call each, and one turn with both.
fn histories(pair: Pair, ids: [&str; 2]) -> [Vec<Message>; 2] {
    let [one, first] = pair(ids[0], 0);
    let [two, second] = pair(ids[1], 1);
    let task = message("user", &[json!({"type": "text", "text": "Find out."})]);
    let in_turns = vec![
        task.clone(),
        message("assistant", slice::from_ref(&one)),
        message("tool", slice::from_ref(&first)),
        message("assistant", slice::from_ref(&two)),
        message("tool", slice::from_ref(&second)),
    ];
    let at_once = vec![
        task,
        message("assistant", &[one, two]),
        message("tool", &[first, second]),
    ];
    [in_turns, at_once].map(|messages| serde_json::from_value(messages.into()).unwrap())
}

/// Removes ids and bookkeeping.
fn without_ids(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for name in [
                "call_id",
                "item_id",
                "raw_representation",
                "additional_properties",
            ] {
                members.shift_remove(name);
            }
            members.values_mut().for_each(without_ids);
        }
        Value::Array(items) => items.iter_mut().for_each(without_ids),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Every call with its result.
fn answered(messages: &[Message]) -> Vec<[Value; 2]> {
    let contents = messages.iter().flat_map(|message| &message.contents);
    let values: Vec<Value> = contents
        .map(|content| serde_json::to_value(content).unwrap())
        .collect();
    let of = |ending: &str| -> Vec<(String, Value)> {
        let named = |value: &Value| {
            value["type"]
                .as_str()
                .is_some_and(|kind| kind.ends_with(ending))
        };
        let found = values.iter().filter(|value| named(value));
        found
            .map(|value| {
                let id = value["call_id"].as_str().unwrap_or_default().to_owned();
                let mut value = value.clone();
                without_ids(&mut value);
                (id, value)
            })
            .collect()
    };
    let mut results: HashMap<String, Vec<Value>> = HashMap::new();
    for (id, result) in of("_result") {
        results.entry(id).or_default().insert(0, result);
    }
    let answer = |(id, call): (String, Value)| {
        let result = results.get_mut(&id).and_then(Vec::pop);
        [call, result.unwrap_or_default()]
    };
    of("_call").into_iter().map(answer).collect()
}

/// The calls with results after a round trip, and whether the report mentions the changed id.
fn there_and_back(dialect: Dialect, messages: &[Message]) -> (Vec<[Value; 2]>, bool) {
    let history = History {
        messages: messages.to_vec(),
        envelope: Envelope::List,
    };
    let (document, report) = dialect.encode_history(&history).unwrap();
    let (read, _) = dialect.decode_history(document.to_string()).unwrap();
    let of_id = |loss: &Loss| loss.what == "id i-1" && loss.preserved_as.is_some();
    (answered(&read.messages), report.losses.iter().any(of_id))
}

#[test]
fn calls_with_the_same_id_keep_their_results_in_every_dialect() {
    for (kind, pair) in KINDS {
        let apart = histories(pair, ["i-1", "i-2"]);
        let same = histories(pair, ["i-1", "i-1"]);
        for (apart, same) in apart.iter().zip(&same) {
            for dialect in Dialect::ALL {
                let (wanted, _) = there_and_back(dialect, apart);
                let (is, is_reported) = there_and_back(dialect, same);
                assert_eq!(is, wanted, "{dialect}, {kind}");
                assert_eq!(
                    is_reported,
                    !matches!(dialect, Dialect::AgentFramework | Dialect::Neutral),
                    "{dialect}, {kind}"
                );
            }
        }
    }
}

/// The ids of a document in their order.
fn ids<'a>(document: &'a Value, found: &mut Vec<&'a str>) {
    const NAMES: [&str; 6] = [
        "id",
        "call_id",
        "tool_use_id",
        "tool_call_id",
        "toolUseId",
        "invocationId",
    ];
    match document {
        Value::Object(members) => {
            for (name, value) in members {
                match value.as_str() {
                    Some(id) if NAMES.contains(&name.as_str()) && !found.contains(&id) => {
                        found.push(id);
                    }
                    _ => ids(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| ids(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The document with the same id for both calls, also inside its texts.
fn with_one_id(document: &Value) -> Value {
    let mut found = Vec::new();
    ids(document, &mut found);
    let mut text = document.to_string();
    if let [one, .., two] = found.as_slice() {
        text = text.replace(two, one);
    }
    serde_json::from_str(&text.replace("i-2", "i-1")).unwrap()
}

/// Documents of the dialect itself, as far as it decodes them, are encoded unchanged, and by other
/// dialects with a result for each call.
#[test]
fn documents_with_duplicate_ids_stay_unchanged_and_get_unique_ids_elsewhere() {
    let mut wrong = Vec::new();
    for (kind, pair) in KINDS {
        for (at_once, messages) in (0..).zip(histories(pair, ["i-1", "i-2"])) {
            // The text before an image that follows its result names the id, and we never write an
            // id twice.
            if at_once == 1 && kind == "computer" {
                continue;
            }
            for from in Dialect::ALL {
                let history = History {
                    messages: messages.clone(),
                    envelope: Envelope::List,
                };
                let (mut document, _) = from.encode_history(&history).unwrap();
                let apart = from.decode_history(document.to_string()).unwrap().0;
                document = with_one_id(&document);
                let read = from.decode_history(document.to_string()).unwrap().0;
                match from.encode_history(&read) {
                    Ok((again, _)) if again == document => {}
                    other => wrong.push(format!("{from}, {kind}: {document}: {other:?}")),
                }
                // The three Anthropic bodies count as each other's own.
                let is_own =
                    |to: Dialect| to == from || BODIES.contains(&to) && BODIES.contains(&from);
                for to in Dialect::ALL.into_iter().filter(|to| !is_own(*to)) {
                    let (wanted, _) = there_and_back(to, &apart.messages);
                    let (is, _) = there_and_back(to, &read.messages);
                    if is != wanted {
                        let (is, wanted) = (json!(is), json!(wanted));
                        wrong.push(format!(
                            "{from} to {to}, {kind}: {document}: {is}\n   {wanted}"
                        ));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
