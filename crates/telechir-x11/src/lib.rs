//! The desktop: an X server that can be seen and acted on.
//!
//! [`PrivateDisplay`] starts one of our own, [`ExistingDisplay`] uses one that is there. Either
//! becomes a [`Desktop`] (a computer) or an [`XScreen`] (what a browser needs of its screen).
//! This crate decides nothing about what may be done.

mod address;
mod applications;
mod authority;
mod body;
mod capture;
mod clipboard;
mod connection;
mod cursor;
mod desktop;
mod display;
mod error;
mod existing;
mod eyes;
mod focus;
mod grip;
mod keyboard;
mod keysym;
mod launch;
mod layout;
mod manager;
mod monitors;
mod paste;
mod pointer;
mod private;
mod recovery;
mod screen;
mod settle;
mod spares;
mod stream;
mod switch;
mod text;
mod windows;

pub use desktop::Desktop;
pub use existing::ExistingDisplay;
pub use paste::Typing;
pub use private::{DisplayOptions, PrivateDisplay};
pub use screen::XScreen;
pub use switch::{Corner, KillSwitch};
