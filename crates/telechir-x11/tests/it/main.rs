//! Tests of the desktop on real X servers.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails on the first unexpected result"
)]

mod applications;
mod attacks;
mod capture;
mod clipboard;
mod concurrency;
mod confinement;
mod contract;
mod corpus;
mod fixture;
mod input;
mod input_windows;
mod launching;
mod lifecycle;
mod managers;
mod monitors;
mod network;
mod programs;
mod settle;
mod stopping;
mod text;
mod typing;
mod windows;
