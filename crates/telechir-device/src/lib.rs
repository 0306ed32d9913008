//! What the engine needs of a screen, a browser, a shell and an editor; pure: no clock, no files, no network.

mod computer;
#[cfg(feature = "testing")]
pub mod contract;
mod editor;
mod erased;
mod error;
mod frame;
mod screen_space;
mod shell;
mod viewport;

pub use computer::{Computer, Effect, PageContext, Performed, Screen, Settle, Settled};
pub use editor::{Edited, Editor};
pub use erased::{BoxComputer, BoxEditor, BoxScreen, BoxShell};
pub use error::DeviceError;
pub use frame::Frame;
pub use screen_space::{ScreenAction, ScreenPoint, ScreenRegion, ScreenTarget};
pub use shell::{Shell, ShellCommand, ShellInput, ShellJob, Typed};
pub use viewport::{Misplaced, Viewport};
