//! An extra ability of a screen: it knows its windows.

use std::future::Future;

use crate::DeviceError;
use crate::elements::Bounds;

/// A window of a screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// What the device calls it, such as `w3`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its program's name for this sort of window.
    pub class: String,
    /// What is seen of it, its frame included.
    pub place: Bounds,
    /// What its program draws, without the frame: where the program counts its pixels from.
    pub content: Bounds,
    /// Whether it gets the keys.
    pub is_active: bool,
    /// Whether it is on the screen at all.
    pub is_shown: bool,
}

/// A screen that knows its windows.
pub trait Windows: Send {
    /// All windows, from the back to the front; none where nobody manages windows.
    ///
    /// # Errors
    /// When the screen is gone.
    fn windows(&mut self) -> impl Future<Output = Result<Vec<Window>, DeviceError>> + Send;
}
