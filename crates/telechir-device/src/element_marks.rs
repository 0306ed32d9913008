//! An optional ability of a computer: it knows the elements and words on its screen.

use async_trait::async_trait;

use crate::{DeviceError, Mark};

/// A screen whose elements can be labelled on a screenshot.
#[async_trait]
pub trait ElementMarks: Send {
    /// Returns at most `at_most` elements to label, in reading order: interactive and in view.
    ///
    /// # Errors
    /// When accessibility information should be available but cannot be read.
    async fn marks(&mut self, at_most: usize) -> Result<Vec<Mark>, DeviceError>;

    /// Returns at most `at_most` words recognized in areas without accessibility information, from
    /// top to bottom. None if there are no such areas, or no text recognizer.
    ///
    /// # Errors
    /// When OCR should be available but is not; the error says how to enable it.
    async fn ocr_words(&mut self, _at_most: usize) -> Result<Vec<Mark>, DeviceError> {
        Ok(Vec::new())
    }
}
