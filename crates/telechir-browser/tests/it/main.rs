//! The browser against a real Chromium and a page that reports all events.
#![expect(
    clippy::unwrap_used,
    reason = "a panic is the failure report of a test"
)]

mod attached;
mod attacks;
mod common;
mod conformance;
mod contexts;
mod contract;
mod cycles;
mod dialogs;
mod egress;
mod elements;
mod events;
mod files;
mod floods;
mod frames;
mod hostile;
mod input;
mod isolation;
mod miniwob;
mod navigation;
mod pixels;
mod profiles;
mod screen;
mod server;
mod shadow;
mod shared;
mod snapshots;
mod tabs;
mod window;
