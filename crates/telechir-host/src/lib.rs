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
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod message_properties;
mod paths;
mod probe;
mod running_call;
mod server;
pub mod tokens;
mod user_file;

pub use client::{ClosedSession, DevtoolsId, HostClient};
pub use error::{HostError, HostErrorKind, error_chain};
pub use event_stream::EventStream;
pub use launch::{HostProgram, launch};
pub(crate) use message::HostReply;
pub use message::{
    ControlId, DeviceOffer, EventsFrom, PROTOCOL, PersonInControl, ScreenArea, ScreenUpdate,
    ScreenshotsFor, SessionDescription, SessionImage, SessionState, TurnKey, TurnRequest,
};
pub use paths::{SessionName, SessionPaths};
pub use probe::{Probe, find, probe};
pub use running_call::{CallUpdate, QuestionPrompt, RunningCall};
pub use server::{
    CallQuestions, Extending, HostApprover, HostEnd, HostSettings, HostedSession, HostedTools,
    PersonTurns, PolicySource, SessionStarter, TimeExtender, ViewedSession, serve,
};
pub use telechir_runtime::{
    DeviceKind, NewestOutput, OutputTail, PersonInput, RecordedEvent, RecordedToolCall,
};
