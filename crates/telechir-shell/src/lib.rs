//! One bash that remembers, in a sandbox: its terminal is its input, its outputs are pipes, and
//! the end of a command is an event.

mod background_output;
mod bash;
mod capture;
mod config;
mod control_channel;
mod disk_guard;
mod docker;
mod editor;
mod host;
mod input_wait;
mod jobs;
mod keys;
mod output;
mod processes;
mod prompt;
mod running;
mod sandbox;
mod script;
mod session;
mod spool;
mod terminal;

pub use bash::Bash;
pub use config::{Docker, Host, Isolation, Limits, Missing, Sandbox};
pub use editor::FileEditor;
