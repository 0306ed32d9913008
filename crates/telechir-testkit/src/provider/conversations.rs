//! What Mistral's Conversations API rejects, according to the vendor's types and recordings.

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::Rejection;
use super::chat::{
    Rules, check_key, content_of, content_text, extra, no_null, plain_arguments, tools_of,
};
use super::shape::{Validated, ensure, list, object, one_of, only, text, text_or_empty};

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
const MAX_IMAGES: usize = 8;

/// Validates a request against its headers and the model's earlier responses.
pub(super) fn check(headers: &HeaderMap, body: &Value, history: &[Vec<Value>]) -> Validated {
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
        "recorded model: nothing is stored; send all entries and `store: false`".to_owned()
    })?;
    tools_of(body)?;
    let entries = list(&body["inputs"], "inputs")?;
    let mut walk = EntryChecker::default();
    for (index, entry) in entries.iter().enumerate() {
        walk.entry(entry, &format!("inputs[{index}]"))?;
    }
    walk.end()?;
    check_nothing_lost(entries, history)
}

#[derive(Default)]
struct EntryChecker<'a> {
    /// Calls without a result so far.
    open: Vec<&'a str>,
    images: usize,
    before: &'a str,
}

impl<'a> EntryChecker<'a> {
    fn entry(&mut self, entry: &'a Value, location: &str) -> Validated {
        object(entry, location)?;
        no_null(entry, "", location)?;
        let kind = text_or_empty(entry, "type");
        let own: &[&str] = match kind {
            "message.input" => &["role", "content", "prefix"],
            "message.output" => &["role", "content", "agent_id", "model"],
            "function.call" => &["tool_call_id", "name", "arguments", "agent_id", "model"],
            "function.result" => &["tool_call_id", "result"],
            "tool.execution" => &["name", "arguments", "info", "agent_id", "model"],
            other => {
                return Err(Rejection::invalid(format!(
                    "{location}.type: Input tag '{other}' does not match any of the expected tags"
                )));
            }
        };
        only(entry, &[COMMON, own], location, extra)?;
        match kind {
            "message.input" => {
                self.nothing_open(location)?;
                one_of(
                    text_or_empty(entry, "role"),
                    &["user", "assistant"],
                    location,
                )?;
                let kinds = &["text", "image_url", "document_url", "thinking", "tool_file"];
                let content = &entry["content"];
                self.images += content_of(Rules::Mistral, content, kinds, location)?;
            }
            "message.output" => ensure(!entry["content"].is_null(), || {
                format!("{location}.content: Field required")
            })?,
            "function.call" => {
                let id = text(entry, "tool_call_id", location)?;
                let nine = id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric());
                ensure(nine && !self.open.contains(&id), || {
                    format!("{location}.tool_call_id: '{id}' is no id of a new call")
                })?;
                let arguments = entry["arguments"].as_str().unwrap_or("{}");
                let parsed = serde_json::from_str::<serde_json::Map<String, Value>>(arguments);
                ensure(parsed.is_ok(), || {
                    format!("{location}.arguments: it is no JSON object")
                })?;
                self.open.push(id);
            }
            "function.result" => {
                let id = text(entry, "tool_call_id", location)?;
                text(entry, "result", location)?;
                let open = self.open.iter().position(|open| *open == id);
                let Some(open) = open else {
                    return Err(Rejection::invalid(format!(
                        "{location}: no call waits for a result of '{id}'"
                    )));
                };
                self.open.remove(open);
            }
            _ => {}
        }
        self.before = kind;
        Ok(())
    }

    fn nothing_open(&self, location: &str) -> Validated {
        ensure(self.open.is_empty(), || {
            format!(
                "{location}: calls without a result: {}",
                self.open.join(", ")
            )
        })
    }

    fn end(&self) -> Validated {
        self.nothing_open("the end")?;
        ensure(
            matches!(self.before, "message.input" | "function.result"),
            || format!("inputs: they end with '{}'", self.before),
        )?;
        ensure(self.images <= MAX_IMAGES, || {
            format!("Too many images in request. Max is {MAX_IMAGES}")
        })
    }
}

/// The model's entries must be returned in order, without null fields.
fn check_nothing_lost(entries: &[Value], history: &[Vec<Value>]) -> Validated {
    let mut rest = entries.iter();
    for expected in history.iter().flatten() {
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
            format!("recorded model: a response of this model is missing: {expected}")
        })?;
    }
    Ok(())
}

fn plain(entry: &Value) -> Value {
    let mut entry = entry.clone();
    if text_or_empty(&entry, "type") == "function.call" {
        plain_arguments(&mut entry);
    }
    entry
}

/// The text of the results after the model's last entries, by call id; images that the user message
/// shows with them are under `user`.
pub(super) fn results(body: &Value) -> BTreeMap<String, String> {
    let entries = body.get("inputs").and_then(Value::as_array);
    let newest = entries.into_iter().flatten().rev();
    let newest = newest.take_while(|entry| {
        matches!(
            text_or_empty(entry, "type"),
            "function.result" | "message.input"
        )
    });
    let result = |entry: &Value| match text_or_empty(entry, "type") {
        "function.result" => (
            text_or_empty(entry, "tool_call_id").to_owned(),
            text_or_empty(entry, "result").to_owned(),
        ),
        _ => ("user".to_owned(), content_text(entry)),
    };
    newest.map(result).collect()
}

/// A complete response with these entries.
pub(super) fn answer(body: &Value, number: usize, content: Vec<Value>, with: &Value) -> Value {
    let input = body.to_string().len() / 4;
    let mut answer = json!({
        "object": "conversation.response", "conversation_id": format!("conv_recorded_{number}"),
        "outputs": content,
        "usage": {"prompt_tokens": input, "completion_tokens": 64, "total_tokens": input + 64},
    });
    super::shape::merge(&mut answer, with);
    answer
}

#[cfg(test)]
mod tests;
