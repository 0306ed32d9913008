//! OpenAI's Responses API: one list of items for all roles.
//!
//! `envelope` locates the item list, `read` converts an item to a message and `write` converts
//! messages back; `encode_result` and `declare` handle one turn. An item keeps its raw JSON and is
//! written back unchanged unless its neutral value was edited.

pub(crate) mod action;
mod call_form;
mod chat_api;
mod check;
mod codec;
mod declare;
mod encode_result;
mod envelope;
pub(crate) mod item;
pub(crate) mod item_kinds;
mod read;
mod stream;
mod write;

pub(crate) use codec::Responses;

/// The dialect's name on the command line and in raw representations.
const DIALECT: &str = "openai-responses";

/// Key under which provider-specific fields are stored in `Meta`.
const PROVIDER: &str = "openai";

/// Maximum number of characters in one text field.
const MAX_TEXT_CHARS: usize = 10_485_760;
