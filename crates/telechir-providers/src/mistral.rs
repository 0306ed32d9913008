//! Mistral's Conversations API: one list of entries for all roles.
//!
//! `envelope` locates the entries of a request, a response or a history, `decode` decodes an entry,
//! `execution` decodes tools that the service ran, `encode` encodes messages. An entry keeps its raw
//! JSON and is written back unchanged unless its neutral value was edited. Content parts and our
//! functions are the same as in its chat completions.

mod chat_api;
mod codec;
mod decode;
mod encode;
mod envelope;
mod execution;
mod result_images;
mod results;
mod stream;

use crate::chat::Flavour;

pub(crate) use codec::CODEC;

/// The dialect's name on the command line and in raw representations.
const DIALECT: &str = "mistral-conversations";
/// Key under which provider-specific fields are stored in `Meta`.
const PROVIDER: &str = "mistral";
/// Selects the format of content parts.
const FLAVOUR: Flavour = Flavour::Conversations;

/// Tools that the service executes itself.
const HOSTED: [&str; 6] = [
    "web_search",
    "web_search_premium",
    "code_interpreter",
    "image_generation",
    "document_library",
    "connector",
];
