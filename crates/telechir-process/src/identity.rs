//! Whom a child runs as.

use std::fs;
use std::os::unix::fs::MetadataExt;

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

    /// The one of that range with this user id, if it is in it.
    pub fn unprivileged_with(uid: u32) -> Option<Self> {
        Self::unprivileged(uid.checked_sub(BASE)?)
    }

    /// All of that range, each once. Containers that share users but not the knowledge of who
    /// has which begin at different ones, by their namespaces of processes.
    pub fn all_unprivileged() -> impl Iterator<Item = Self> {
        let first = beginning();
        (0..RANGE).filter_map(move |step| Self::unprivileged((first + step) % RANGE))
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
pub fn is_root() -> bool {
    geteuid().is_root()
}

/// Where a namespace of processes begins in the range: the system's own at its start.
fn beginning() -> u32 {
    /// The number that the kernel gives to the system's own, `PROC_PID_INIT_INO`.
    const SYSTEMS_OWN: u64 = 0xEFFF_FFFC;
    let number = fs::metadata("/proc/self/ns/pid").map_or(SYSTEMS_OWN, |found| found.ino());
    let index = number.wrapping_sub(SYSTEMS_OWN) % u64::from(RANGE);
    u32::try_from(index).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn all_of_the_range_are_there_once() {
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
