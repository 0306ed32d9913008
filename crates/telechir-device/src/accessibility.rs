//! An extra ability of a screen: its applications say what they show, and do what they are asked.

use std::future::Future;

use serde_json::Value;

use crate::elements::{Element, Tree};
use crate::{ActionReport, DeviceError, Window};

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
    /// Whether there is anybody to ask.
    fn is_there(&self) -> bool {
        true
    }

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
    ) -> impl Future<Output = Result<ActionReport, DeviceError>> + Send;

    /// Gives an element a value: a text, a number, on or off, one of its options. None when it
    /// takes none this way and must be typed into.
    ///
    /// # Errors
    /// When the value does not fit it, or it is gone.
    fn set(
        &mut self,
        id: &str,
        value: &Value,
    ) -> impl Future<Output = Result<Option<ActionReport>, DeviceError>> + Send;

    /// Brings an element into view, as far as its application can.
    ///
    /// # Errors
    /// When it is gone.
    fn reveal(&mut self, id: &str) -> impl Future<Output = Result<(), DeviceError>> + Send;
}

/// Nobody, where a screen has no way to ask applications: nothing is known of any element.
impl<A: Accessibility> Accessibility for Option<A> {
    fn is_there(&self) -> bool {
        self.as_ref().is_some_and(A::is_there)
    }

    async fn tree(&mut self, detail: Detail, windows: &[Window]) -> Result<Tree, DeviceError> {
        match self {
            Some(applications) => applications.tree(detail, windows).await,
            None => Ok(Tree::default()),
        }
    }

    async fn element(&mut self, id: &str, windows: &[Window]) -> Result<Located, DeviceError> {
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
            "Nothing is known of an element {id}: this screen has no bus to ask its applications \
             on; give a place instead."
        ),
    }
}
