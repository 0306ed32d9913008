//! Anthropic's Messages: blocks of a message, one call a block or an older tool with actions.
//!
//! `history` reads, `block` with `call` and `result` takes one block to a content; `translate`
//! writes, with `ask` for calls and `answer` for results; `tools` declares. What came from here
//! goes back as it came, unless its neutral values were changed.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a block has few of the forms that JSON and contents can have; any other is let be"
)]

mod action;
mod answer;
mod ask;
mod block;
mod call;
mod check;
mod history;
mod input;
mod media;
mod members;
mod models;
mod parts;
mod picture;
mod result;
mod scene;
mod shape;
mod shell_text;
mod spelling;
mod tabs;
mod tools;
mod translate;
mod words;
mod write;

pub(crate) use answer::encode_answers;
pub(crate) use history::{decode_history, decode_response};
pub(crate) use picture::picture_size;
pub(crate) use tools::declare;
pub(crate) use translate::encode_history;

/// The dialect's name.
const DIALECT: &str = "anthropic-messages";

/// Under this name contents keep what only this provider says.
const PROVIDER: &str = "anthropic";
