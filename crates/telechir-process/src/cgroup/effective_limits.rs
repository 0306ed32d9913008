//! The limits that are in effect in a cgroup, and the files that set them.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use super::hierarchy::CgroupVersion;
use super::write;
use crate::confinement::ResourceLimits;

const MIB: u64 = 1 << 20;
/// Processes of ours in the cgroup: bubblewrap's, and the bash that starts the first command.
const OVERHEAD_PROCESSES: u64 = 8;
/// Period of the processor time quota, in microseconds.
const CPU_PERIOD_US: u64 = 100_000;

/// Limits for all processes of a cgroup together. `Display` prints one sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EffectiveLimits {
    /// Memory in bytes; `None` if not limited.
    pub memory_bytes: Option<u64>,
    /// Whether `memory_bytes` includes swap.
    pub counts_swap: bool,
    /// Number of processes and threads; `None` if not limited.
    pub processes: Option<u64>,
    /// Weight for processor time, from 1 to 10,000; the default of other cgroups is 100.
    pub processor_weight: Option<u32>,
    /// Maximum share of one processor in percent; `None` if not limited.
    pub processor_percent: Option<u32>,
    /// Reasons why other limits are not in effect.
    pub unavailable: Vec<String>,
}

impl EffectiveLimits {
    /// Whether both memory and the number of processes are limited in total.
    pub const fn limits_totals(&self) -> bool {
        self.memory_bytes.is_some() && self.processes.is_some()
    }

    /// The limits in effect, as text.
    pub fn summary(&self) -> String {
        let mut parts = Vec::new();
        if let Some(bytes) = self.memory_bytes {
            let swap = if self.counts_swap { " with swap" } else { "" };
            parts.push(format!("{} MiB of memory{swap}", bytes / MIB));
        }
        if let Some(processes) = self.processes {
            parts.push(format!("{processes} processes"));
        }
        if let Some(percent) = self.processor_percent {
            parts.push(format!("{percent} % of a processor"));
        }
        if self.processor_weight.is_some() {
            parts.push("the default CPU weight".to_owned());
        }
        if parts.is_empty() {
            "per process only".to_owned()
        } else {
            format!("in total: {}", parts.join(", "))
        }
    }

    /// Why other limits are not in effect, as text.
    pub fn unavailable_reasons(&self) -> String {
        if self.unavailable.is_empty() {
            return "cgroup controllers that are not available".to_owned();
        }
        self.unavailable.join("; ")
    }

    pub(super) fn add_unavailable(&mut self, why: &str) {
        let why = why.to_owned();
        if !self.unavailable.contains(&why) {
            self.unavailable.push(why);
        }
    }

    /// Sets the limits of one controller in a cgroup's folder.
    pub(super) fn apply(
        &mut self,
        version: CgroupVersion,
        folder: &Path,
        controller: &str,
        limits: &ResourceLimits,
    ) -> io::Result<()> {
        match controller {
            "memory" => self.apply_memory(version, folder, limits.total_memory_bytes),
            "pids" => {
                let max = limits.processes + OVERHEAD_PROCESSES;
                write(folder.join("pids.max"), &max.to_string())?;
                self.processes = Some(max);
                Ok(())
            }
            "cpu" => self.apply_cpu(version, folder, limits),
            _ => Ok(()),
        }
    }

    fn apply_memory(
        &mut self,
        version: CgroupVersion,
        folder: &Path,
        requested: u64,
    ) -> io::Result<()> {
        let max = within_machine(requested);
        let (memory, swap) = version.memory();
        write(folder.join(memory), &max.to_string())?;
        self.memory_bytes = Some(max);
        // Version 1 limits memory and swap together, version 2 swap alone. The file is missing if
        // the kernel does not account for swap.
        let swap_bytes = match version {
            CgroupVersion::One => max,
            CgroupVersion::Two => 0,
        };
        self.counts_swap = match write(folder.join(swap), &swap_bytes.to_string()) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        Ok(())
    }

    fn apply_cpu(
        &mut self,
        version: CgroupVersion,
        folder: &Path,
        limits: &ResourceLimits,
    ) -> io::Result<()> {
        let weight = limits.processor_weight.clamp(1, 10_000);
        let (file, text) = match version {
            CgroupVersion::One => ("cpu.shares", (u64::from(weight) * 1024 / 100).max(2)),
            CgroupVersion::Two => ("cpu.weight", u64::from(weight)),
        };
        write(folder.join(file), &text.to_string())?;
        self.processor_weight = Some(weight);
        let Some(percent) = limits.processor_percent else {
            return Ok(());
        };
        let quota = (u64::from(percent) * CPU_PERIOD_US / 100).max(1000);
        match version {
            CgroupVersion::One => {
                write(folder.join("cpu.cfs_period_us"), &CPU_PERIOD_US.to_string())?;
                write(folder.join("cpu.cfs_quota_us"), &quota.to_string())?;
            }
            CgroupVersion::Two => {
                write(folder.join("cpu.max"), &format!("{quota} {CPU_PERIOD_US}"))?
            }
        }
        self.processor_percent = Some(percent);
        Ok(())
    }
}

/// Caps a limit at three quarters of the machine's memory; a higher one would have no effect.
fn within_machine(requested: u64) -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))
        .and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    total.map_or(requested, |kib| requested.min(kib * 1024 / 4 * 3))
}

impl fmt::Display for EffectiveLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.summary())?;
        if !self.limits_totals() {
            write!(f, "; no limit in total: {}", self.unavailable_reasons())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies limits in a folder with these empty files; returns the contents of the files.
    fn files_after(
        version: CgroupVersion,
        controller: &str,
        files: &[&str],
        limits: &ResourceLimits,
    ) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            fs::write(folder.path().join(file), "").unwrap();
        }
        let mut bounds = EffectiveLimits::default();
        bounds
            .apply(version, folder.path(), controller, limits)
            .unwrap();
        let read = |file: &&str| fs::read_to_string(folder.path().join(file)).unwrap();
        files.iter().map(read).collect()
    }

    #[test]
    fn each_version_has_its_own_files_and_units() {
        let limits = ResourceLimits {
            total_memory_bytes: 64 * MIB,
            processes: 10,
            processor_weight: 50,
            processor_percent: Some(150),
            ..ResourceLimits::default()
        };
        let one = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"];
        let two = ["memory.max", "memory.swap.max"];
        let bytes = "67108864";
        assert_eq!(
            files_after(CgroupVersion::One, "memory", &one, &limits),
            [bytes, bytes]
        );
        assert_eq!(
            files_after(CgroupVersion::Two, "memory", &two, &limits),
            [bytes, "0"]
        );
        assert_eq!(
            files_after(CgroupVersion::Two, "pids", &["pids.max"], &limits),
            ["18"]
        );
        let one = ["cpu.shares", "cpu.cfs_period_us", "cpu.cfs_quota_us"];
        let two = ["cpu.weight", "cpu.max"];
        let expected = ["512", "100000", "150000"];
        assert_eq!(
            files_after(CgroupVersion::One, "cpu", &one, &limits),
            expected
        );
        let expected = ["50", "150000 100000"];
        assert_eq!(
            files_after(CgroupVersion::Two, "cpu", &two, &limits),
            expected
        );
    }

    #[test]
    fn a_kernel_without_swap_accounting_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("memory.max"), "").unwrap();
        let mut bounds = EffectiveLimits::default();
        let limits = ResourceLimits::default();
        bounds
            .apply(CgroupVersion::Two, folder.path(), "memory", &limits)
            .unwrap();
        assert!(!bounds.counts_swap && bounds.memory_bytes.is_some());
        assert!(!bounds.to_string().contains("swap"), "{bounds}");
    }

    #[test]
    fn missing_limits_are_listed_with_the_reason() {
        let mut bounds = EffectiveLimits::default();
        bounds.add_unavailable("/sys/fs/cgroup is read-only");
        bounds.add_unavailable("/sys/fs/cgroup is read-only");
        assert_eq!(
            bounds.to_string(),
            "per process only; no limit in total: /sys/fs/cgroup is read-only"
        );
    }

    #[test]
    fn limits_are_capped_by_the_machine_s_memory() {
        assert!(within_machine(u64::MAX) < u64::MAX / 2);
        assert_eq!(within_machine(MIB), MIB);
    }
}
