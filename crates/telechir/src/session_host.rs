//! Persistent sessions: the session host is a process that owns the devices and serves one caller
//! after the other on a socket.
//!
//! `paths`: socket, lock and log files. `message`, `frames`: the protocol. `flags`: the flags a
//! session was started with. `server`, `accept`, `remote_approver`: the session host. `client`: the
//! caller's side.

mod accept;
mod client;
mod flags;
mod frames;
mod message;
mod paths;
mod remote_approver;
mod server;

pub(crate) use client::{Caller, HostClient, Probe, execute, find, probe};
pub(crate) use message::{ScreenshotsFor, SessionDescription, SessionState};
pub(crate) use paths::{SessionName, SessionPaths, folder};
pub(crate) use server::run;
