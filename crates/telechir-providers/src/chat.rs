//! Chat completions: messages with function tools, as spoken by most services and servers.
//!
//! `envelope` locates the message list, `decode` decodes a message and `encode` encodes it;
//! `result_images` shows screenshots where tool messages cannot, `results` and `declare`
//! handle one turn. A message keeps its raw JSON and is written back unchanged unless its neutral
//! value was edited.

pub(crate) mod assistant_message;
mod call;
pub(crate) mod chat_api;
mod codec;
mod content_list;
pub(crate) mod declare;
mod decode;
pub(crate) mod encode;
mod envelope;
mod flavour;
pub(crate) mod losses;
mod ollama;
pub(crate) mod parts;
pub(crate) mod result_images;
mod results;
mod stream;

pub(crate) use codec::{FUNCTIONS, INLINE, MISTRAL};
pub(crate) use envelope::usage;
pub(crate) use flavour::Flavour;
pub(crate) use stream::join_parts;
