//! A recorded model behind real HTTP: it plays a script and rejects what the live API rejects.
//!
//! It parses requests without telechir's dialects, so that it can disagree with them. It records
//! every rejection: a run with one failed, even if it ended successfully.

mod anthropic;
mod bodies;
mod chat;
mod conversations;
mod converse;
mod google;
mod image;
mod openai;
mod rejection;
mod script;
mod script_player;
mod server;
mod shape;
mod streams;
mod templates;

pub use rejection::Rejection;
pub use script::{
    Expectation, Fault, Provider, RepeatUntil, Script, ScriptError, ScriptTurn, TakeRule,
};
pub use server::{ModelServer, PlayReport, ServedPage};
