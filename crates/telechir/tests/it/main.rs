//! Whole runs of the binary, as a user runs it, on real parts of the machine.
#![expect(clippy::expect_used, reason = "a test that cannot go on ends here")]
#![expect(
    clippy::disallowed_methods,
    reason = "the binary is started as a user starts it"
)]

mod approval;
mod attached;
mod bad_input;
mod browsing;
mod conform;
mod doctor;
mod edits;
mod exec;
mod existing;
mod journal_kills;
mod kills;
mod network;
mod passwords;
mod profiles;
mod providers;
mod scales;
mod sessions;
mod telechir;
mod translate;
