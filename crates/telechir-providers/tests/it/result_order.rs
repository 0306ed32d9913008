//! Two calls with results, with two neighbors swapped and one value replaced: the order survives a
//! round trip, or a report names the change.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Value, json};
use telechir_providers::{Dialect, Envelope, History};

use crate::mutations::check;

fn history() -> History {
    let text = json!({"type": "text", "text": "Go."});
    let call = |id| json!({"type": "function_call", "call_id": id, "name": "roll", "arguments": {"sides": 6}});
    let answer =
        |id| json!({"type": "function_result", "call_id": id, "name": "roll", "result": id});
    let messages = json!([
        {"role": "user", "contents": [text]},
        {"role": "assistant", "contents": [call("a1"), call("a2")]},
        {"role": "tool", "contents": [answer("a1"), answer("a2")]},
        {"role": "user", "contents": [text]},
    ]);
    History {
        messages: serde_json::from_value(messages).unwrap(),
        envelope: Envelope::List,
    }
}

/// The paths of all values in a document.
fn paths(value: &Value, at: &str, found: &mut Vec<String>) {
    let mut go = |name: &str, value| {
        let at = format!("{at}/{name}");
        found.push(at.clone());
        paths(value, &at, found);
    };
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| go(name, value)),
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                go(&index.to_string(), value);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn changed(document: &Value, path: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut document = document.clone();
    change(document.pointer_mut(path).unwrap());
    document
}

/// The document, and one variant for each pair of neighbors that is swapped.
fn exchanged(document: &Value) -> Vec<Value> {
    let mut lists = vec![String::new()];
    paths(document, "", &mut lists);
    let mut all = vec![document.clone()];
    for list in lists {
        let items = document.pointer(&list).and_then(Value::as_array);
        for at in 1..items.map_or(0, Vec::len) {
            let exchange = |list: &mut Value| {
                list.as_array_mut()
                    .into_iter()
                    .for_each(|l| l.swap(at - 1, at))
            };
            all.push(changed(document, &list, exchange));
        }
    }
    all
}

#[test]
fn the_order_of_results_survives_a_round_trip_or_is_reported() {
    let mut wrong = Vec::new();
    for dialect in Dialect::ALL {
        let (document, _) = dialect.encode_history(&history()).unwrap();
        let mut were_read = 0;
        for document in exchanged(&document) {
            let mut damaged = vec![document.clone()];
            let mut found = Vec::new();
            paths(&document, "", &mut found);
            let damage = |path: &String| changed(&document, path, |value| *value = json!({}));
            damaged.extend(found.iter().map(damage));
            for document in damaged {
                let bytes = document.to_string().into_bytes();
                let read = || check::document(dialect, dialect, &bytes);
                match catch_unwind(AssertUnwindSafe(read)) {
                    Ok(was_read) => were_read += usize::from(was_read),
                    Err(_) => wrong.push(format!("{dialect}: {document}")),
                }
            }
        }
        assert!(were_read > 20, "{dialect}: only {were_read} were decoded");
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
