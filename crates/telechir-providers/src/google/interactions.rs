//! The Interactions API: one list of steps by the user, the model and the tools.

mod chat_api;
mod codec;
mod content;
mod envelope;
mod history;
mod step;
mod stream;
mod write;

pub(crate) use codec::Interactions;

/// The dialect's name on the command line and in raw representations.
pub(super) const DIALECT: &str = "google-interactions";
