//! Points of a screen. Only a [`Viewport`](crate::Viewport) creates them from a model's points.

use telechir_protocol::{Action, FrameId, NamedElement, Size};

/// A pixel inside the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScreenPoint {
    x: u32,
    y: u32,
}

impl ScreenPoint {
    pub(crate) const fn new(x: u32, y: u32) -> Self {
        Self { x, y }
    }

    /// Distance from the left edge in pixels.
    pub const fn x(self) -> u32 {
        self.x
    }

    /// Distance from the top edge in pixels.
    pub const fn y(self) -> u32 {
        self.y
    }
}

/// A non-empty rectangle inside the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScreenRegion {
    origin: ScreenPoint,
    size: Size,
}

impl ScreenRegion {
    pub(crate) const fn new(origin: ScreenPoint, size: Size) -> Self {
        Self { origin, size }
    }

    /// The part of a rectangle that is on a screen of `screen` pixels: from `left` and `top` to
    /// before `right` and `bottom`. None if it is outside the screen.
    pub fn clip(screen: Size, [left, top, right, bottom]: [i32; 4]) -> Option<Self> {
        let inside = |edge: i32, end: u32| u32::try_from(edge).unwrap_or(0).min(end);
        let origin = ScreenPoint::new(inside(left, screen.width), inside(top, screen.height));
        let width = inside(right, screen.width).checked_sub(origin.x)?;
        let height = inside(bottom, screen.height).checked_sub(origin.y)?;
        (width > 0 && height > 0).then_some(Self::new(origin, Size::new(width, height)))
    }

    /// The complete screen, which must not be empty.
    pub const fn of_screen(screen: Size) -> Self {
        Self::new(ScreenPoint::new(0, 0), screen)
    }

    /// The top left pixel.
    pub const fn origin(self) -> ScreenPoint {
        self.origin
    }

    /// Size in pixels; neither width nor height is 0.
    pub const fn size(self) -> Size {
        self.size
    }

    /// The centre pixel; of an even number, the one further right or down.
    pub const fn centre(self) -> ScreenPoint {
        ScreenPoint::new(
            self.origin.x + self.size.width / 2,
            self.origin.y + self.size.height / 2,
        )
    }
}

/// The target of an action on a screen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ScreenTarget {
    /// A pixel of the screen.
    Point(ScreenPoint),
    /// An element of a page by its ref. Only the device knows whether it is stale.
    Element {
        /// The snapshot's id of the element.
        id: String,
        /// The snapshot that the model saw; absent means the latest.
        frame: Option<FrameId>,
    },
    /// An element by name. Only the device knows whether exactly one matches.
    Named(NamedElement),
}

/// An action whose points are pixels of this screen. Scrolls count clicks or screen pixels.
pub type ScreenAction = Action<ScreenTarget, ScreenRegion>;
