//! Places as a model says them. A screen's own points are `telechir_device::ScreenPoint`.

mod json;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::string_id;

string_id! {
    /// A picture that was sent to the model: labels and refs belong to one.
    FrameId
}

/// A width and a height in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Size {
    /// Pixels from left to right.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
}

impl Size {
    /// A size of `width` by `height` pixels.
    pub const fn new(width: u32, height: u32) -> Self {
        Self { width, height }
    }
}

/// What the numbers of a [`Point`] count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Space {
    /// Pixels of the picture the model saw last; the origin is the top left corner.
    #[default]
    #[serde(alias = "picture")]
    Screenshot,
    /// Thousandths of the picture's width and height (Google's grid).
    Thousandths,
    /// Pixels of the screen itself, whatever picture was sent.
    Screen,
}

/// A place as the model named it, not yet rounded to a pixel of the screen.
///
/// (0, 0) is the top left corner and never means "unset".
/// In JSON a point of picture space is `[x, y]`; any other is `{"x", "y", "space"}`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// From the left edge, in units of `space`.
    pub x: f64,
    /// From the top edge, in units of `space`.
    pub y: f64,
    /// What `x` and `y` count.
    pub space: Space,
}

impl Point {
    /// A point in pixels of the picture sent last.
    pub fn new(x: impl Into<f64>, y: impl Into<f64>) -> Self {
        Self {
            x: x.into(),
            y: y.into(),
            space: Space::Screenshot,
        }
    }

    /// A point in thousandths of the picture.
    pub fn thousandths(x: impl Into<f64>, y: impl Into<f64>) -> Self {
        Self {
            x: x.into(),
            y: y.into(),
            space: Space::Thousandths,
        }
    }
}

/// A rectangle of the picture: from (`x0`, `y0`), included, to (`x1`, `y1`), excluded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    /// The corner at the top left.
    pub from: Point,
    /// The corner at the bottom right, of the same space.
    pub to: Point,
}

/// What an action aims at.
///
/// In JSON: `[x, y]`, `{"x", "y", "space"}`, `{"label", "frame"}`, `{"ref", "frame"}` or
/// `{"name", "role", "id", "window"}`.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// A place.
    Point(Point),
    /// A number drawn on a labelled picture (Set-of-Mark).
    Label {
        /// The number drawn beside the element.
        n: u32,
        /// The picture it was drawn on; absent means the newest labelled one.
        frame: Option<FrameId>,
    },
    /// An element named by a snapshot, such as `ref_7` or `e12`.
    Ref {
        /// The snapshot's name of the element.
        id: String,
        /// The snapshot it belongs to; absent means the newest.
        frame: Option<FrameId>,
    },
    /// An element by what it is called, whatever picture was sent.
    Named(Named),
}

/// An element of an application by what accessibility says of it. Whatever is given must fit;
/// at least one of `name`, `role` and `id` is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Named {
    /// Its name, such as the words on a button.
    pub name: Option<String>,
    /// Its role, such as `button`.
    pub role: Option<String>,
    /// The id its program gave it.
    pub id: Option<String>,
    /// The window it is in, as [`Action::FocusWindow`](crate::Action::FocusWindow) names one;
    /// absent means any.
    pub window: Option<String>,
}

/// `button "Save" in the window "Untitled"`.
impl fmt::Display for Named {
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
    /// The place, when the target is one.
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
