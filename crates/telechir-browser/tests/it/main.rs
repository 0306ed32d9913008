//! The browser against a real Chromium and a page that reports what truly happened to it.
#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

mod attached;
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
mod snapshots;
mod tabs;
mod window;
