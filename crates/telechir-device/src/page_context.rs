//! An optional ability of a computer: it shows pages in tabs.

use async_trait::async_trait;
use telechir_protocol::{StateChange, TabState};

use crate::DeviceError;

/// A browser's page and tabs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageContext {
    /// URL of the active tab.
    pub url: Option<String>,
    /// All tabs; exactly one is active if there are any.
    pub tabs: Vec<TabState>,
    /// Events since the last report that the action did not request.
    pub changes: Vec<StateChange>,
    /// The same events and more as text: dialogs, downloads, crashes.
    pub notes: Option<String>,
}

/// A browser that reports its page and tabs.
#[async_trait]
pub trait PageContextSource: Send {
    /// Returns the browser's page and tabs.
    ///
    /// # Errors
    /// When the device is gone.
    async fn page_context(&mut self) -> Result<PageContext, DeviceError>;
}
