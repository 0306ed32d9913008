//! Sessions: judge, ask, act, observe, record. The only caller of devices.
//!
//! Start reading in `pipeline.rs`: it is the walk of a call from top to bottom. This crate has
//! never seen a provider's JSON and cannot tell which model is driving.

mod approver;
mod bus;
mod config;
mod error;
mod event;
mod execute;
mod journal;
mod observe;
mod pipeline;
mod recorder;
mod resolve;
mod screenshot;
mod session;

pub use approver::{Approver, DenyAll};
pub use bus::EventReader;
pub use config::{AutoScreenshot, Limits, ScreenshotRule};
pub use error::{JournalError, RuntimeError};
pub use event::{ActionEffect, CallKind, DeviceKind, SessionEvent};
pub use journal::{
    Journal, Record, RecordKind, RunId, Verified, VerifyFault, read, read_blob, verify,
    verify_since,
};
pub use screenshot::png;
pub use session::{EventSender, Session, SessionBuilder};
pub use telechir_image::{Format, ImageError, encode};
