//! The page of a session's browser for people who look at it, at any time and beside the running call.

use std::sync::Arc;

use telechir_device::{DeviceError, PageOutlineSource};
use tokio::sync::Mutex;

/// Reads the page of a session's browser. Reading needs no permission, changes nothing and is not
/// recorded. Clones share the browser.
#[derive(Clone, Debug)]
pub struct PageOutline(Arc<Mutex<Box<dyn PageOutlineSource>>>);

impl PageOutline {
    pub(crate) fn new(source: Box<dyn PageOutlineSource>) -> Self {
        Self(Arc::new(Mutex::new(source)))
    }

    /// The elements of the page as text, one in each line, below its title and URL.
    ///
    /// # Errors
    /// When no page is open, it does not answer in time, or a dialog stops it.
    pub async fn read(&self) -> Result<String, DeviceError> {
        self.0.lock().await.outline().await
    }
}
