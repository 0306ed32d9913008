//! What a desktop's applications say of themselves (AT-SPI): their elements in bulk, and acting
//! on one by its ref.
//!
//! Speaks over a bus to programs that it does not trust: each has a deadline of its own, and
//! what one of them says can be wrong, endless or late without holding up the others. Knows no X
//! server: where windows are is told to it.

mod actions;
mod app;
mod atspi;
mod bus;
mod element;
mod error;
mod object;
mod refs;
mod role;
mod set_value;
mod state;

pub use atspi::AtSpi;
pub use bus::BusSocket;
