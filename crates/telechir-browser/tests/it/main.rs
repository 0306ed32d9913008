//! The browser against a real Chromium and a page that reports all events.
#![expect(
    clippy::unwrap_used,
    reason = "a panic is the failure report of a test"
)]

mod attached;
mod attached_tabs;
mod attacks;
mod clicks;
mod common;
mod conformance;
mod contexts;
mod contract;
mod cycles;
mod dialogs;
mod egress;
mod elements;
mod emulation;
mod events;
mod fields;
mod files;
mod floods;
mod frames;
mod hostile;
mod input;
mod isolation;
mod loads;
mod miniwob;
mod navigation;
mod pixels;
mod profiles;
mod reacting;
mod requests;
mod screen;
mod screenshots_of_parts;
mod server;
mod shadow;
mod shared;
mod snapshots;
mod storage_state;
mod tabs;
mod window;
