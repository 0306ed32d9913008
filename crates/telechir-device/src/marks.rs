//! Set-of-Mark: numbered elements, drawn on the screenshot, which a model targets by number.

mod digits;
mod draw;

use telechir_protocol::FrameId;

use crate::viewport::TargetError;
use crate::{Element, ElementState, ScreenRegion, ScreenTarget};

pub use draw::draw;

/// The kind of a marked element, which determines its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MarkKind {
    /// A link to elsewhere.
    Link,
    /// An element to press: a button, a tab, a menu item.
    Press,
    /// An element to type into.
    Field,
    /// An element to choose: on or off, one of several.
    Choice,
    /// Words that OCR recognized.
    OcrText,
}

impl MarkKind {
    /// All kinds of marks.
    pub const ALL: [Self; 5] = [
        Self::Link,
        Self::Press,
        Self::Field,
        Self::Choice,
        Self::OcrText,
    ];

    /// The kind of an element's mark.
    pub fn of(element: &Element) -> Self {
        match &*element.role {
            "link" => Self::Link,
            "textbox" | "searchbox" | "password" | "spinbutton" | "slider" | "terminal" => {
                Self::Field
            }
            "checkbox" | "radio" | "switch" | "option" | "listitem" | "treeitem" | "cell"
            | "combobox" | "menuitemcheckbox" | "menuitemradio" => Self::Choice,
            _ if element.states.has(ElementState::Editable) => Self::Field,
            _ => Self::Press,
        }
    }

    /// Red, green and blue: blue, green, orange, purple and grey, each dark enough for white
    /// numbers.
    pub const fn colour(self) -> [u8; 3] {
        match self {
            Self::Link => [20, 90, 220],
            Self::Press => [0, 120, 50],
            Self::Field => [180, 75, 0],
            Self::Choice => [150, 40, 170],
            Self::OcrText => [95, 95, 95],
        }
    }
}

/// An element that can be marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The target of an action on its label.
    pub target: ScreenTarget,
    /// Region of the element on the screen.
    pub region: ScreenRegion,
    /// Kind of the element.
    pub kind: MarkKind,
    /// Description in one line: `button "Save" [e5]`.
    pub line: String,
}

/// The labels on the latest labelled screenshot. A mark's label is its position, from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    newest: Option<(FrameId, Vec<ScreenTarget>)>,
}

impl Labels {
    /// The labels of a screenshot, which replace all earlier ones.
    pub fn of(frame: FrameId, marks: &[Mark]) -> Self {
        let targets = marks.iter().map(|mark| mark.target.clone()).collect();
        Self {
            newest: Some((frame, targets)),
        }
    }

    /// The latest labelled screenshot.
    pub fn newest(&self) -> Option<&FrameId> {
        self.newest.as_ref().map(|(frame, _)| frame)
    }

    /// The target of a label; without a frame, of the latest labelled screenshot.
    ///
    /// # Errors
    /// When there is no labelled screenshot, it is another one, or it has no such label.
    pub fn find(&self, n: u32, frame: Option<&FrameId>) -> Result<ScreenTarget, TargetError> {
        let Some((newest, targets)) = &self.newest else {
            return Err(TargetError::UnknownLabel { n });
        };
        if let Some(frame) = frame.filter(|frame| *frame != newest) {
            return Err(TargetError::StaleLabel {
                n,
                frame: frame.clone(),
                newest: newest.clone(),
            });
        }
        let position = usize::try_from(n).ok().and_then(|n| n.checked_sub(1));
        let target = position.and_then(|position| targets.get(position));
        target.cloned().ok_or_else(|| TargetError::NoSuchLabel {
            n,
            newest: newest.clone(),
            last: targets.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use telechir_protocol::Size;

    use super::*;
    use crate::ScreenPoint;

    fn mark(id: &str) -> Mark {
        Mark {
            target: ScreenTarget::Element {
                id: id.to_owned(),
                frame: None,
            },
            region: ScreenRegion::new(ScreenPoint::new(0, 0), Size::new(10, 10)),
            kind: MarkKind::Press,
            line: String::new(),
        }
    }

    #[test]
    fn a_label_is_the_position_of_its_mark() {
        let labels = Labels::of("frame_3".into(), &[mark("e1"), mark("e2")]);
        assert_eq!(labels.find(2, None), Ok(mark("e2").target));
        assert_eq!(
            labels.find(1, Some(&"frame_3".into())),
            Ok(mark("e1").target)
        );
    }

    #[test]
    fn a_number_of_an_older_screenshot_names_the_newest() {
        let labels = Labels::of("frame_3".into(), &[mark("e1")]);
        let error = labels.find(1, Some(&"frame_2".into())).unwrap_err();
        assert!(error.to_string().contains("frame_3"), "{error}");
        let none = labels.find(0, None).unwrap_err();
        assert!(
            none.to_string().contains("frame_3 has only label 1"),
            "{none}"
        );
        let unlabelled = Labels::default().find(1, None);
        assert_eq!(unlabelled, Err(TargetError::UnknownLabel { n: 1 }));
    }
}
