//! What the engine needs of a screen, a browser, a shell and an editor; pure: no clock, no files, no network.

mod accessibility;
mod accessible;
mod computer;
#[cfg(feature = "testing")]
pub mod contract;
mod editor;
mod elements;
mod erased;
mod error;
mod frame;
mod marks;
mod reader;
mod screen_space;
mod shell;
mod viewport;
mod windows;

pub use accessibility::{Accessibility, Detail, Located};
pub use accessible::WithAccessibility;
pub use computer::{
    ActionReport, Computer, Effect, PageContext, PartLocation, Screen, ScreenPart, Settle, Settled,
    UntilStopped,
};
pub use editor::{Edited, Editor};
pub use elements::{
    AmbiguousMatch, Bounds, Element, Filter, Outline, State, States, Tree, choose, is_interactive,
    role_name, search,
};
pub use erased::{BoxComputer, BoxEditor, BoxReader, BoxScreen, BoxShell};
pub use error::DeviceError;
pub use frame::Frame;
pub use marks::{Labels, Mark, MarkKind, draw};
pub use reader::{Line, TextRecognizer, Word};
pub use screen_space::{ScreenAction, ScreenPoint, ScreenRegion, ScreenTarget};
pub use shell::{Shell, ShellCommand, ShellInput, ShellJob, Typed};
pub use viewport::{TargetError, Viewport};
pub use windows::{Window, Windows};
