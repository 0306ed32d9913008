//! Shortens call ids that exceed the API's limit.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use telechir_protocol::Message;

use crate::Report;
use crate::digest::digest;
use crate::openai::item::raw_of;

/// Maximum number of characters in a call id.
const MAX_ID_CHARS: usize = 64;

/// Replaces overlong ids of other providers consistently in calls and outputs. Ids from items of
/// this dialect are kept.
pub(super) fn shorten(items: &mut [Value], messages: &[Message], report: &mut Report) {
    let own_ids = own_ids(messages);
    let mut short: HashMap<String, String> = HashMap::new();
    for item in items {
        let Some(Value::String(id)) = item.get_mut("call_id") else {
            continue;
        };
        if id.chars().count() <= MAX_ID_CHARS || own_ids.contains(id.as_str()) {
            continue;
        }
        let new = short.entry(id.clone()).or_insert_with(|| {
            let new = format!("call_{:016x}", digest(id, 0));
            report.preserved(
                format!("id {id}"),
                format!("call {id}"),
                format!("ids are limited to {MAX_ID_CHARS} characters"),
                format!("as {new}"),
            );
            new
        });
        id.clone_from(new);
    }
}

/// Call ids that came from items of this dialect.
fn own_ids(messages: &[Message]) -> HashSet<&str> {
    let contents = messages.iter().flat_map(|message| &message.contents);
    contents
        .filter_map(|content| raw_of(content.meta()?)?.get("call_id")?.as_str())
        .collect()
}
