//! Sessions that last across calls: a process that holds the devices and listens on a socket, and
//! the calls that come to it one after the other.
//!
//! `place` is where sockets lie, `message` and `frames` what goes over them, `flags` what a
//! session was started with, `door` who may come in, `desk` how questions reach the caller,
//! `turns` the holder's work, `visit` the caller's.

mod accept;
mod client;
mod flags;
mod frames;
mod message;
mod paths;
mod remote_approver;
mod server;

pub(crate) use client::{Found, carry_out, find, look};
pub(crate) use message::{Description, State};
pub(crate) use paths::{Name, Place};
pub(crate) use server::hold;
