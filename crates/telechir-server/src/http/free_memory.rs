//! How much memory new sessions can use.

use std::fs;
use std::path::Path;

/// Available memory in bytes: of the machine, or of the control group that is this process's root, as a
/// container has it. None if the system does not tell.
pub(super) fn available_bytes() -> Option<u64> {
    let of_machine = fs::read_to_string("/proc/meminfo").ok();
    let of_machine = of_machine.as_deref().and_then(available_in);
    let of_group = available_to_group(Path::new("/sys/fs/cgroup"));
    of_machine.into_iter().chain(of_group).min()
}

/// The line `MemAvailable` of `/proc/meminfo`.
fn available_in(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// What a control group leaves of its maximum; none without a maximum. Pages of files count as free,
/// because the kernel drops them first.
fn available_to_group(folder: &Path) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let max: u64 = read("memory.max")?.trim().parse().ok()?;
    let used: u64 = read("memory.current")?.trim().parse().ok()?;
    let files = read("memory.stat").unwrap_or_default();
    let files = files
        .lines()
        .find_map(|line| line.strip_prefix("inactive_file "));
    let files: u64 = files
        .and_then(|bytes| bytes.trim().parse().ok())
        .unwrap_or(0);
    Some(max.saturating_sub(used.saturating_sub(files)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_of_machine_and_group_counts() {
        let meminfo = "MemTotal:  900 kB\nMemFree:  1 kB\nMemAvailable:     512 kB\n";
        assert_eq!(available_in(meminfo), Some(512 << 10));
        assert_eq!(available_in("MemTotal: 900 kB\n"), None);
        let group = tempfile::tempdir().unwrap();
        assert_eq!(available_to_group(group.path()), None);
        let write = |name: &str, text: &str| fs::write(group.path().join(name), text).unwrap();
        write("memory.current", "600\n");
        write("memory.max", "max\n");
        assert_eq!(available_to_group(group.path()), None);
        write("memory.max", "1000\n");
        assert_eq!(available_to_group(group.path()), Some(400));
        write("memory.stat", "anon 100\ninactive_file 250\n");
        assert_eq!(available_to_group(group.path()), Some(650));
        assert!(available_bytes().is_some_and(|bytes| bytes > 0));
    }
}
