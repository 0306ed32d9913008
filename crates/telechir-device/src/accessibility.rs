//! An optional ability of a screen: its applications describe their elements and act on them.

use std::fmt;

use async_trait::async_trait;
use serde_json::Value;

use crate::elements::{Element, ElementTree};
use crate::{ActionReport, DeviceError, Window};

/// How much is requested from applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Detail {
    /// Names, roles, states, values, and the bounds of visible elements.
    #[default]
    Basic,
    /// Also the ids that programs assign to their elements, and the names of elements' own actions.
    Full,
}

/// One element in its present state, and its window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocatedElement {
    /// The element as it is now.
    pub element: Element,
    /// Title of the window that contains it.
    pub window: String,
}

/// The accessibility information of applications. Refs are valid as long as their elements exist.
///
/// Contract: every function ends in bounded time, even if an application hangs; the tree then has
/// the elements of the others and names the hung application. `windows` are those of the screen,
/// which some applications need to locate their elements.
#[async_trait]
pub trait Accessibility: Send + fmt::Debug {
    /// Whether accessibility information is available.
    fn is_available(&self) -> bool {
        true
    }

    /// Returns all elements of all applications.
    ///
    /// # Errors
    /// When no application can be reached.
    async fn tree(
        &mut self,
        detail: Detail,
        windows: &[Window],
    ) -> Result<ElementTree, DeviceError>;

    /// Returns one element in its present state.
    ///
    /// # Errors
    /// [`DeviceError::Stale`] when it is gone.
    async fn element(
        &mut self,
        id: &str,
        windows: &[Window],
    ) -> Result<LocatedElement, DeviceError>;

    /// Invokes an element's own action; absent means its first. Confirmed only if the element was
    /// observed to change accordingly.
    ///
    /// # Errors
    /// When it has no such action, or is gone.
    async fn invoke(&mut self, id: &str, name: Option<&str>) -> Result<ActionReport, DeviceError>;

    /// Sets an element's value: a text, a number, on or off, one of its options. None if the
    /// element does not support this and must be typed into.
    ///
    /// # Errors
    /// When the value is invalid for it, or it is gone.
    async fn set(&mut self, id: &str, value: &Value) -> Result<Option<ActionReport>, DeviceError>;

    /// Scrolls an element into view, as far as its application supports that.
    ///
    /// # Errors
    /// When it is gone.
    async fn reveal(&mut self, id: &str) -> Result<(), DeviceError>;
}

/// A screen without accessibility information: no elements are known.
#[async_trait]
impl<A: Accessibility> Accessibility for Option<A> {
    fn is_available(&self) -> bool {
        self.as_ref().is_some_and(A::is_available)
    }

    async fn tree(
        &mut self,
        detail: Detail,
        windows: &[Window],
    ) -> Result<ElementTree, DeviceError> {
        match self {
            Some(applications) => applications.tree(detail, windows).await,
            None => Ok(ElementTree::default()),
        }
    }

    async fn element(
        &mut self,
        id: &str,
        windows: &[Window],
    ) -> Result<LocatedElement, DeviceError> {
        match self {
            Some(applications) => applications.element(id, windows).await,
            None => Err(unknown(id)),
        }
    }

    async fn invoke(&mut self, id: &str, name: Option<&str>) -> Result<ActionReport, DeviceError> {
        match self {
            Some(applications) => applications.invoke(id, name).await,
            None => Err(unknown(id)),
        }
    }

    async fn set(&mut self, id: &str, value: &Value) -> Result<Option<ActionReport>, DeviceError> {
        match self {
            Some(applications) => applications.set(id, value).await,
            None => Err(unknown(id)),
        }
    }

    async fn reveal(&mut self, id: &str) -> Result<(), DeviceError> {
        match self {
            Some(applications) => applications.reveal(id).await,
            None => Err(unknown(id)),
        }
    }
}

fn unknown(id: &str) -> DeviceError {
    DeviceError::Refused {
        message: format!(
            "Unknown element {id}: this screen has no accessibility bus; \
             use coordinates instead."
        ),
    }
}
