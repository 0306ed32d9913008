//! Desktop device for X11: screenshots, input, windows, clipboard and settling on one X server.
//!
//! [`PrivateDisplay`] starts a confined Xvfb of its own, [`ExistingDisplay`] connects to a running
//! server. Either becomes a [`Desktop`] (a [`Computer`](telechir_device::Computer)) or an
//! [`XScreen`] (a [`Screen`](telechir_device::Screen) for a browser window). Permissions are
//! checked by the caller, not here.
//!
//! ```no_run
//! # async fn example() -> Result<(), telechir_device::DeviceError> {
//! use telechir_device::Computer as _;
//! use telechir_x11::{DisplayOptions, PrivateDisplay};
//!
//! let display = PrivateDisplay::start(DisplayOptions::new("/tmp", None)).await?;
//! let mut desktop = display.into_desktop().await?;
//! let frame = desktop.capture().await?;
//! assert_eq!(frame.size(), desktop.size());
//! desktop.close().await
//! # }
//! ```

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
mod input_limit;
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
mod startup;
mod stderr_tail;
mod stream;
mod synthetic_pointer;
mod text;
mod viewer;
mod windows;
mod wm_sync;

pub use desktop::Desktop;
pub use existing::ExistingDisplay;
pub use kill_switch::{Corner, KillSwitch};
pub use paste::Typing;
pub use private::{DisplayOptions, PrivateDisplay};
pub use screen::XScreen;
