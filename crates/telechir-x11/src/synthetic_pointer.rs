//! Pointer motions that this process sends, as distinct from the user's.

use std::sync::atomic::{AtomicU32, Ordering};

/// Distinguishes synthetic pointer motions from the user's. The event of an arrival in the corner
/// may be read after the pointer has left it, so synthetic arrivals are counted before they are
/// sent.
#[derive(Debug)]
pub(crate) struct SyntheticPointer {
    /// The packed position of the latest synthetic motion.
    last: AtomicU32,
    /// The packed position of the watched corner.
    corner: AtomicU32,
    /// Synthetic arrivals in the corner whose events are not read yet.
    arrivals: AtomicU32,
}

/// Marks an absent packed position.
const NOWHERE: u32 = u32::MAX;

impl SyntheticPointer {
    pub(crate) const fn new() -> Self {
        Self {
            last: AtomicU32::new(NOWHERE),
            corner: AtomicU32::new(NOWHERE),
            arrivals: AtomicU32::new(0),
        }
    }

    /// Records a motion that is about to be sent.
    pub(crate) fn note_move(&self, x: i16, y: i16) {
        let position = packed(x, y);
        let before = self.last.swap(position, Ordering::SeqCst);
        if position == self.corner.load(Ordering::SeqCst) && before != position {
            self.arrivals.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Counts synthetic arrivals in this corner from now on.
    pub(crate) fn watch_corner(&self, corner: CornerPixel) {
        self.corner.store(corner.0, Ordering::SeqCst);
    }

    /// Counts an arrival whose event is still to be read as synthetic.
    pub(crate) fn note_arrival(&self) {
        self.arrivals.fetch_add(1, Ordering::SeqCst);
    }

    /// Records that the pointer left the corner: its next arrival may come from the user.
    pub(crate) fn note_leave(&self, corner: CornerPixel) {
        let (success, failure) = (Ordering::SeqCst, Ordering::SeqCst);
        let _was_at_another_point = self
            .last
            .compare_exchange(corner.0, NOWHERE, success, failure);
    }

    /// Whether an arrival in the corner was synthetic; consumes it.
    pub(crate) fn take_own_arrival(&self) -> bool {
        self.arrivals
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| {
                count.checked_sub(1)
            })
            .is_ok()
    }
}

/// The position of a watched corner pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CornerPixel(u32);

impl CornerPixel {
    pub(crate) const fn new(x: i16, y: i16) -> Self {
        Self(packed(x, y))
    }
}

/// Packs a position into one number.
const fn packed(x: i16, y: i16) -> u32 {
    ((x.cast_unsigned() as u32) << 16) | y.cast_unsigned() as u32
}
