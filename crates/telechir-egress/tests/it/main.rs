//! The proxy between real sockets of loopback; only the resolver is the test's own.
#![expect(clippy::unwrap_used, reason = "a test stops where its ground is gone")]

mod fixture;
mod http;
mod limits;
mod names;
mod tunnel;
mod upstream;
