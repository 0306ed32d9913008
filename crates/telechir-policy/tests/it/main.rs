//! The verdicts of the policy, case by case, as a caller sees them.
#![expect(clippy::unwrap_used, reason = "a failed test is a panic")]

mod addresses;
mod attacks;
mod corpus;
mod differential;
mod file;
mod file_properties;
mod judge;
mod properties;
mod proposals;
mod question;
mod repeated;
mod screen;
mod shell;
mod shipped;
mod strictness;
mod texts;
