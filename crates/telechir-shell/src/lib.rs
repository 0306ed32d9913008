//! One bash that remembers, in a sandbox: its terminal is its input, its outputs are pipes, and
//! the end of a command is an event.

mod bash;
mod capture;
mod config;
mod disk;
mod docker;
mod editor;
mod exchange;
mod host;
mod jobs;
mod keys;
mod late;
mod output;
mod processes;
mod prompt;
mod running;
mod sandbox;
mod script;
mod session;
mod spool;
mod terminal;
mod waiting;
pub mod windows;

pub use bash::Bash;
pub use config::{Docker, Host, Isolation, Limits, Missing, Sandbox};
pub use editor::FileEditor;
