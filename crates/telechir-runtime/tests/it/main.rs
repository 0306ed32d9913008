//! Sessions with devices that only remember what they were told.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed test is a panic"
)]

mod approval;
mod fakes;
mod journal;
mod screens;
mod shells;
mod turns;
