//! An optional ability of a browser: people can read its page while a call uses it.

use std::fmt;

use async_trait::async_trait;

use crate::DeviceError;

/// Reads the page of a browser for people, beside the running action. Reading changes nothing that a
/// model has read.
#[async_trait]
pub trait PageOutlineSource: Send + fmt::Debug {
    /// The elements of the active page as text, one in each line, below its title and URL. It never has
    /// passwords.
    ///
    /// # Errors
    /// When no page is open, it does not answer in time, or a dialog stops it.
    async fn outline(&mut self) -> Result<String, DeviceError>;
}
