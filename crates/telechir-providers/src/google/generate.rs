//! The `generateContent` API: contents made of parts, alternating between user and model.

mod chat_api;
mod codec;
mod decode_part;
mod encode;
mod encode_part;
mod envelope;
mod partial_args;
mod stream;

pub(crate) use chat_api::combines_hosted_tools;
pub(crate) use codec::CODEC;
pub(crate) use envelope::is_instructions;

/// The dialect's name on the command line and in raw representations.
pub(super) const DIALECT: &str = "google-generate-content";
