//! Encodes the envelope around the messages of a history.

use serde_json::{Map, Value};

pub(super) fn enclose(rest: &Map<String, Value>, member: &str, list: Value) -> Value {
    let mut all = rest.clone();
    all.insert(member.to_owned(), list);
    Value::Object(all)
}

/// The list of messages; blocks that were decoded without a message get none.
pub(super) fn unwrap_bare(messages: Vec<Value>) -> Value {
    let mut list = Vec::new();
    for mut message in messages {
        match message
            .get_mut(BLOCKS_ONLY)
            .is_some()
            .then(|| message.get_mut("content").map(Value::take))
        {
            Some(Some(Value::Array(blocks))) => list.extend(blocks),
            _ => list.push(message),
        }
    }
    list.into()
}

/// Field that marks a message to be replaced by its blocks; never sent.
pub(super) const BLOCKS_ONLY: &str = "\u{0}bare";
