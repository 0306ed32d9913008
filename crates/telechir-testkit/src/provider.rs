//! A recorded model behind real HTTP: it plays a script and refuses what the live API refuses.
//!
//! It reads requests by itself, without our dialects, so that it can disagree with them. What it
//! refuses it also remembers: a run that ended well with a refusal in between did not end well.

mod anthropic;
mod bodies;
mod chat;
mod conversations;
mod converse;
mod google;
mod image;
mod openai;
mod refusal;
mod script;
mod script_player;
mod server;
mod shape;
mod templates;

pub use refusal::Refusal;
pub use script::{Again, Expectation, Fault, Provider, Script, ScriptError, TakeRule, Turn};
pub use server::{ModelServer, Page, Tally};
