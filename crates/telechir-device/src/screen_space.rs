//! Places of a screen. Only a [`Viewport`](crate::Viewport) makes them from a model's places.

use telechir_protocol::{Action, FrameId, Named, Size};

/// A pixel of the screen, inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScreenPoint {
    x: u32,
    y: u32,
}

impl ScreenPoint {
    pub(crate) const fn new(x: u32, y: u32) -> Self {
        Self { x, y }
    }

    /// Pixels from the left edge.
    pub const fn x(self) -> u32 {
        self.x
    }

    /// Pixels from the top edge.
    pub const fn y(self) -> u32 {
        self.y
    }
}

/// A rectangle of the screen, inside it and never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScreenRegion {
    origin: ScreenPoint,
    size: Size,
}

impl ScreenRegion {
    pub(crate) const fn new(origin: ScreenPoint, size: Size) -> Self {
        Self { origin, size }
    }

    /// The part of a rectangle that a device saw on a screen of `screen` pixels: from `left` and
    /// `top` to before `right` and `bottom`. None when nothing of it is on the screen.
    pub fn seen(screen: Size, [left, top, right, bottom]: [i32; 4]) -> Option<Self> {
        let inside = |place: i32, end: u32| u32::try_from(place).unwrap_or(0).min(end);
        let origin = ScreenPoint::new(inside(left, screen.width), inside(top, screen.height));
        let width = inside(right, screen.width).checked_sub(origin.x)?;
        let height = inside(bottom, screen.height).checked_sub(origin.y)?;
        (width > 0 && height > 0).then_some(Self::new(origin, Size::new(width, height)))
    }

    /// All of a screen, which has pixels.
    pub const fn whole(screen: Size) -> Self {
        Self::new(ScreenPoint::new(0, 0), screen)
    }

    /// Its top left pixel.
    pub const fn origin(self) -> ScreenPoint {
        self.origin
    }

    /// Its size.
    pub const fn size(self) -> Size {
        self.size
    }

    /// The pixel in its middle.
    pub const fn centre(self) -> ScreenPoint {
        ScreenPoint::new(
            self.origin.x + self.size.width / 2,
            self.origin.y + self.size.height / 2,
        )
    }
}

/// What an action of a screen aims at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ScreenTarget {
    /// A pixel.
    Point(ScreenPoint),
    /// An element of a page by its ref. Whether it is stale only the device can tell.
    Element {
        /// The snapshot's name of it.
        id: String,
        /// The snapshot the model saw; absent means the newest.
        frame: Option<FrameId>,
    },
    /// An element by what it is called. Whether there is exactly one only the device can tell.
    Named(Named),
}

/// An action whose places are pixels of this screen. Scrolls count clicks or screen pixels.
pub type ScreenAction = Action<ScreenTarget, ScreenRegion>;
