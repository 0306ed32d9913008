//! An item between its first and its last event.

use serde_json::{Value, json};

use super::item_update::{DeltaKind, ItemUpdate};
use crate::StreamError;
use crate::json::{is_empty, kind, owned, present, text};
use crate::openai::item::Item;
use crate::openai::item_kinds::is_for_client;
use crate::stream::{CallDelta, Delta};

/// A partially received item. Some services send deltas for items without a start event.
#[derive(Debug, Default)]
pub(super) struct ItemBuilder {
    /// The item from its start event or, once complete, from its end event.
    item: Item,
    is_complete: bool,
    /// The id of the call in its start event.
    first_call_id: Option<String>,
    /// Fields assembled from deltas.
    pieces: Value,
    /// Whether argument deltas were already emitted.
    has_streamed_arguments: bool,
}

impl ItemBuilder {
    /// Handles the start or end event of an item; `None` if a different item already occupies the
    /// index. Some services change an item's id or its call id between events.
    pub(super) fn begin(
        &mut self,
        index: u64,
        item: Item,
        is_complete: bool,
    ) -> Option<Vec<Delta>> {
        let begins = self.item.is_empty();
        let same = |name: &str| text(&self.item, name) == text(&item, name);
        let has_same_id = same("id") && text(&item, "id").is_some_and(|id| !id.is_empty());
        // One item starts once, so its end belongs to it whatever its ids are.
        let is_end = is_complete && !self.is_complete && same("name");
        let is_same = kind(&self.item) == kind(&item) && (same("call_id") || has_same_id || is_end);
        if !begins && !is_same {
            return None;
        }
        let mut deltas = Vec::new();
        if begins {
            deltas.push(start_delta(index, &item));
            self.first_call_id = owned(&item, "call_id");
            self.item.clone_from(&item);
        }
        if is_complete && !self.is_complete {
            deltas.extend(self.end(index, item));
        }
        Some(deltas)
    }

    /// Applies an update and returns the delta to show, if any.
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

    /// Completes the item and emits what earlier events did not show.
    fn end(&mut self, index: u64, item: Item) -> Vec<Delta> {
        self.item = item;
        self.is_complete = true;
        fill(&mut self.item, &self.pieces);
        if !is_for_client(&self.item) {
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

    /// The call's id in its start event and another one in its end event.
    pub(super) fn changed_call_id(&self) -> Option<(&str, &str)> {
        let first = self.first_call_id.as_deref().filter(|id| !id.is_empty())?;
        let last = text(&self.item, "call_id").filter(|id| !id.is_empty())?;
        (self.is_complete && first != last).then_some((first, last))
    }

    /// The complete item as sent, or its version in the last event.
    pub(super) fn into_item(self, index: u64, last: Option<Item>) -> Result<Item, StreamError> {
        if self.is_complete {
            return Ok(self.item);
        }
        let is_call = is_for_client(&self.item);
        let mut item = match last {
            Some(last) if is_call => return Ok(last),
            Some(last) => last,
            None if is_call => {
                return Err(StreamError::truncated(format!(
                    "item {index} is incomplete"
                )));
            }
            None if self.item.is_empty() => {
                return Err(StreamError::truncated(format!(
                    "item {index} has no start event"
                )));
            }
            None => self.item,
        };
        fill(&mut item, &self.pieces);
        Ok(item)
    }
}

/// The first delta of an item: name and id of a local call, otherwise the raw event.
fn start_delta(index: u64, item: &Item) -> Delta {
    if !is_for_client(item) {
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

/// Escapes free text as part of a JSON string, because argument deltas concatenate to JSON.
fn json_string_fragment(text: &str, is_first: bool) -> String {
    let quoted = Value::from(text).to_string();
    let inside = &quoted[1..quoted.len() - 1];
    if is_first {
        format!("\"{inside}")
    } else {
        inside.to_owned()
    }
}

/// The complete arguments of a call as JSON.
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

/// Fills fields that are empty in the item from the assembled deltas.
fn fill(item: &mut Item, pieces: &Value) {
    for (name, update) in pieces.as_object().into_iter().flatten() {
        let update = &without_gaps(update);
        match (item.get_mut(name), update) {
            (Some(Value::Object(inner)), Value::Object(_)) => fill(inner, update),
            (Some(existing), _) if !is_empty(existing) => {}
            _ => {
                item.insert(name.clone(), update.clone());
            }
        }
    }
}

/// The list without the entries that never arrived.
fn without_gaps(value: &Value) -> Value {
    let Value::Array(entries) = value else {
        return value.clone();
    };
    let entries = entries.iter().filter(|entry| !entry.is_null());
    entries.cloned().collect()
}
