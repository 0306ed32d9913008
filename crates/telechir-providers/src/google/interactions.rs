//! The Interactions API: one list of steps by the user, the model and the tools.

mod chat_api;
mod codec;
mod content;
mod decode_step;
mod encode;
mod encode_step;
mod envelope;
mod stream;

pub(crate) use codec::CODEC;

/// The dialect's name on the command line and in raw representations.
pub(super) const DIALECT: &str = "google-interactions";
