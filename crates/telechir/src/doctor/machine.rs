//! The machine itself: what it is, and how much room it has.

use std::fs;
use std::path::Path;

use rustix::fs::statvfs;
use serde::Serialize;
use telechir_process::{Identity, find_program, is_root, landlock_abi};

use super::finding::{Checked, Seen, Trouble};
use super::limits;

const MIB: u64 = 1 << 20;
/// A browser's profile and a recording of an hour.
const LITTLE_DISK: u64 = 1024 * MIB;
/// A profile does not fit.
const NO_DISK: u64 = 64 * MIB;
/// One Chromium with a few pages.
const LITTLE_MEMORY: u64 = 1024 * MIB;
const NO_MEMORY: u64 = 256 * MIB;

/// Facts that are neither good nor bad.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) system: String,
    pub(crate) kernel: String,
    pub(crate) architecture: &'static str,
    pub(crate) processors: usize,
    pub(crate) uid: u32,
    pub(crate) root: bool,
    /// What this kernel's Landlock can do; absent when it is off.
    pub(crate) landlock_abi: Option<u32>,
    /// 1, 2, or absent.
    pub(crate) cgroup_version: Option<u8>,
    /// Whether we may make groups that bound memory and processes.
    pub(crate) cgroup_delegated: bool,
}

impl Machine {
    pub(crate) fn look() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let release = read("/etc/os-release");
        let system = release
            .lines()
            .find_map(|line| line.strip_prefix("PRETTY_NAME="))
            .map_or("an unknown system", |name| name.trim_matches('"'));
        Self {
            system: system.to_owned(),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            architecture: std::env::consts::ARCH,
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            uid: Identity::current().uid,
            root: is_root(),
            landlock_abi: landlock_abi(),
            cgroup_version: cgroup_version(),
            cgroup_delegated: limits::can_be_had(),
        }
    }
}

/// The version of control groups; both beside each other are the older.
fn cgroup_version() -> Option<u8> {
    let root = Path::new("/sys/fs/cgroup");
    if root.join("cgroup.controllers").exists() {
        return Some(2);
    }
    root.is_dir().then_some(1)
}

/// Room in the folder of temporary files, where sessions and their profiles are.
pub(super) async fn disk() -> Checked {
    let folder = std::env::temp_dir();
    let name = folder.display().to_string();
    let looked = tokio::task::spawn_blocking(move || statvfs(&folder)).await;
    let room = looked
        .map_err(|error| Trouble::broken(error.to_string()))?
        .map_err(|error| Trouble::broken(format!("cannot look at {name}: {error}")))?;
    let free = room.f_bavail.saturating_mul(room.f_frsize);
    let little = Trouble::broken(format!("{} MiB are free in {name}", free / MIB))
        .command(format!("df -h {name}"));
    enough(
        free,
        LITTLE_DISK,
        NO_DISK,
        &format!("free in {name}"),
        little,
    )
}

/// Memory that can be had without swapping.
pub(super) fn memory() -> Checked {
    let text = fs::read_to_string("/proc/meminfo")
        .map_err(|error| Trouble::broken(format!("cannot read /proc/meminfo: {error}")))?;
    let free = available(&text)
        .ok_or_else(|| Trouble::broken("/proc/meminfo does not say what is available"))?;
    let little =
        Trouble::broken(format!("{} MiB of memory are available", free / MIB)).command("free -h");
    enough(
        free,
        LITTLE_MEMORY,
        NO_MEMORY,
        "of memory available",
        little,
    )
}

fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

fn enough(free: u64, little: u64, none: u64, what: &str, trouble: Trouble) -> Checked {
    let tenths = free * 10 / (1024 * MIB);
    let seen = format!("{}.{} GiB {what}", tenths / 10, tenths % 10);
    if free < none {
        Err(trouble)
    } else if free < little {
        Ok(Seen::but(seen, trouble))
    } else {
        Ok(Seen::new(seen))
    }
}

/// The editor of the demo.
pub(super) fn editor() -> Checked {
    match find_program(Path::new("mousepad")) {
        Some(path) => Ok(Seen::new(format!("{} is there", path.display()))),
        None => Err(Trouble::missing("`mousepad` was not found").package("mousepad")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_bytes() {
        let text = "MemTotal:  100 kB\nMemAvailable:   2048 kB\n";
        assert_eq!(available(text), Some(2048 * 1024));
        assert_eq!(available(""), None);
    }

    #[test]
    fn little_is_a_reservation_and_none_a_trouble() {
        let check = |free| {
            enough(
                free,
                LITTLE_DISK,
                NO_DISK,
                "free",
                Trouble::broken("little"),
            )
        };
        assert!(check(NO_DISK - 1).is_err());
        assert!(check(NO_DISK).is_ok());
        assert!(check(LITTLE_DISK).is_ok());
    }
}
