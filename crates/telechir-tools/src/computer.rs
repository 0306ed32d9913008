//! A computer behind blocking functions, for programs without an async runtime.

use std::fmt;
use std::time::Duration;

use telechir_protocol::{Action, Size};

use crate::request::OpenOptions;

/// A screen, or a browser, that executes one action at a time.
///
/// Only [`Self::execute`], [`Self::screenshot`], [`Self::display_size`] and [`Self::close`] are
/// needed. The others describe what a computer may have beside them.
pub trait Computer {
    /// Executes an action and returns the screen after it.
    ///
    /// # Errors
    /// If the action failed, or the screen could not be captured after it.
    fn execute(&mut self, action: &Action) -> Result<Capture, ComputerError>;

    /// Captures the screen.
    ///
    /// # Errors
    /// If the screen could not be captured.
    fn screenshot(&mut self) -> Result<Capture, ComputerError>;

    /// Size of the screenshots in pixels, in which coordinates are given.
    fn display_size(&self) -> Size;

    /// Ends the session and everything that it started.
    ///
    /// # Errors
    /// If something did not end cleanly.
    fn close(&mut self) -> Result<(), ComputerError>;

    /// Id of the persistent page data that the session is bound to, if it is.
    fn context_id(&self) -> Option<String> {
        None
    }

    /// The session, if the computer has one.
    fn session_info(&self) -> Option<SessionInfo> {
        None
    }

    /// Opens a session, attaches to one, or binds to other page data. Ends a different session first.
    ///
    /// # Errors
    /// For an option that this computer does not support, or if the session cannot be opened.
    fn open_session(&mut self, _options: &OpenOptions) -> Result<(), ComputerError> {
        Err(ComputerError::unsupported("open a session"))
    }

    /// Continues an earlier session.
    ///
    /// # Errors
    /// As [`Self::open_session`].
    fn resume(&mut self, session_id: &str) -> Result<(), ComputerError> {
        self.open_session(&OpenOptions {
            session_id: Some(session_id.to_owned()),
            ..OpenOptions::default()
        })
    }

    /// Lets the session live for so many seconds from now.
    ///
    /// # Errors
    /// If the lifetime of the session cannot be changed.
    fn extend_timeout(&mut self, _seconds: u64) -> Result<(), ComputerError> {
        Err(ComputerError::unsupported("extend the session"))
    }
}

/// A screen at one moment.
#[derive(Clone, PartialEq)]
pub struct Capture {
    /// The bytes of the image, encoded as `media_type` names.
    pub image: Vec<u8>,
    /// MIME type of the image, such as `image/png`.
    pub media_type: String,
    /// Size of the image in pixels.
    pub size: Size,
    /// Width of the image relative to the screen: 1 if it is not scaled.
    pub scale: f64,
    /// The page's address, if it is a page.
    pub url: Option<String>,
    /// Text output of the action, such as the pointer's position.
    pub text: Option<String>,
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture")
            .field("bytes", &self.image.len())
            .field("media_type", &self.media_type)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

/// A session of a computer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    /// Who runs it: `local`, `service`, or the name of a provider of browsers.
    pub session_type: String,
    /// Its id; none for a local one.
    pub session_id: Option<String>,
    /// The page's address, if it shows a page.
    pub current_url: Option<String>,
}

/// Why a computer failed. The text reads after "failed to".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComputerError {
    message: String,
    is_screenshot: bool,
}

impl ComputerError {
    /// The action was not executed.
    pub fn action(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            is_screenshot: false,
        }
    }

    /// The action was executed, but no screenshot could be taken after it, for example because the
    /// page was just replaced. It is worth another try.
    pub fn screenshot(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            is_screenshot: true,
        }
    }

    fn unsupported(what: &str) -> Self {
        Self::action(format!("{what}: this computer does not support it"))
    }

    /// Whether only the screenshot is missing.
    pub fn is_screenshot(&self) -> bool {
        self.is_screenshot
    }
}

impl fmt::Display for ComputerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ComputerError {}

/// How often a missing screenshot is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScreenshotRetry {
    /// Number of further tries.
    pub attempts: u32,
    /// Time before each of them.
    pub pause: Duration,
}

impl Default for ScreenshotRetry {
    fn default() -> Self {
        Self {
            attempts: 3,
            pause: Duration::from_millis(500),
        }
    }
}
