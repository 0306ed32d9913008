//! A browser: Chromium behind our own thin client, over a pipe that nobody else can reach.
//!
//! It knows pages, tabs and input; it does not know X11. A window's screen is given to it.

mod address;
mod book;
mod browser;
mod capture;
mod client;
mod dragged;
mod error;
mod hands;
mod keyboard;
mod launch;
mod layout;
mod navigate;
mod options;
mod page;
mod pointer;
mod script;
mod settle;
mod setup;
mod snapshot;
mod tabs;
mod walker;
mod wire;

pub use browser::{Browser, Paired};
pub use options::{Addresses, Options, Sandbox, Surface};
pub use pointer::PIXELS_PER_CLICK;
