//! Chat completions: messages with function tools, as spoken by most services and servers.
//!
//! `envelope` locates the message list, `read` decodes a message and `write` encodes it;
//! `result_images` shows screenshots where tool messages cannot, `encode_result` and `declare`
//! handle one turn. A message keeps its raw JSON and is written back unchanged unless its neutral
//! value was edited.

pub(crate) mod assistant_message;
mod call;
pub(crate) mod chat_api;
mod codec;
mod content_list;
pub(crate) mod declare;
mod encode_result;
mod envelope;
mod flavour;
mod ollama;
pub(crate) mod parts;
mod read;
pub(crate) mod result_images;
mod stream;
pub(crate) mod write;

pub(crate) use codec::ChatCompletions;
pub(crate) use flavour::Flavour;
pub(crate) use stream::join_parts;
