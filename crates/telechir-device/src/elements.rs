//! What applications say of what they show: elements with names, roles, states and places.

mod choose;
mod role;
mod state;
mod text;

use std::borrow::Cow;

use telechir_protocol::Size;

use crate::{ScreenPoint, ScreenRegion};

pub use choose::{AmbiguousMatch, choose, search};
pub use role::{is_interactive, role_name};
pub use state::{State, States};
pub use text::{Filter, Outline};

/// A rectangle in pixels of the screen that may lie partly or wholly off it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bounds {
    /// Pixels from the screen's left edge.
    pub x: i32,
    /// Pixels from the screen's top edge.
    pub y: i32,
    /// Pixels from left to right.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
}

impl Bounds {
    /// The part that is on a screen of this size; none when nothing is.
    pub fn on(self, screen: Size) -> Option<ScreenRegion> {
        let edges = |from: i32, length: u32, end: u32| {
            let from = i64::from(from);
            let to = (from + i64::from(length)).min(i64::from(end));
            let from = from.max(0);
            let length = u32::try_from(to - from).ok().filter(|length| *length > 0)?;
            Some((u32::try_from(from).ok()?, length))
        };
        let (x, width) = edges(self.x, self.width, screen.width)?;
        let (y, height) = edges(self.y, self.height, screen.height)?;
        Some(ScreenRegion::new(
            ScreenPoint::new(x, y),
            Size::new(width, height),
        ))
    }

    /// The pixel in the middle of what is on a screen of this size.
    pub fn centre_on(self, screen: Size) -> Option<ScreenPoint> {
        self.on(screen).map(ScreenRegion::centre)
    }

    /// What both cover; none when they do not touch.
    #[must_use]
    pub fn within(self, outer: Self) -> Option<Self> {
        let edges = |(a, a_length): (i32, u32), (b, b_length): (i32, u32)| {
            let from = i64::from(a.max(b));
            let to = (i64::from(a) + i64::from(a_length)).min(i64::from(b) + i64::from(b_length));
            let length = u32::try_from(to - from).ok().filter(|length| *length > 0)?;
            Some((a.max(b), length))
        };
        let (x, width) = edges((self.x, self.width), (outer.x, outer.width))?;
        let (y, height) = edges((self.y, self.height), (outer.y, outer.height))?;
        Some(Self {
            x,
            y,
            width,
            height,
        })
    }

    /// The smallest rectangle around both.
    #[must_use]
    pub fn around(self, other: Self) -> Self {
        let edges = |(a, a_length): (i32, u32), (b, b_length): (i32, u32)| {
            let end = |from: i32, length: u32| i64::from(from) + i64::from(length);
            let length = end(a, a_length).max(end(b, b_length)) - i64::from(a.min(b));
            (a.min(b), u32::try_from(length).unwrap_or(u32::MAX))
        };
        let (x, width) = edges((self.x, self.width), (other.x, other.width));
        let (y, height) = edges((self.y, self.height), (other.y, other.height));
        Self {
            x,
            y,
            width,
            height,
        }
    }

    /// Whether the pixel is inside.
    pub fn contains(self, point: ScreenPoint) -> bool {
        let inside = |at: u32, from: i32, length: u32| {
            let at = i64::from(at) - i64::from(from);
            (0..i64::from(length)).contains(&at)
        };
        inside(point.x(), self.x, self.width) && inside(point.y(), self.y, self.height)
    }
}

/// One element of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Its ref, such as `e12`: the same for as long as the element is there.
    pub id: String,
    /// How deep it lies; 0 is a window.
    pub depth: usize,
    /// What it is, in the words that pages use too: `button`, `textbox`, `menuitem`.
    pub role: Cow<'static, str>,
    /// What it is called; may be empty.
    pub name: String,
    /// The text or number it holds, where it holds one. Never a password.
    pub value: Option<String>,
    /// The id its program gave it, where it was asked for and there is one.
    pub automation_id: Option<String>,
    /// How it is.
    pub states: States,
    /// Where it is; none when it is not shown.
    pub bounds: Option<Bounds>,
    /// The names of its own actions, where they were asked for.
    pub actions: Vec<String>,
}

impl Element {
    /// Whether a person could act on it.
    pub fn is_interactive(&self) -> bool {
        is_interactive(&self.role, self.states)
    }

    /// Whether it is on the screen.
    pub const fn is_shown(&self) -> bool {
        self.bounds.is_some()
    }
}

/// The elements of all applications at one moment: parents before their children, each child
/// one deeper than its parent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// The elements.
    pub elements: Vec<Element>,
    /// How many more there were beyond the limit.
    pub left_off: usize,
    /// Applications that did not answer in time.
    pub silent: Vec<String>,
}

impl Tree {
    /// An element and all below it; none when it is not here.
    pub fn below(&self, id: &str) -> Option<&[Element]> {
        let first = self.elements.iter().position(|element| element.id == id)?;
        Some(self.subtree(first))
    }

    /// The element at this place and all below it.
    pub fn subtree(&self, first: usize) -> &[Element] {
        let rest = self.elements.get(first..).unwrap_or_default();
        let Some((root, below)) = rest.split_first() else {
            return rest;
        };
        let end = below
            .iter()
            .position(|element| element.depth <= root.depth)
            .unwrap_or(below.len());
        &rest[..=end]
    }

    /// The window that the element at this place lies in.
    pub fn window_of(&self, place: usize) -> Option<&Element> {
        let until = self.elements.get(..=place)?;
        until.iter().rev().find(|element| element.depth == 0)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An element of 10 by 10 pixels; a name that begins with `-` is that of a hidden one.
    pub(crate) fn element(depth: usize, id: &str, role: &'static str, name: &str) -> Element {
        let (name, is_shown) = match name.strip_prefix('-') {
            Some(name) => (name, false),
            None => (name, true),
        };
        Element {
            id: id.to_owned(),
            depth,
            role: role.into(),
            name: name.to_owned(),
            value: None,
            automation_id: None,
            states: States::default(),
            bounds: is_shown.then_some(Bounds {
                x: 0,
                y: 0,
                width: 10,
                height: 10,
            }),
            actions: Vec::new(),
        }
    }

    pub(crate) fn tree(elements: Vec<Element>) -> Tree {
        Tree {
            elements,
            ..Tree::default()
        }
    }

    fn ids(elements: &[Element]) -> Vec<&str> {
        elements.iter().map(|element| element.id.as_str()).collect()
    }

    #[test]
    fn a_part_ends_where_its_root_does() {
        let tree = tree(vec![
            element(0, "e1", "window", "A"),
            element(1, "e2", "panel", ""),
            element(2, "e3", "button", "x"),
            element(1, "e4", "button", "y"),
            element(0, "e5", "window", "B"),
        ]);
        assert_eq!(ids(tree.below("e2").unwrap()), ["e2", "e3"]);
        assert_eq!(ids(tree.below("e1").unwrap()), ["e1", "e2", "e3", "e4"]);
        assert_eq!(ids(tree.below("e5").unwrap()), ["e5"]);
        assert_eq!(tree.below("e6"), None);
        assert_eq!(
            tree.window_of(3).map(|window| window.id.as_str()),
            Some("e1")
        );
    }

    #[test]
    fn only_what_is_on_the_screen_counts() {
        let bounds = |x, y, width, height| Bounds {
            x,
            y,
            width,
            height,
        };
        let screen = Size::new(100, 50);
        let centre = |bounds: Bounds| bounds.centre_on(screen).map(|at| (at.x(), at.y()));
        assert_eq!(centre(bounds(10, 10, 20, 20)), Some((20, 20)));
        assert_eq!(centre(bounds(-10, 40, 20, 20)), Some((5, 45)));
        assert_eq!(centre(bounds(99, 0, 1, 1)), Some((99, 0)));
        assert_eq!(centre(bounds(100, 0, 5, 5)), None);
        assert_eq!(centre(bounds(0, 0, 0, 5)), None);
        assert_eq!(
            bounds(0, 0, 10, 10).within(bounds(5, 5, 10, 10)),
            Some(bounds(5, 5, 5, 5))
        );
        assert_eq!(bounds(0, 0, 5, 5).within(bounds(5, 5, 10, 10)), None);
    }
}
