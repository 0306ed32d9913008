//! OpenAI's Responses API: one list of items for all roles.
//!
//! `envelope` locates the item list, `decode` converts an item to a message and `encode` converts
//! messages back; `results` and `declare` handle one turn. An item keeps its raw JSON and is
//! written back unchanged unless its neutral value was edited.

pub(crate) mod action;
mod call_form;
mod chat_api;
mod codec;
mod declare;
mod decode;
mod encode;
mod envelope;
pub(crate) mod item;
pub(crate) mod item_kinds;
mod models;
mod results;
mod rules;
mod stream;

pub(crate) use codec::{CODEC, SCREENSHOTS};
pub(crate) use models::generation;

/// The dialect's name on the command line and in raw representations.
const DIALECT: &str = "openai-responses";

/// Key under which provider-specific fields are stored in `Meta`.
const PROVIDER: &str = "openai";

/// Maximum number of characters in one text field.
const MAX_TEXT_CHARS: usize = 10_485_760;
