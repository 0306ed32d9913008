//! Sessions with devices that only remember what they were told.
#![expect(clippy::unwrap_used, reason = "a failed test is a panic")]
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "tests look at what they are about"
)]

mod approval;
mod fakes;
mod full_disk;
mod journal;
mod kill;
mod labels;
mod replay;
mod screens;
mod shells;
mod stops;
mod turns;
