//! Reading words off pixels, for windows that say nothing of themselves.

use std::future::Future;

use crate::elements::Bounds;
use crate::{DeviceError, Frame};

/// A word and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word as it was read.
    pub text: String,
    /// Its place, in pixels of what was read.
    pub bounds: Bounds,
}

/// Words that stand together on one line, from left to right.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Line {
    /// The words; never none.
    pub words: Vec<Word>,
}

impl Line {
    /// Its words with spaces between them.
    pub fn text(&self) -> String {
        let words: Vec<&str> = self.words.iter().map(|word| word.text.as_str()).collect();
        words.join(" ")
    }

    /// What all its words cover.
    pub fn bounds(&self) -> Option<Bounds> {
        let words = self.words.iter().map(|word| word.bounds);
        words.reduce(Bounds::around)
    }
}

/// What reads words off pixels. It reads what it was given and nothing else, and may misread.
pub trait TextRecognizer: Send {
    /// The lines on a frame, from top to bottom.
    ///
    /// # Errors
    /// When it cannot read here; the error says how it could.
    fn read(
        &mut self,
        frame: &Frame,
    ) -> impl Future<Output = Result<Vec<Line>, DeviceError>> + Send;
}
