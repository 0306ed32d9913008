//! Attacks from inside of a session, each against what an adversary could change.

mod ownership;
mod removal;
