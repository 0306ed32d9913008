//! Waiting until a screen stops changing: the limits of the wait, and its result.

use std::time::Duration;

use telechir_protocol::UnsettledReason;

use crate::ScreenRegion;

/// How long to wait for a screen to settle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settle {
    /// The screen counts as settled after this time without changes. A device that knows the
    /// programs on its screen also waits for busy ones, and ends the wait early once none can draw;
    /// one that observes large changes may wait longer.
    pub quiet: Duration,
    /// The maximum length of the wait.
    pub ceiling: Duration,
}

/// The result of waiting for a screen to settle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// Why the screen did not settle; none if it did.
    pub unsettled: Option<UnsettledReason>,
    /// Length of the wait.
    pub waited: Duration,
    /// The smallest rectangle around a region that keeps changing by itself, such as a spinner or a
    /// video, if everything else settled.
    pub animated_region: Option<ScreenRegion>,
}

impl Settled {
    /// Whether the screen settled before the ceiling.
    pub const fn is_settled(&self) -> bool {
        self.unsettled.is_none()
    }
}
