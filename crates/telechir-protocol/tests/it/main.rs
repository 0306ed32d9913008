//! The guarantees of the vocabulary to those who read and write it.
#![expect(clippy::unwrap_used, reason = "a failed test is a panic")]

mod aliases;
mod calls;
mod contents;
mod display;
mod format_1;
mod functions;
mod invalid_actions;
mod keys;
mod roundtrip;
mod schema;
mod shells;
mod strategies;
mod tools;
mod turns;

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
