//! Neutral JSON survives a round trip.

use std::fmt::Debug;

use serde_json::Value;
use telechir_protocol::{Content, Message, Tool};
use telechir_providers::Dialect;

/// Checks bytes as one of the types that are written to files and pipes. Returns whether they were
/// decoded.
pub(crate) fn check(which: u8, bytes: &[u8]) -> bool {
    match which % 3 {
        0 => round::<Vec<Message>>(bytes),
        1 => round::<Content>(bytes),
        _ => round::<Tool>(bytes),
    }
}

/// The neutral JSON of a document: its messages, and each content.
pub(crate) fn seeds(
    dialect: Dialect,
    document: &[u8],
    messages: &mut Vec<Vec<u8>>,
    contents: &mut Vec<Vec<u8>>,
) {
    let Ok((history, _)) = dialect.decode_history(document) else {
        return;
    };
    messages.push(serde_json::to_vec(&history.messages).unwrap());
    for content in history
        .messages
        .iter()
        .flat_map(|message| &message.contents)
    {
        contents.push(serde_json::to_vec(content).unwrap());
    }
}

fn round<T>(bytes: &[u8]) -> bool
where
    T: serde::de::DeserializeOwned + serde::Serialize + PartialEq + Debug,
{
    let Ok(read) = serde_json::from_slice::<T>(bytes) else {
        return false;
    };
    let written = serde_json::to_value(&read).unwrap();
    let again: T = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(again, read, "it was encoded as {written}");
    let settled: Value = serde_json::to_value(&again).unwrap();
    assert_eq!(settled, written);
    true
}
