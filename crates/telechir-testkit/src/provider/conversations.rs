//! What Mistral's Conversations refuse, as far as the vendor's types and recordings say.

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::Refusal;
use super::chat::{
    Rules, check_key, content_of, content_text, extra, no_null, plain_arguments, tools_of,
};
use super::shape::{Checked, ensure, list, object, one_of, only, text, word};

const MEMBERS: &[&str] = &[
    "agent_id",
    "model",
    "inputs",
    "instructions",
    "tools",
    "completion_args",
    "store",
    "stream",
    "handoff_execution",
    "name",
    "description",
    "metadata",
];
const COMMON: &[&str] = &["object", "type", "id", "created_at", "completed_at"];
const MOST_IMAGES: usize = 8;

/// Checks a whole request against the headers it came with and what was said before.
pub(super) fn check(headers: &HeaderMap, body: &Value, said: &[Vec<Value>]) -> Checked {
    check_key(headers)?;
    only(body, &[MEMBERS], "request", extra)?;
    let by_agent = body.get("agent_id").is_some();
    ensure(by_agent != body.get("model").is_some(), || {
        "request: either `model` or `agent_id`".to_owned()
    })?;
    ensure(!(by_agent && body.get("tools").is_some()), || {
        "request: an agent has its own tools".to_owned()
    })?;
    ensure(body.get("store") == Some(&Value::Bool(false)), || {
        "recorded model: it stores nothing; send all entries and `store: false`".to_owned()
    })?;
    tools_of(body)?;
    let entries = list(&body["inputs"], "inputs")?;
    let mut walk = Walk::default();
    for (index, entry) in entries.iter().enumerate() {
        walk.entry(entry, &format!("inputs[{index}]"))?;
    }
    walk.end()?;
    check_nothing_lost(entries, said)
}

#[derive(Default)]
struct Walk<'a> {
    /// Calls that nothing answered yet.
    open: Vec<&'a str>,
    images: usize,
    before: &'a str,
}

impl<'a> Walk<'a> {
    fn entry(&mut self, entry: &'a Value, place: &str) -> Checked {
        object(entry, place)?;
        no_null(entry, "", place)?;
        let kind = word(entry, "type");
        let own: &[&str] = match kind {
            "message.input" => &["role", "content", "prefix"],
            "message.output" => &["role", "content", "agent_id", "model"],
            "function.call" => &["tool_call_id", "name", "arguments", "agent_id", "model"],
            "function.result" => &["tool_call_id", "result"],
            "tool.execution" => &["name", "arguments", "info", "agent_id", "model"],
            other => {
                return Err(Refusal::invalid(format!(
                    "{place}.type: Input tag '{other}' does not match any of the expected tags"
                )));
            }
        };
        only(entry, &[COMMON, own], place, extra)?;
        match kind {
            "message.input" => {
                self.nothing_open(place)?;
                one_of(word(entry, "role"), &["user", "assistant"], place)?;
                let kinds = &["text", "image_url", "document_url", "thinking", "tool_file"];
                let content = &entry["content"];
                self.images += content_of(Rules::Mistral, content, kinds, place)?;
            }
            "message.output" => ensure(!entry["content"].is_null(), || {
                format!("{place}.content: Field required")
            })?,
            "function.call" => {
                let id = text(entry, "tool_call_id", place)?;
                let nine = id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric());
                ensure(nine && !self.open.contains(&id), || {
                    format!("{place}.tool_call_id: '{id}' is no id of a new call")
                })?;
                let arguments = entry["arguments"].as_str().unwrap_or("{}");
                let parsed = serde_json::from_str::<serde_json::Map<String, Value>>(arguments);
                ensure(parsed.is_ok(), || {
                    format!("{place}.arguments: it is no JSON object")
                })?;
                self.open.push(id);
            }
            "function.result" => {
                let id = text(entry, "tool_call_id", place)?;
                text(entry, "result", place)?;
                let open = self.open.iter().position(|open| *open == id);
                let Some(open) = open else {
                    return Err(Refusal::invalid(format!(
                        "{place}: no call waits for a result of '{id}'"
                    )));
                };
                self.open.remove(open);
            }
            _ => {}
        }
        self.before = kind;
        Ok(())
    }

    fn nothing_open(&self, place: &str) -> Checked {
        ensure(self.open.is_empty(), || {
            format!("{place}: calls without a result: {}", self.open.join(", "))
        })
    }

    fn end(&self) -> Checked {
        self.nothing_open("the end")?;
        ensure(
            matches!(self.before, "message.input" | "function.result"),
            || format!("inputs: they end with '{}'", self.before),
        )?;
        ensure(self.images <= MOST_IMAGES, || {
            format!("Too many images in request. Max is {MOST_IMAGES}")
        })
    }
}

/// The model's entries come back, in their order, without their nulls.
fn check_nothing_lost(entries: &[Value], said: &[Vec<Value>]) -> Checked {
    let mut rest = entries.iter();
    for expected in said.iter().flatten() {
        let mut expected = plain(expected);
        if let Some(members) = expected.as_object_mut() {
            members.retain(|_, value| !value.is_null());
        }
        let same = |entry: &Value| {
            let mut entry = plain(entry);
            if let Some(members) = entry.as_object_mut() {
                members.retain(|_, value| !value.is_null());
            }
            entry == expected
        };
        ensure(rest.any(same), || {
            format!("recorded model: what it said did not come back: {expected}")
        })?;
    }
    Ok(())
}

fn plain(entry: &Value) -> Value {
    let mut entry = entry.clone();
    if word(&entry, "type") == "function.call" {
        plain_arguments(&mut entry);
    }
    entry
}

/// The texts of the results after the model's last entries, by call; pictures that the user shows
/// with them stand under `user`.
pub(super) fn results(body: &Value) -> BTreeMap<String, String> {
    let entries = body.get("inputs").and_then(Value::as_array);
    let newest = entries.into_iter().flatten().rev();
    let newest = newest
        .take_while(|entry| matches!(word(entry, "type"), "function.result" | "message.input"));
    let result = |entry: &Value| match word(entry, "type") {
        "function.result" => (
            word(entry, "tool_call_id").to_owned(),
            word(entry, "result").to_owned(),
        ),
        _ => ("user".to_owned(), content_text(entry)),
    };
    newest.map(result).collect()
}

/// A whole answer around the entries that are said.
pub(super) fn answer(body: &Value, number: usize, say: Vec<Value>, with: &Value) -> Value {
    let input = body.to_string().len() / 4;
    let mut answer = json!({
        "object": "conversation.response", "conversation_id": format!("conv_recorded_{number}"),
        "outputs": say,
        "usage": {"prompt_tokens": input, "completion_tokens": 64, "total_tokens": input + 64},
    });
    super::server::merge(&mut answer, with);
    answer
}

#[cfg(test)]
mod tests;
