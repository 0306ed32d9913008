//! What the vocabulary promises to whoever reads and writes it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod aliases;
mod calls;
mod contents;
mod functions;
mod keys;
mod mistakes;
mod roundtrip;
mod schema;
mod shells;
mod showing;
mod slots;
mod strategies;
mod tools;
mod turns;
mod vocabularies;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn refusal<T: DeserializeOwned + std::fmt::Debug>(value: Value) -> String {
    serde_json::from_value::<T>(value).unwrap_err().to_string()
}

fn written(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}
