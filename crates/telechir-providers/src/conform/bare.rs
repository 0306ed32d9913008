//! A history without the provider's own JSON: what the neutral values alone can say.

use serde_json::Value;

use crate::{Envelope, History};

/// The same messages without any `raw_representation`, and without an envelope.
///
/// # Errors
/// When the messages do not survive their own JSON, which is a bug of the neutral types.
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
