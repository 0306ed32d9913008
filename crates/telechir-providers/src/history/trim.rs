//! Removes the oldest turns of a conversation that exceeds its limit of tokens. A turn goes with the
//! results of its calls, so that no call and no result is left alone.

use std::collections::HashMap;

use serde_json::Value;

/// The text at the end of the task in place of the removed turns.
pub(crate) const REMOVED_TURNS_NOTE: &str = "[Older turns were removed to save room.]";
/// Members with the id of a call, in the call and in its result.
const CALL_FIELDS: [&str; 4] = ["call_id", "id", "tool_call_id", "toolUseId"];
const RESULT_FIELDS: [&str; 4] = ["call_id", "tool_use_id", "tool_call_id", "toolUseId"];
/// Tokens that an image counts, about what a full screenshot takes.
const IMAGE_TOKENS: u64 = 1_500;
/// A string without white space of this length is an image or another document in base64.
const MIN_DATA_BYTES: usize = 2_000;

/// Removes the oldest turns if the items exceed `max_tokens` by the estimate of [`tokens`]. The first
/// item and the last turn stay. No turn starts at an inserted item. Returns the removed items.
pub(crate) fn trim(
    items: &mut Vec<Value>,
    max_tokens: u64,
    is_inserted: impl Fn(&Value) -> bool,
) -> Vec<Value> {
    let sizes: Vec<u64> = items.iter().map(tokens).collect();
    if sizes.iter().sum::<u64>() <= max_tokens {
        return Vec::new();
    }
    // In batches, so that the provider's cache of the items before stays valid for some turns.
    let target = max_tokens / 4 * 3;
    let first = sizes.first().copied().unwrap_or(0);
    let starts = turn_starts(items);
    let starts: Vec<usize> = starts
        .into_iter()
        .filter(|at| *at >= 2 && !is_inserted(&items[*at]))
        .collect();
    let mut rest = 0;
    let mut sizes_from: Vec<u64> = sizes
        .iter()
        .rev()
        .map(|size| {
            rest += size;
            rest
        })
        .collect();
    sizes_from.reverse();
    let fits = |at: &&usize| first + sizes_from[**at] <= target;
    match starts.iter().find(fits).or_else(|| starts.last()) {
        Some(start) => items.drain(1..*start).collect(),
        None => Vec::new(),
    }
}

/// Whether turns were removed.
pub(crate) fn have_note(items: &[Value]) -> bool {
    items
        .first()
        .is_some_and(|item| has_text(item, &|text| text.ends_with(REMOVED_TURNS_NOTE)))
}

/// Whether a string of an item satisfies a condition.
pub(crate) fn has_text(item: &Value, fits: &impl Fn(&str) -> bool) -> bool {
    match item {
        Value::String(text) => fits(text),
        Value::Array(items) => items.iter().any(|item| has_text(item, fits)),
        Value::Object(members) => members.values().any(|item| has_text(item, fits)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// An estimate: a token for four bytes of text, and a fixed number for an image.
fn tokens(value: &Value) -> u64 {
    match value {
        Value::String(text) if is_data(text) => IMAGE_TOKENS,
        Value::String(text) => text.len() as u64 / 4 + 1,
        Value::Array(items) => items.iter().map(tokens).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| name.len() as u64 / 4 + 1 + tokens(value))
            .sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

fn is_data(text: &str) -> bool {
    text.starts_with("data:image/")
        || (text.len() >= MIN_DATA_BYTES && !text.contains(char::is_whitespace))
}

/// The items from which on the rest can stand without those before: the model's part of a turn
/// starts there, and no later result belongs to an earlier call.
fn turn_starts(items: &[Value]) -> Vec<usize> {
    let required = first_required(items);
    // The first item that anything from here on requires.
    let mut first = usize::MAX;
    let mut starts = Vec::new();
    for at in (1..items.len()).rev() {
        first = first.min(required[at]);
        if is_of_model(&items[at]) && !is_of_model(&items[at - 1]) && at <= first {
            starts.push(at);
        }
    }
    starts.reverse();
    starts
}

/// For each item the earliest of the calls that it answers; 0 if one is missing.
fn first_required(items: &[Value]) -> Vec<usize> {
    let mut calls: HashMap<&str, usize> = HashMap::new();
    let required = items.iter().enumerate().map(|(at, item)| {
        let mut names = Vec::new();
        if is_of_model(item) {
            ids(item, &CALL_FIELDS, &mut names);
            calls.extend(names.into_iter().map(|name| (name, at)));
            return usize::MAX;
        }
        ids(item, &RESULT_FIELDS, &mut names);
        let answered = names.into_iter().map(|name| calls.get(name).copied());
        answered
            .map(Option::unwrap_or_default)
            .min()
            .unwrap_or(usize::MAX)
    });
    required.collect()
}

/// Whether an item is the model's own, not a message or a result for it.
fn is_of_model(item: &Value) -> bool {
    let member = |name: &str| item.get(name).and_then(Value::as_str);
    if let Some(role) = member("role") {
        return matches!(role, "assistant" | "model");
    }
    let kind = member("type").unwrap_or_default();
    let for_the_model = ["_output", "_result", ".result", "input"];
    kind == "model_output" || !for_the_model.iter().any(|end| kind.ends_with(end))
}

/// The strings in members with one of these names, at any depth.
fn ids<'a>(value: &'a Value, names: &[&str], found: &mut Vec<&'a str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| ids(item, names, found)),
        Value::Object(members) => {
            for (name, member) in members {
                if let Some(text) = member.as_str().filter(|_| names.contains(&name.as_str())) {
                    found.push(text);
                } else {
                    ids(member, names, found);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(id: &str) -> Value {
        json!({"type": "function_call", "call_id": id})
    }

    fn output(id: &str, text: &str) -> Value {
        json!({"type": "function_call_output", "call_id": id, "output": text})
    }

    #[test]
    fn complete_turns_go_with_their_results() {
        let long = "word ".repeat(400);
        let mut items = vec![json!({"role": "user", "content": "The task."})];
        for turn in 0..6 {
            let (one, other) = (format!("a{turn}"), format!("b{turn}"));
            items.extend([
                call(&one),
                call(&other),
                output(&one, &long),
                output(&other, ""),
            ]);
        }
        let all = items.clone();
        assert!(trim(&mut items, 100_000, |_| false).is_empty());
        let removed = trim(&mut items, 2_500, |_| false);
        assert_eq!(removed.len() % 4, 0);
        assert_eq!([&all[..1], &removed, &items[1..]].concat(), all);
        assert_eq!(items[1], call(&format!("a{}", removed.len() / 4)));
        assert!(items.iter().map(tokens).sum::<u64>() <= 2_500);
        trim(&mut items, 1, |_| false);
        assert_eq!(items.len(), 5, "the last turn stays: {items:?}");
    }

    #[test]
    fn a_result_never_loses_its_call_to_a_message_between() {
        let note = json!({"type": "message", "role": "developer", "content": "A note."});
        let items = [
            json!({"role": "user", "content": "The task."}),
            call("a"),
            note,
            call("b"),
            output("a", "x"),
            output("b", "y"),
            call("c"),
            output("c", "z"),
        ];
        assert_eq!(turn_starts(&items), [1, 6]);
    }

    #[test]
    fn servers_that_repeat_ids_have_turns_too() {
        let items = [
            json!({"role": "user", "content": "The task."}),
            json!({"role": "assistant", "tool_calls": [{"id": "call_0"}]}),
            json!({"role": "tool", "tool_call_id": "call_0", "content": "x"}),
            json!({"role": "assistant", "tool_calls": [{"id": "call_0"}]}),
            json!({"role": "tool", "tool_call_id": "call_0", "content": "y"}),
        ];
        assert_eq!(turn_starts(&items), [1, 3]);
    }

    /// Work that grows with the square of the turns would exceed the time limit of a test.
    #[test]
    fn thousands_of_turns_are_trimmed_in_one_pass() {
        const TURNS: usize = 10_000;
        let turns = (0..TURNS).flat_map(|turn| {
            let id = format!("c{turn}");
            // Every turn but the last repeats the id that the second one started with.
            let repeated = if turn + 1 == TURNS { "last" } else { "c1" };
            [
                call(&id),
                output(&id, ""),
                call(repeated),
                output(repeated, ""),
            ]
        });
        let task = json!({"role": "user", "content": "The task."});
        let mut items: Vec<Value> = std::iter::once(task).chain(turns).collect();
        let removed = trim(&mut items, 100, |_| false);
        assert_eq!(removed.len() + items.len(), 4 * TURNS + 1);
        assert!(items.len() < 20, "{}", items.len());
    }
}
