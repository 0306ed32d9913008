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
