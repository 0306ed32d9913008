//! The users that children run as.

use std::fs;
use std::os::unix::fs::MetadataExt;

use rustix::process::{getegid, geteuid};

/// First user id that sessions get if we are root.
const FIRST_UID: u32 = 61_000;
/// Number of such user ids.
const UID_COUNT: u32 = 4_000;

/// A user and group by number; they need no entry in `/etc/passwd`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Numeric user id; from 61000 to 64999 for [`Self::unprivileged`].
    pub uid: u32,
    /// Numeric group id; the child is in no other group.
    pub gid: u32,
}

impl Identity {
    /// The unprivileged identity with this index, from the range 61000 to 64999; `None` beyond it.
    ///
    /// Common distributions do not assign these ids to users or services.
    pub const fn unprivileged(index: u32) -> Option<Self> {
        if index >= UID_COUNT {
            return None;
        }
        Some(Self {
            uid: FIRST_UID + index,
            gid: FIRST_UID + index,
        })
    }

    /// The unprivileged identity with this user id; `None` outside the range.
    pub fn unprivileged_with(uid: u32) -> Option<Self> {
        Self::unprivileged(uid.checked_sub(FIRST_UID)?)
    }

    /// All unprivileged identities. The first one depends on the pid namespace, because containers
    /// may share user ids without seeing which are in use.
    pub fn all_unprivileged() -> impl Iterator<Item = Self> {
        let first = range_start();
        (0..UID_COUNT).filter_map(move |offset| Self::unprivileged((first + offset) % UID_COUNT))
    }

    /// Effective user and group of this process.
    pub fn current() -> Self {
        Self {
            uid: geteuid().as_raw(),
            gid: getegid().as_raw(),
        }
    }
}

/// Whether this process is root; children then need an unprivileged identity.
pub fn is_root() -> bool {
    geteuid().is_root()
}

/// The index at which this pid namespace starts in the range; 0 in the initial namespace.
fn range_start() -> u32 {
    /// Inode number of the initial pid namespace, `PROC_PID_INIT_INO`.
    const INITIAL_NAMESPACE: u64 = 0xEFFF_FFFC;
    let number = fs::metadata("/proc/self/ns/pid").map_or(INITIAL_NAMESPACE, |found| found.ino());
    let index = number.wrapping_sub(INITIAL_NAMESPACE) % u64::from(UID_COUNT);
    u32::try_from(index).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_identity_of_the_range_occurs_once() {
        let all: HashSet<u32> = Identity::all_unprivileged().map(|one| one.uid).collect();
        assert_eq!(all.len(), 4_000);
        assert!(all.iter().all(|uid| (61_000..65_000).contains(uid)));
    }

    #[test]
    fn only_users_of_the_range_are_unprivileged() {
        let uid = |uid| Identity::unprivileged_with(uid).map(|identity| identity.uid);
        assert_eq!(uid(61_000), Some(61_000));
        assert_eq!(uid(64_999), Some(64_999));
        for other in [0, 1_000, 60_999, 65_000, u32::MAX] {
            assert_eq!(uid(other), None);
        }
    }
}
