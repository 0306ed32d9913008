//! Sessions that last across calls: a process that holds the devices and listens on a socket, and
//! the calls that come to it one after the other.
//!
//! `place` is where sockets lie, `message` and `frames` what goes over them, `flags` what a
//! session was started with, `door` who may come in, `desk` how questions reach the caller,
//! `turns` the holder's work, `visit` the caller's.

mod desk;
mod door;
mod flags;
mod frames;
mod message;
mod place;
mod turns;
mod visit;

pub(crate) use message::{Description, State};
pub(crate) use place::{Name, Place};
pub(crate) use turns::hold;
pub(crate) use visit::{Found, carry_out, find, look};
