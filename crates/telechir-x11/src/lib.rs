//! The desktop: an X server that can be seen and acted on.
//!
//! [`PrivateDisplay`] starts one of our own, [`ExistingDisplay`] uses one that is there. Either
//! becomes a [`Desktop`] (a computer) or an [`XScreen`] (what a browser needs of its screen).
//! This crate decides nothing about what may be done.

mod address;
mod applications;
mod authority;
mod capture;
mod clipboard;
mod connection;
mod cursor;
mod desktop;
mod display;
mod display_io;
mod error;
mod existing;
mod focus;
mod keyboard;
mod keycode_pool;
mod keysym;
mod kill_switch;
mod launch;
mod layout;
mod monitors;
mod paste;
mod pointer;
mod press_guard;
mod private;
mod recovery;
mod screen;
mod screen_view;
mod settle;
mod stream;
mod text;
mod windows;
mod wm_sync;

pub use desktop::Desktop;
pub use existing::ExistingDisplay;
pub use kill_switch::{Corner, KillSwitch};
pub use paste::Typing;
pub use private::{DisplayOptions, PrivateDisplay};
pub use screen::XScreen;
