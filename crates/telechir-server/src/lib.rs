//! The interfaces through which other programs use a session: the Model Context Protocol over
//! standard input and output, and an HTTP API.
//!
//! Starts no device and no process: whoever uses this crate hands in a [`SessionAccess`], or an
//! [`http::SessionLauncher`].

pub mod http;
pub mod mcp;
mod sent_calls;
mod session_access;
mod stdio;

pub use sent_calls::{IdentifiedCall, SentCalls};
pub use session_access::{Approvals, NO_MODEL, SessionAccess, session_members};
