//! The server as a process of its own, with a session that this crate's tests provide.
#![expect(clippy::expect_used, reason = "a failed setup step fails the test")]

mod conformance;
