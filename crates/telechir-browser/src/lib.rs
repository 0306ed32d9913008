//! A browser: Chromium behind our own thin client, over a pipe that nobody else can reach.
//!
//! It knows pages, tabs and input; it does not know X11. A window's screen is given to it.

mod address;
mod attach;
mod tab_registry;
mod browser;
mod capture;
mod screencast;
mod client;
mod context;
mod drag_and_drop;
mod error;
mod file_transfer;
mod input_state;
mod keyboard;
mod launch;
mod us_keyboard;
mod memory;
mod navigate;
mod options;
mod cdp_session;
mod emulation;
mod pointer;
mod profiles;
mod scale;
mod script;
mod settle;
mod setup;
mod event_router;
mod snapshot;
mod socket;
mod tabs;
mod fs_tree;
mod walker;
mod framing;

pub use browser::{Browser, ScreenshotWithElements};
pub use launch::shell_program;
pub use options::{Addresses, Files, Options, Profile, Sandbox, Surface};
pub use emulation::{ColorScheme, Emulation};
pub use pointer::PIXELS_PER_CLICK;
pub use profiles::{
    ProfileError, ProfileId, ProfileInfo, ProfileLock, ProfileUse, Profiles, close_folder,
};
