//! An item between its first event and its last.

use serde_json::{Value, json};

use super::is_local;
use super::item_update::{DeltaKind, ItemUpdate};
use crate::StreamError;
use crate::openai::item::{Item, kind, owned, present, text};
use crate::stream::{CallDelta, Delta};

/// An item on its way. Some services send pieces of items that they did not begin.
#[derive(Debug, Default)]
pub(super) struct ItemBuilder {
    /// As it began, or as it ended.
    item: Item,
    is_complete: bool,
    /// The members that came in pieces.
    pieces: Value,
    /// Whether arguments were shown as they came.
    has_streamed_arguments: bool,
}

impl ItemBuilder {
    /// The item begins, or is whole; none when another item has begun in its place. Behind some
    /// services the id of an item changes from event to event.
    pub(super) fn begin(
        &mut self,
        index: u64,
        item: Item,
        is_complete: bool,
    ) -> Option<Vec<Delta>> {
        let begins = self.item.is_empty();
        let is_same = kind(&self.item) == kind(&item)
            && text(&self.item, "call_id") == text(&item, "call_id");
        if !begins && !is_same {
            return None;
        }
        let mut deltas = Vec::new();
        if begins {
            deltas.push(start_delta(index, &item));
            self.item.clone_from(&item);
        }
        if is_complete && !self.is_complete {
            deltas.extend(self.end(index, item));
        }
        Some(deltas)
    }

    /// Adds a piece, and says what a person sees of it.
    pub(super) fn add(&mut self, index: u64, update: &ItemUpdate) -> Result<Option<Delta>, String> {
        update.apply(&mut self.pieces)?;
        let text = || update.text().to_owned();
        Ok(match update.delta_kind {
            _ if update.is_complete => None,
            DeltaKind::Text => Some(Delta::Text {
                index,
                text: text(),
            }),
            DeltaKind::Reasoning => Some(Delta::Reasoning {
                index,
                text: text(),
            }),
            DeltaKind::Arguments => {
                let is_first = !std::mem::replace(&mut self.has_streamed_arguments, true);
                let arguments = if kind(&self.item) == "custom_tool_call" {
                    json_string_fragment(update.text(), is_first)
                } else {
                    text()
                };
                Some(arguments_of(index, arguments))
            }
            DeltaKind::Event => None,
        })
    }

    /// The item is whole; what its events did not show is shown now.
    fn end(&mut self, index: u64, item: Item) -> Vec<Delta> {
        self.item = item;
        self.is_complete = true;
        fill(&mut self.item, &self.pieces);
        if !is_local(&self.item) {
            return vec![Delta::Other {
                event: "response.output_item.done".to_owned(),
                json: json!({"output_index": index, "item": self.item}),
            }];
        }
        let rest = match (kind(&self.item), self.has_streamed_arguments) {
            ("function_call", true) => None,
            ("custom_tool_call", true) => Some("\"".to_owned()),
            _ => Some(arguments(&self.item)),
        };
        let rest = rest.map(|rest| arguments_of(index, rest));
        rest.into_iter().chain([Delta::CallEnd { index }]).collect()
    }

    /// The item as it was sent whole, or as the last event has it.
    pub(super) fn into_item(self, index: u64, last: Option<Item>) -> Result<Item, StreamError> {
        if self.is_complete {
            return Ok(self.item);
        }
        let is_call = is_local(&self.item);
        let mut item = match last {
            Some(last) if is_call => return Ok(last),
            Some(last) => last,
            None if is_call => {
                return Err(StreamError::Truncated {
                    missing: format!("item {index} did not end"),
                });
            }
            None if self.item.is_empty() => {
                return Err(StreamError::Truncated {
                    missing: format!("item {index} did not begin"),
                });
            }
            None => self.item,
        };
        fill(&mut item, &self.pieces);
        Ok(item)
    }
}

/// How an item begins: a call says its name, the provider's own says itself.
fn start_delta(index: u64, item: &Item) -> Delta {
    if !is_local(item) {
        return Delta::Other {
            event: "response.output_item.added".to_owned(),
            json: json!({"output_index": index, "item": item}),
        };
    }
    Delta::Call(CallDelta {
        index,
        call_id: owned(item, "call_id"),
        name: owned(item, "name").or_else(|| owned(item, "type")),
        arguments: String::new(),
    })
}

fn arguments_of(index: u64, arguments: String) -> Delta {
    Delta::Call(CallDelta {
        index,
        arguments,
        ..CallDelta::default()
    })
}

/// Free words as the inside of a JSON string, which arguments are.
fn json_string_fragment(text: &str, is_first: bool) -> String {
    let quoted = Value::from(text).to_string();
    let inside = &quoted[1..quoted.len() - 1];
    if is_first {
        format!("\"{inside}")
    } else {
        inside.to_owned()
    }
}

/// All arguments of a call, as JSON.
fn arguments(item: &Item) -> String {
    let names = ["arguments", "input", "actions", "action", "operation"];
    let Some((name, value)) = names
        .iter()
        .find_map(|name| Some((*name, present(item, name)?)))
    else {
        return "{}".to_owned();
    };
    match (name, value) {
        ("arguments", Value::String(json)) => json.clone(),
        ("actions", actions) => json!({ "actions": actions }).to_string(),
        (_, value) => value.to_string(),
    }
}

/// Puts what came in pieces where the item says nothing.
fn fill(item: &mut Item, pieces: &Value) {
    for (name, update) in pieces.as_object().into_iter().flatten() {
        match (item.get_mut(name), update) {
            (Some(Value::Object(inner)), Value::Object(_)) => fill(inner, update),
            (Some(existing), _) if !is_empty(existing) => {}
            _ => {
                item.insert(name.clone(), update.clone());
            }
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
