//! Sessions: judge, ask, act, observe, record. In a session, only this crate acts on devices.
//!
//! Start reading in `pipeline.rs`, which is the path of a call from top to bottom. This crate does
//! not know providers' JSON or which model is driving.
//!
//! ```
//! use telechir_policy::Policy;
//! use telechir_runtime::{Journal, Session, verify};
//!
//! let folder = tempfile::tempdir()?;
//! let journal = Journal::open(folder.path().join("recording"))?;
//! let session = Session::builder(Policy::from_toml("", "example")?).journal(journal).build()?;
//! assert!(session.devices().is_empty());
//! drop(session);
//!
//! let checked = verify(folder.path().join("recording"))?;
//! assert_eq!((checked.rows, checked.fault), (2, None));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod approver;
mod bus;
mod config;
mod control;
mod error;
mod event;
mod execute;
mod journal;
mod newest_output;
mod notes;
mod observe;
mod page_outline;
mod pipeline;
mod question_rate;
mod recorder;
mod resolve;
mod screens;
mod screenshot;
mod session;
mod session_state;

pub use approver::{Answer, AnswerOrigin, AnswerWay, Approver, DenyAll};
pub use bus::EventReader;
pub use config::{AutoScreenshot, ScreenshotRule, SessionLimits};
pub use control::{ControlLease, PersonInput};
pub use error::{JournalError, RuntimeError};
pub use event::{ActionEffect, CallKind, DeviceKind, RemoteStep, SessionEvent, TurnIdentity};
pub use journal::{
    BatchRange, ConversationEntry, EventBatch, Journal, JournalRecord, RecordKind,
    RecordedConversation, RecordedEntry, RecordedEvent, RecordedResponse, RecordedToolCall,
    RecordedTurn, RecordingReader, RecordingSpan, RunId, Verified, VerifyFault, read, read_batch,
    read_blob, read_screenshot, read_span, verify, verify_since,
};
pub use newest_output::{NewestOutput, OutputTail};
pub use page_outline::PageOutline;
pub use pipeline::devtools::{DevtoolsCommand, DevtoolsGrants, DevtoolsScope};
pub use screens::{ChangedArea, ScreenChanges, ScreenError, ScreenImage, SessionScreens};
pub use session::{EventSender, Session, SessionBuilder};
pub use session_state::PolicySlot;
pub use telechir_device::{DevtoolsChannel, DevtoolsCommands, DevtoolsEvents, DevtoolsReply};
pub use telechir_image::{Format, ImageError, encode};
