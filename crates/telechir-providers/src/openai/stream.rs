//! Assembles a response from stream events: items start, grow and end; the last event contains all
//! of them.
//!
//! An item received complete in its own event takes precedence: some services omit items from the
//! last event or assign them new ids there. Items that were never received complete are assembled
//! from their deltas, except calls: an incomplete call must not be executed.

mod item_builder;
mod item_update;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Map, Value};

use super::item::Item;
use crate::StreamError;
use crate::json::{owned, text};
use crate::precision::ParsingLosses;
use crate::stream::{Delta, EventAssembler};
use item_builder::ItemBuilder;
use item_update::ItemUpdate;

/// The state of a partially received response.
#[derive(Debug, Default)]
pub(super) struct ResponsesBuilder {
    /// Number of events received so far.
    number: usize,
    /// Sequence numbers with a hash of the event, to drop events sent twice.
    seen: HashSet<(u64, u64)>,
    /// The response from the first event; the last event may omit fields.
    initial: Option<Item>,
    items: BTreeMap<u64, ItemBuilder>,
    /// Item indexes by item id, for deltas that carry no index.
    indexes_by_id: HashMap<String, u64>,
    last_response: Option<Item>,
}

impl EventAssembler for ResponsesBuilder {
    fn event(&mut self, name: Option<&str>, event: Value) -> Result<Vec<Delta>, StreamError> {
        self.number += 1;
        let Value::Object(mut event) = event else {
            return Err(self.bad("expected an object"));
        };
        let event_type = text(&event, "type").or(name).unwrap_or_default().to_owned();
        if event_type == "error" {
            return Err(failed(&event));
        }
        if self.last_response.is_some() || self.is_repeated(&event) {
            return Ok(Vec::new());
        }
        match event_type.as_str() {
            "response.queued" | "response.created" | "response.in_progress" => {
                if let Some(Value::Object(response)) = event.shift_remove("response") {
                    self.initial = Some(response);
                }
                Ok(Vec::new())
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.last_response = Some(self.last(&event_type, event.shift_remove("response")));
                Ok(Vec::new())
            }
            "response.output_item.added" => self.begin(&mut event, false),
            "response.output_item.done" => self.begin(&mut event, true),
            _ => self.grow(event_type, event),
        }
    }

    fn finish(self, losses: &mut ParsingLosses) -> Result<Value, StreamError> {
        let Some(mut response) = self.last_response else {
            return Err(StreamError::truncated(
                "the final event of the response is missing",
            ));
        };
        let mut last: BTreeMap<u64, Item> = match response.get_mut("output").map(Value::take) {
            Some(Value::Array(items)) => (0..).zip(items).filter_map(indexed_item).collect(),
            _ => BTreeMap::new(),
        };
        for (index, builder) in self.items {
            if let Some((first, last)) = builder.changed_call_id() {
                losses.note_changed_call_id(first, last);
            }
            let item = builder.into_item(index, last.remove(&index))?;
            last.insert(index, item);
        }
        let output = last.into_values().map(Value::Object).collect();
        response.insert("output".to_owned(), output);
        Ok(Value::Object(response))
    }
}

impl ResponsesBuilder {
    fn bad(&self, problem: impl Into<String>) -> StreamError {
        StreamError::bad_event(self.number, problem)
    }

    /// Events without a sequence number, or with number 0, are never treated as repeats.
    fn is_repeated(&mut self, event: &Item) -> bool {
        let number = event.get("sequence_number").and_then(Value::as_u64);
        let Some(number) = number.filter(|number| *number > 0) else {
            return false;
        };
        let mut hasher = DefaultHasher::new();
        event.iter().for_each(|(name, value)| {
            name.hash(&mut hasher);
            value.hash(&mut hasher);
        });
        !self.seen.insert((number, hasher.finish()))
    }

    /// The response of the last event, completed with fields from the first.
    fn last(&mut self, event: &str, response: Option<Value>) -> Item {
        let status = event.trim_start_matches("response.");
        let mut all = self.initial.take().unwrap_or_default();
        match response {
            Some(Value::Object(response)) if response.contains_key("status") => {
                // Appended last, to keep the field order of the response itself.
                let missing = all
                    .into_iter()
                    .filter(|(name, value)| !response.contains_key(name) && !value.is_null());
                let missing: Vec<_> = missing.collect();
                let mut response = response;
                response.extend(missing);
                return response;
            }
            Some(Value::Object(response)) => all.extend(response),
            _ => {}
        }
        all.insert("status".to_owned(), status.into());
        all
    }

    /// The index of an item: from the event, from a known id, otherwise `None`.
    fn item_index(&self, event: &Item, id: Option<&str>) -> Option<u64> {
        let index = event.get("output_index").and_then(Value::as_u64);
        index.or_else(|| self.indexes_by_id.get(id?).copied())
    }

    fn begin(&mut self, event: &mut Item, is_complete: bool) -> Result<Vec<Delta>, StreamError> {
        let Some(Value::Object(item)) = event.shift_remove("item") else {
            // Sent by some proxies; carries no information.
            return Ok(Vec::new());
        };
        let id = owned(&item, "id");
        let known = self.item_index(event, id.as_deref());
        let next = || {
            self.items
                .keys()
                .next_back()
                .map_or(0, |last| last.saturating_add(1))
        };
        let index = known.unwrap_or_else(next);
        if let Some(id) = id {
            self.indexes_by_id.insert(id, index);
        }
        let builder = self.items.entry(index).or_default();
        match builder.begin(index, item, is_complete) {
            Some(deltas) => Ok(deltas),
            None => Err(self.bad(format!("item {index} starts twice"))),
        }
    }

    fn grow(&mut self, event_type: String, event: Item) -> Result<Vec<Delta>, StreamError> {
        let index = self.item_index(&event, text(&event, "item_id"));
        let delta = match (index, ItemUpdate::of(&event_type, &event)) {
            (Some(index), Some(update)) => {
                let builder = self.items.entry(index).or_default();
                builder
                    .add(index, &update)
                    .map_err(|problem| self.bad(format!("item {index}: {problem}")))?
            }
            (None, Some(_)) => return Err(self.bad("it identifies no item")),
            (_, None) => None,
        };
        Ok(match delta {
            Some(delta) => vec![delta],
            None if has_other_delta(&event_type) => vec![Delta::Other {
                event: event_type,
                json: Value::Object(event),
            }],
            None => Vec::new(),
        })
    }
}

fn indexed_item((index, item): (u64, Value)) -> Option<(u64, Item)> {
    match item {
        Value::Object(item) => Some((index, item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            None
        }
    }
}

/// Whether an event carries more than the start or end of a part.
fn has_other_delta(event: &str) -> bool {
    let part = ["response.content_part.", "response.reasoning_summary_part."];
    let complete = [
        "_text.done",
        "refusal.done",
        "arguments.done",
        "input.done",
        "code.done",
        "diff.done",
        "command.added",
        "command.done",
        "content.done",
    ];
    !part.iter().any(|start| event.starts_with(start))
        && !complete.iter().any(|end| event.ends_with(end))
}

/// An `error` event; its fields are at the top level or under `error`.
fn failed(event: &Item) -> StreamError {
    let none = Map::new();
    let nested = event.get("error").and_then(Value::as_object);
    let error = nested.unwrap_or(event);
    let error = if error.is_empty() { &none } else { error };
    let kind = text(error, "code").or_else(|| nested.and_then(|error| text(error, "type")));
    let message_text = text(error, "message").unwrap_or("no error message");
    let message = kind.map_or_else(
        || message_text.to_owned(),
        |kind| format!("{kind}: {message_text}"),
    );
    StreamError::Provider { message }
}
