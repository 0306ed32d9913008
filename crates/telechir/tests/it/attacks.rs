//! Attacks on whole sessions, by what a model calls and by what an adversary could reach or read.

mod answers;
mod first_page;
mod folders;
mod host_environment;
mod hosted_content;
mod modes;
mod terminal;
mod workspace;
