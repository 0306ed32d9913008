//! Sessions with fake devices that log their calls.
#![expect(clippy::unwrap_used, reason = "a failed test is a panic")]
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "tests match only the variants they are about"
)]

mod approval;
mod attacks;
mod control;
mod devtools;
mod edits;
mod fakes;
mod full_disk;
mod journal;
mod kill;
mod labels;
mod recording;
mod replay;
mod screens;
mod shells;
mod steps;
mod stops;
mod turns;
mod window_notes;
