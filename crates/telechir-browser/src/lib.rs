//! A browser: Chromium behind our own thin client, over a pipe that nobody else can reach.
//!
//! It knows pages, tabs and input; it does not know X11. A window's screen is given to it.

mod address;
mod attach;
mod book;
mod browser;
mod capture;
mod cast;
mod client;
mod context;
mod dragged;
mod error;
mod exchange;
mod hands;
mod keyboard;
mod launch;
mod layout;
mod memory;
mod navigate;
mod options;
mod page;
mod persona;
mod pointer;
mod profiles;
mod scale;
mod script;
mod settle;
mod setup;
mod shelf;
mod snapshot;
mod socket;
mod tabs;
mod tree;
mod walker;
mod wire;

pub use browser::{Browser, ScreenshotWithElements};
pub use launch::shell_program;
pub use options::{Addresses, Files, Options, Profile, Sandbox, Surface};
pub use persona::{ColorScheme, Emulation};
pub use pointer::PIXELS_PER_CLICK;
pub use profiles::{
    ProfileError, ProfileId, ProfileInfo, ProfileLock, ProfileUse, Profiles, close_folder,
};
