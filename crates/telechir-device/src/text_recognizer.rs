//! Optical character recognition (OCR), for windows without accessibility information.

use std::fmt;

use async_trait::async_trait;

use crate::elements::ScreenBounds;
use crate::{DeviceError, Frame};

/// A recognized word and its bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecognizedWord {
    /// The word as the recognizer read it; it may be wrong.
    pub text: String,
    /// Bounds in pixels of the frame.
    pub bounds: ScreenBounds,
}

/// Adjacent words on one line, from left to right.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct TextLine {
    /// Words of the line; never empty.
    pub words: Vec<RecognizedWord>,
}

impl TextLine {
    /// The words joined by spaces.
    pub fn text(&self) -> String {
        let words: Vec<&str> = self.words.iter().map(|word| word.text.as_str()).collect();
        words.join(" ")
    }

    /// The smallest rectangle around all words.
    pub fn bounds(&self) -> Option<ScreenBounds> {
        let words = self.words.iter().map(|word| word.bounds);
        words.reduce(ScreenBounds::around)
    }
}

/// Recognizes text in a frame. The result may contain errors.
#[async_trait]
pub trait TextRecognizer: Send + fmt::Debug {
    /// Recognizes the lines of a frame, from top to bottom.
    ///
    /// # Errors
    /// When OCR is not available; the error says how to enable it.
    async fn read(&mut self, frame: &Frame) -> Result<Vec<TextLine>, DeviceError>;
}
