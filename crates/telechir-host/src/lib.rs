//! The session host: one process per session owns the devices, and every interface is a client of
//! its socket.
//!
//! Clients: [`find`] or [`probe`] a session by its [`SessionPaths`], [`launch`] its host, and use it
//! through a [`HostClient`]. The host: [`serve`] with the devices that a [`SessionStarter`] hands in.
//! No device is in this crate, and nothing here reads flags or the environment.

pub mod approvals;
mod client;
mod connection;
mod error;
mod event_stream;
mod frame_buffer;
mod frames;
mod launch;
mod message;
#[cfg(test)]
mod message_properties;
mod paths;
mod probe;
mod running_call;
mod server;

pub use client::{ClosedSession, HostClient};
pub use error::{HostError, HostErrorKind};
pub use event_stream::EventStream;
pub use launch::{HostProgram, launch};
pub use message::{
    PROTOCOL, ScreenshotsFor, SessionDescription, SessionState, TurnKey, TurnRequest,
};
pub use paths::{SessionName, SessionPaths};
pub use probe::{Probe, find, probe};
pub use running_call::{CallUpdate, QuestionPrompt, RunningCall};
pub use server::{
    HostApprover, HostEnd, HostSettings, HostedSession, PolicySource, SessionStarter, serve,
};
