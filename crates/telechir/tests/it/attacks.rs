//! Attacks on whole sessions, each against what an adversary could reach or read.

mod folders;
mod modes;
mod workspace;
