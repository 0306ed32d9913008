//! Traits and types for screens, browsers, shells and editors. Pure: no clock, no files, no
//! network.
//!
//! ```
//! use telechir_device::{ScreenPoint, Viewport};
//! use telechir_protocol::{Point, Size};
//!
//! // A screenshot of half the screen's size: each of its pixels stands for four.
//! let viewport = Viewport::new(Size::new(1600, 1200), Size::new(800, 600));
//! let point: ScreenPoint = viewport.point(Point::new(799, 0))?;
//! assert!(point.x() >= 1598 && point.y() <= 1);
//! assert!(viewport.point(Point::new(800, 0)).is_err());
//! # Ok::<(), telechir_device::TargetError>(())
//! ```

mod accessibility;
mod accessible;
mod computer;
mod devtools;
mod editor;
mod element_marks;
mod elements;
mod error;
mod frame;
mod marks;
mod page_context;
mod page_outline;
mod screen;
mod screen_space;
mod screen_viewer;
mod settle;
mod shell;
mod stop_signal;
mod text_recognizer;
mod viewport;
mod window_system;

pub use accessibility::{Accessibility, Detail, LocatedElement};
pub use accessible::WithAccessibility;
pub use computer::{ActionReport, Computer, Effect};
pub use devtools::{
    DevtoolsChannel, DevtoolsCommands, DevtoolsEvent, DevtoolsEvents, DevtoolsReply, DevtoolsSource,
};
pub use editor::{Edited, Editor};
pub use element_marks::ElementMarks;
pub use elements::{
    AmbiguousMatch, Element, ElementState, ElementStates, ElementTree, Filter, NameMatch, Outline,
    ScreenBounds, choose, choose_ranked, is_interactive, name_match, normalized, role_name, search,
};
pub use error::{DeviceEnd, DeviceError};
pub use frame::Frame;
pub use marks::{Labels, Mark, MarkKind, draw};
pub use page_context::{PageContext, PageContextSource};
pub use page_outline::PageOutlineSource;
pub use screen::Screen;
pub use screen_space::{ScreenAction, ScreenPoint, ScreenRegion, ScreenTarget};
pub use screen_viewer::ScreenViewer;
pub use settle::{Settle, Settled};
pub use shell::{OutputObserver, Shell, ShellCommand, ShellInput, ShellJob, Typed};
pub use stop_signal::{StopSignal, UntilStopped};
pub use text_recognizer::{RecognizedWord, TextLine, TextRecognizer};
pub use viewport::{TargetError, Viewport};
pub use window_system::{
    InputWindows, PartLocation, PointedWindows, ScreenPart, Window, WindowSystem,
};
