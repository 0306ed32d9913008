//! An optional ability of a screen: it knows its windows.

use std::future::Future;

use crate::DeviceError;
use crate::elements::ScreenBounds;

/// A window of a screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The device's id of the window, such as `w3`.
    pub id: String,
    /// Title of the window.
    pub title: String,
    /// The program's class name of the window.
    pub class: String,
    /// Visible bounds, including the frame.
    pub bounds: ScreenBounds,
    /// Bounds of the content without the frame, the origin of the program's coordinates.
    pub content: ScreenBounds,
    /// Whether it has the keyboard focus.
    pub is_active: bool,
    /// Whether it is on the screen.
    pub is_shown: bool,
}

/// A screen that knows its windows.
pub trait WindowList: Send {
    /// Returns all windows, from back to front; none without a window manager.
    ///
    /// # Errors
    /// When the screen is gone.
    fn windows(&mut self) -> impl Future<Output = Result<Vec<Window>, DeviceError>> + Send;
}
