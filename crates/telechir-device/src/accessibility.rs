//! An extra ability of a screen: its applications say what they show, and do what they are asked.

use std::future::Future;

use serde_json::Value;

use crate::elements::{Element, Tree};
use crate::{DeviceError, Performed, Window};

/// How much is asked of applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Detail {
    /// Names, roles, states, values, and the places of what is shown.
    #[default]
    Basic,
    /// Also the ids that programs give their elements, and the names of elements' own actions.
    Full,
}

/// One element as it is now, and where it belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The element.
    pub element: Element,
    /// The title of the window it is in.
    pub window: String,
}

/// What applications say of themselves. Refs live as long as their elements.
///
/// Contract: every function ends in bounded time, also when an application hangs; then the others'
/// elements are there and the tree names it. `windows` are those of the screen, which some
/// applications cannot place themselves without.
pub trait Accessibility: Send {
    /// All elements of all applications.
    ///
    /// # Errors
    /// When nothing can be heard of any application.
    fn tree(
        &mut self,
        detail: Detail,
        windows: &[Window],
    ) -> impl Future<Output = Result<Tree, DeviceError>> + Send;

    /// One element as it is now.
    ///
    /// # Errors
    /// [`DeviceError::Stale`] when it is gone.
    fn element(
        &mut self,
        id: &str,
        windows: &[Window],
    ) -> impl Future<Output = Result<Located, DeviceError>> + Send;

    /// Uses an element's own action; absent means its first. Confirmed only when the element was
    /// seen to change as the action says.
    ///
    /// # Errors
    /// When it has no such action, or is gone.
    fn invoke(
        &mut self,
        id: &str,
        name: Option<&str>,
    ) -> impl Future<Output = Result<Performed, DeviceError>> + Send;

    /// Gives an element a value: a text, a number, on or off, one of its options. None when it
    /// takes none this way and must be typed into.
    ///
    /// # Errors
    /// When the value does not fit it, or it is gone.
    fn set(
        &mut self,
        id: &str,
        value: &Value,
    ) -> impl Future<Output = Result<Option<Performed>, DeviceError>> + Send;

    /// Brings an element into view, as far as its application can.
    ///
    /// # Errors
    /// When it is gone.
    fn reveal(&mut self, id: &str) -> impl Future<Output = Result<(), DeviceError>> + Send;
}
