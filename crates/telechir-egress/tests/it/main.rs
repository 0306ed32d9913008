//! The proxy between real loopback sockets; only the resolver is a stub.
#![expect(clippy::unwrap_used, reason = "a test fails where its setup fails")]

mod attacks;
mod fixture;
mod http;
mod limits;
mod names;
mod tunnel;
mod upstream;
