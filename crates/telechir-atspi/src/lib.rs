//! Reads the accessibility trees of a desktop's applications (AT-SPI) in bulk and performs actions
//! on elements by ref.
//!
//! Applications are not trusted: each has its own timeout, and wrong, endless or late replies of
//! one do not delay the others. This crate does not use X11; callers pass the window positions.
//!
//! ```no_run
//! # async fn example() -> Result<(), telechir_device::DeviceError> {
//! use telechir_atspi::{AtSpi, BusSocket};
//! use telechir_device::{Accessibility as _, Detail};
//!
//! let session = BusSocket::new("/run/user/1000/bus".into(), None);
//! let mut applications = AtSpi::new(session);
//! let tree = applications.tree(Detail::Basic, &[]).await?;
//! println!("{} elements", tree.elements.len());
//! # Ok(())
//! # }
//! ```

mod actions;
mod app;
mod atspi;
mod bus;
mod element;
mod error;
mod object;
mod placement;
mod refs;
mod role;
mod set_value;
mod state;
mod titles;

pub use atspi::AtSpi;
pub use bus::BusSocket;
