//! The desktop against real X servers.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at the first surprise"
)]

mod applications;
mod capture;
mod clipboard;
mod confinement;
mod contract;
mod corpus;
mod crowd;
mod input;
mod launching;
mod life;
mod managers;
mod network;
mod programs;
mod settle;
mod stage;
mod stopping;
mod text;
mod typing;
mod windows;
