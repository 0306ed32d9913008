//! Elements of applications with names, roles, states and bounds.

mod choose;
mod normalized;
mod role;
mod state;
mod text;

use std::borrow::Cow;

use telechir_protocol::Size;

use crate::{ScreenPoint, ScreenRegion};

pub use choose::{AmbiguousMatch, NameMatch, choose, choose_ranked, name_match, search};
pub use normalized::normalized;
pub use role::{is_interactive, role_name};
pub use state::{ElementState, ElementStates};
pub use text::{Filter, Outline};

/// A rectangle in pixels of the screen that may extend beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScreenBounds {
    /// Distance from the screen's left edge in pixels.
    pub x: i32,
    /// Distance from the screen's top edge in pixels.
    pub y: i32,
    /// Width in pixels, including any part beyond the screen.
    pub width: u32,
    /// Height in pixels, including any part beyond the screen.
    pub height: u32,
}

impl ScreenBounds {
    /// The part on a screen of this size; none if it is outside.
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

    /// The centre of the part on a screen of this size.
    pub fn centre_on(self, screen: Size) -> Option<ScreenPoint> {
        self.on(screen).map(ScreenRegion::centre)
    }

    /// The intersection; none if the rectangles do not overlap.
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
    /// Ref of the element, such as `e12`; constant as long as the element exists.
    pub id: String,
    /// Depth in the tree; 0 is a window.
    pub depth: usize,
    /// Role, named as for web pages: `button`, `textbox`, `menuitem`.
    pub role: Cow<'static, str>,
    /// Accessible name; may be empty.
    pub name: String,
    /// Text or number that it contains; absent if it has none. Never a password.
    pub value: Option<String>,
    /// The id that its program assigned, if requested and present.
    pub automation_id: Option<String>,
    /// States of the element, such as checked.
    pub states: ElementStates,
    /// Bounds on the screen; none if it is not shown.
    pub bounds: Option<ScreenBounds>,
    /// Names of its own actions, if requested.
    pub actions: Vec<String>,
}

impl Element {
    /// Whether a user could act on it.
    pub fn is_interactive(&self) -> bool {
        is_interactive(&self.role, self.states)
    }

    /// Whether it is an entry of a menu or of a menu bar.
    pub fn is_menu_entry(&self) -> bool {
        matches!(
            &*self.role,
            "menu" | "menuitem" | "menuitemcheckbox" | "menuitemradio"
        )
    }

    /// Whether it is one of the many cells of a sheet that have no content and are not in use. They
    /// are found by their names, but not listed.
    pub const fn is_unused_cell(&self) -> bool {
        self.states.has(ElementState::Empty)
            && !self.states.has(ElementState::Focused)
            && !self.states.has(ElementState::Selected)
    }

    /// Whether it is on the screen.
    pub const fn is_shown(&self) -> bool {
        self.bounds.is_some()
    }
}

/// A snapshot of the elements of all applications: parents before their children, each child one
/// level deeper than its parent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ElementTree {
    /// Elements in tree order.
    pub elements: Vec<Element>,
    /// Number of elements beyond the limit.
    pub omitted: usize,
    /// Applications that did not answer in time.
    pub unresponsive: Vec<String>,
}

impl ElementTree {
    /// An element and all its descendants; none if it is not in the tree.
    pub fn below(&self, id: &str) -> Option<&[Element]> {
        let first = self.elements.iter().position(|element| element.id == id)?;
        Some(self.subtree(first))
    }

    /// The element at this index and all its descendants.
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

    /// The window of the element at this index.
    pub fn window_of(&self, index: usize) -> Option<&Element> {
        let until = self.elements.get(..=index)?;
        until.iter().rev().find(|element| element.depth == 0)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An element of 10 by 10 pixels; one whose name begins with `-` is hidden.
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
            states: ElementStates::default(),
            bounds: is_shown.then_some(ScreenBounds {
                x: 0,
                y: 0,
                width: 10,
                height: 10,
            }),
            actions: Vec::new(),
        }
    }

    pub(crate) fn tree(elements: Vec<Element>) -> ElementTree {
        ElementTree {
            elements,
            ..ElementTree::default()
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
    fn only_visible_parts_count() {
        let bounds = |x, y, width, height| ScreenBounds {
            x,
            y,
            width,
            height,
        };
        let screen = Size::new(100, 50);
        let centre = |bounds: ScreenBounds| bounds.centre_on(screen).map(|at| (at.x(), at.y()));
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
