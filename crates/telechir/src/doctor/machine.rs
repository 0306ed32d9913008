//! Facts about the machine, and its free disk space and memory.

use std::fs;
use std::path::Path;

use rustix::fs::statvfs;
use serde::Serialize;
use telechir_process::{Identity, find_program, is_root, landlock_abi};

use super::finding::{CheckFailure, CheckResult, Observation};
use super::limits;

const MIB: u64 = 1 << 20;
/// Enough for a browser profile and an hour's recording.
const WANTED_DISK_BYTES: u64 = 1024 * MIB;
/// Too small for a browser profile.
const REQUIRED_DISK_BYTES: u64 = 64 * MIB;
/// Enough for one Chromium with a few pages.
const WANTED_MEMORY_BYTES: u64 = 1024 * MIB;
const REQUIRED_MEMORY_BYTES: u64 = 256 * MIB;

/// Facts about the machine without a verdict.
#[derive(Debug, Serialize)]
pub(crate) struct MachineInfo {
    pub(crate) system: String,
    pub(crate) kernel: String,
    pub(crate) architecture: &'static str,
    pub(crate) processors: usize,
    pub(crate) uid: u32,
    pub(crate) root: bool,
    /// Version of the kernel's Landlock interface; absent if it is disabled.
    pub(crate) landlock_abi: Option<u32>,
    /// Version 1 or 2; absent if control groups are unavailable.
    pub(crate) cgroup_version: Option<u8>,
    /// Whether this process can create groups that limit memory and processes.
    pub(crate) cgroup_delegated: bool,
}

impl MachineInfo {
    pub(crate) fn inspect() -> Self {
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

/// The version of control groups; hybrid setups count as version 1.
fn cgroup_version() -> Option<u8> {
    let root = Path::new("/sys/fs/cgroup");
    if root.join("cgroup.controllers").exists() {
        return Some(2);
    }
    root.is_dir().then_some(1)
}

/// Free space in the temporary folder, which contains sessions and their profiles.
pub(super) async fn disk() -> CheckResult {
    let folder = std::env::temp_dir();
    let name = folder.display().to_string();
    let looked = tokio::task::spawn_blocking(move || statvfs(&folder)).await;
    let room = looked
        .map_err(|error| CheckFailure::broken(error.to_string()))?
        .map_err(|error| {
            CheckFailure::broken(format!("failed to query the free space of {name}: {error}"))
        })?;
    let free = room.f_bavail.saturating_mul(room.f_frsize);
    let failure = CheckFailure::broken(format!("{} MiB are free in {name}", free / MIB))
        .fix_command(format!("df -h {name}"));
    enough(
        free,
        WANTED_DISK_BYTES,
        REQUIRED_DISK_BYTES,
        &format!("free in {name}"),
        failure,
    )
}

/// Memory available without swapping.
pub(super) fn memory() -> CheckResult {
    let text = fs::read_to_string("/proc/meminfo")
        .map_err(|error| CheckFailure::broken(format!("failed to read /proc/meminfo: {error}")))?;
    let free = available(&text)
        .ok_or_else(|| CheckFailure::broken("/proc/meminfo has no MemAvailable line"))?;
    let failure = CheckFailure::broken(format!("{} MiB of memory are available", free / MIB))
        .fix_command("free -h");
    enough(
        free,
        WANTED_MEMORY_BYTES,
        REQUIRED_MEMORY_BYTES,
        "of memory available",
        failure,
    )
}

fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

fn enough(free: u64, wanted: u64, required: u64, what: &str, failure: CheckFailure) -> CheckResult {
    let tenths = free * 10 / (1024 * MIB);
    let seen = format!("{}.{} GiB {what}", tenths / 10, tenths % 10);
    if free < required {
        Err(failure)
    } else if free < wanted {
        Ok(Observation::degraded(seen, failure))
    } else {
        Ok(Observation::new(seen))
    }
}

/// The text editor that the demo uses.
pub(super) fn editor() -> CheckResult {
    match find_program(Path::new("mousepad")) {
        Some(path) => Ok(Observation::new(format!("{} is installed", path.display()))),
        None => Err(CheckFailure::missing("`mousepad` was not found").package("mousepad")),
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
    fn low_space_is_a_warning_and_no_space_a_failure() {
        let check = |free| {
            enough(
                free,
                WANTED_DISK_BYTES,
                REQUIRED_DISK_BYTES,
                "free",
                CheckFailure::broken("little"),
            )
        };
        assert!(check(REQUIRED_DISK_BYTES - 1).is_err());
        assert!(check(REQUIRED_DISK_BYTES).is_ok());
        assert!(check(WANTED_DISK_BYTES).is_ok());
    }
}
