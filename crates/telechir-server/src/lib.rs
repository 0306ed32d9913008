//! The interfaces through which other programs use a session: the Model Context Protocol over
//! standard input and output.
//!
//! Starts no device and no process: whoever uses this crate hands in a [`SessionAccess`].

pub mod mcp;
mod session_access;
mod stdio;

pub use session_access::{Approvals, SessionAccess};
