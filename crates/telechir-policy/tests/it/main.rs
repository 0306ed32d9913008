//! What the policy says, case by case, as a caller sees it.
#![expect(clippy::unwrap_used, reason = "a failed test is a panic")]

mod addresses;
mod corpus;
mod demands;
mod differential;
mod file;
mod question;
mod screen;
mod shell;
mod strictness;
