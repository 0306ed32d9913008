//! Positions in a model's coordinates. A screen's own points are `telechir_device::ScreenPoint`.

mod json;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::string_id;

string_id! {
    /// Id of a screenshot that was sent to the model; labels and refs belong to one.
    FrameId
}

/// A width and a height in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Size {
    /// Width in pixels; may be 0.
    pub width: u32,
    /// Height in pixels; may be 0.
    pub height: u32,
}

impl Size {
    /// Creates a size of `width` by `height` pixels.
    pub const fn new(width: u32, height: u32) -> Self {
        Self { width, height }
    }
}

/// The coordinate space of a [`Point`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Space {
    /// Pixels of the latest screenshot; the origin is the top left corner.
    #[default]
    #[serde(alias = "picture")]
    Screenshot,
    /// Thousandths of the screenshot's width and height (Google's grid).
    Thousandths,
    /// Pixels of the screen itself, independent of any screenshot.
    Screen,
}

/// A position in the model's coordinates, not yet rounded to a pixel of the screen.
///
/// (0, 0) is the top left corner and never means "unset". In JSON a point in screenshot space is
/// `[x, y]`; any other is `{"x", "y", "space"}`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Distance from the left edge, in units of `space`.
    pub x: f64,
    /// Distance from the top edge, in units of `space`.
    pub y: f64,
    /// The coordinate space of `x` and `y`.
    pub space: Space,
}

impl Point {
    /// Creates a point in pixels of the latest screenshot.
    pub fn new(x: impl Into<f64>, y: impl Into<f64>) -> Self {
        Self {
            x: x.into(),
            y: y.into(),
            space: Space::Screenshot,
        }
    }

    /// Creates a point in thousandths of the screenshot.
    pub fn thousandths(x: impl Into<f64>, y: impl Into<f64>) -> Self {
        Self {
            x: x.into(),
            y: y.into(),
            space: Space::Thousandths,
        }
    }
}

/// A rectangle of the screenshot: from (`x0`, `y0`), included, to (`x1`, `y1`), excluded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    /// The top left corner.
    pub from: Point,
    /// The bottom right corner, in the same space.
    pub to: Point,
}

/// The target of an action.
///
/// In JSON: `[x, y]`, `{"x", "y", "space"}`, `{"label", "frame"}`, `{"ref", "frame"}` or `{"name",
/// "role", "id", "window"}`.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// A position on the screen.
    Point(Point),
    /// A number drawn on a labelled screenshot (Set-of-Mark).
    Label {
        /// The number drawn beside the element.
        n: u32,
        /// The screenshot it was drawn on; absent means the latest labelled one.
        frame: Option<FrameId>,
    },
    /// An element of a page snapshot, such as `ref_7` or `e12`.
    Ref {
        /// The snapshot's id of the element.
        id: String,
        /// The snapshot it belongs to; absent means the latest one.
        frame: Option<FrameId>,
    },
    /// An element by name, independent of any screenshot.
    Named(NamedElement),
}

/// An element of an application by its accessibility properties. All given properties must match;
/// at least one of `name`, `role` and `id` is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NamedElement {
    /// Accessible name, such as the text on a button.
    pub name: Option<String>,
    /// Accessible role, such as `button`.
    pub role: Option<String>,
    /// The id that its program assigned.
    pub id: Option<String>,
    /// Its window, as in [`Action::FocusWindow`](crate::Action::FocusWindow); absent means any
    /// window.
    pub window: Option<String>,
}

/// `button "Save" in the window "Untitled"`.
impl fmt::Display for NamedElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.role.as_deref().unwrap_or("element"))?;
        if let Some(name) = &self.name {
            write!(f, " {name:?}")?;
        }
        if let Some(id) = &self.id {
            write!(f, " with the id {id:?}")?;
        }
        if let Some(window) = &self.window {
            write!(f, " in the window {window:?}")?;
        }
        Ok(())
    }
}

impl Target {
    /// The position, if the target is one.
    pub fn point(&self) -> Option<Point> {
        match self {
            Self::Point(point) => Some(*point),
            Self::Label { .. } | Self::Ref { .. } | Self::Named(_) => None,
        }
    }
}

impl From<Point> for Target {
    fn from(point: Point) -> Self {
        Self::Point(point)
    }
}
