//! Removes the provider's own JSON from a history.

use serde_json::Value;

use crate::{Envelope, History};

/// The same messages without any `raw_representation` and without an envelope.
///
/// # Errors
/// If the messages do not survive a JSON round trip, which is a bug of the neutral types.
pub fn without_raw(history: &History) -> Result<History, serde_json::Error> {
    let mut messages = serde_json::to_value(&history.messages)?;
    strip(&mut messages);
    Ok(History {
        messages: serde_json::from_value(messages)?,
        envelope: Envelope::List,
    })
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.shift_remove("raw_representation");
            members.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
