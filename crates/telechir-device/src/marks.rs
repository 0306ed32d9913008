//! Set-of-Mark: elements with a number each, drawn on the picture, which a model aims at by number.

mod digits;
mod draw;

use telechir_protocol::FrameId;

use crate::viewport::TargetError;
use crate::{Element, ScreenRegion, ScreenTarget, State};

pub use draw::draw;

/// What sort of element a mark is of: each has a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MarkKind {
    /// What leads elsewhere.
    Link,
    /// What is pressed: a button, a tab, an item of a menu.
    Press,
    /// What is written into.
    Field,
    /// What is chosen: on or off, one of several.
    Choice,
    /// Words that were only read off the pixels.
    Words,
}

impl MarkKind {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Link,
        Self::Press,
        Self::Field,
        Self::Choice,
        Self::Words,
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
            _ if element.states.has(State::Editable) => Self::Field,
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
            Self::Words => [95, 95, 95],
        }
    }
}

/// An element that can be marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// What an action on its number aims at.
    pub target: ScreenTarget,
    /// Where it is.
    pub region: ScreenRegion,
    /// Its sort.
    pub kind: MarkKind,
    /// What it is, in a line: `button "Save" [e5]`.
    pub line: String,
}

/// What the numbers on the newest labelled picture mean. A mark's number is its place, from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    newest: Option<(FrameId, Vec<ScreenTarget>)>,
}

impl Labels {
    /// The numbers of a picture, which replace all before.
    pub fn of(frame: FrameId, marks: &[Mark]) -> Self {
        let targets = marks.iter().map(|mark| mark.target.clone()).collect();
        Self {
            newest: Some((frame, targets)),
        }
    }

    /// The picture that the numbers are on.
    pub fn newest(&self) -> Option<&FrameId> {
        self.newest.as_ref().map(|(frame, _)| frame)
    }

    /// What a number means; without a frame it is one of the newest labelled picture.
    ///
    /// # Errors
    /// When there is no labelled picture, it is another one, or it has no such number.
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
        let place = usize::try_from(n).ok().and_then(|n| n.checked_sub(1));
        let target = place.and_then(|place| targets.get(place));
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
    fn a_number_is_the_place_of_its_mark() {
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
        assert!(none.to_string().contains("1 to 1 on frame_3"), "{none}");
        let unlabelled = Labels::default().find(1, None);
        assert_eq!(unlabelled, Err(TargetError::UnknownLabel { n: 1 }));
    }
}
