//! Whom a child runs as.

use rustix::process::{getegid, geteuid};

/// The first user id that sessions take when we are root.
const BASE: u32 = 61_000;
/// How many sessions have an id of their own.
const RANGE: u32 = 4_000;

/// A user and a group, by number. No name needs to exist for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The user.
    pub uid: u32,
    /// The group, the only one the child is in.
    pub gid: u32,
}

impl Identity {
    /// The unprivileged identity with this index, from the range 61000 to 64999; none beyond it.
    ///
    /// No common distribution gives these ids to people or services.
    pub const fn unprivileged(index: u32) -> Option<Self> {
        if index >= RANGE {
            return None;
        }
        Some(Self {
            uid: BASE + index,
            gid: BASE + index,
        })
    }

    /// Whether `uid` is one of that range.
    pub(crate) const fn is_unprivileged(uid: u32) -> bool {
        uid >= BASE && uid < BASE + RANGE
    }

    /// Who we are.
    pub fn current() -> Self {
        Self {
            uid: geteuid().as_raw(),
            gid: getegid().as_raw(),
        }
    }
}

/// Whether we are root: children then need an identity of their own.
pub fn am_root() -> bool {
    geteuid().is_root()
}
