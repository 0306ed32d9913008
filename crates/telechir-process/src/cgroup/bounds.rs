//! What holds for a group, and the files by which it is made to hold.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use super::hierarchy::Version;
use super::write;
use crate::confinement::Limits;

const MIB: u64 = 1 << 20;
/// bubblewrap's own, and the bash that watches over the first command.
const OUR_PROCESSES: u64 = 8;
/// Microseconds in which a share of processor time is counted.
const PERIOD: u64 = 100_000;

/// What holds for all programs of a group together. Shown, it is a sentence for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
    /// Whether these include what was swapped out.
    pub counts_swap: bool,
    /// Processes and threads.
    pub processes: Option<u64>,
    /// Weight for processor time, where 100 is anyone's.
    pub processor_weight: Option<u32>,
    /// Hundredths of one processor at most.
    pub processor_percent: Option<u32>,
    /// What is in the way of the rest.
    pub lacks: Vec<String>,
}

impl Bounds {
    /// Whether memory and processes of all of them together are bounded.
    pub const fn hold(&self) -> bool {
        self.memory_bytes.is_some() && self.processes.is_some()
    }

    /// What holds, in words.
    pub fn held(&self) -> String {
        let mut held = Vec::new();
        if let Some(bytes) = self.memory_bytes {
            let swap = if self.counts_swap { " with swap" } else { "" };
            held.push(format!("{} MiB of memory{swap}", bytes / MIB));
        }
        if let Some(processes) = self.processes {
            held.push(format!("{processes} processes"));
        }
        if let Some(percent) = self.processor_percent {
            held.push(format!("{percent} % of a processor"));
        }
        if self.processor_weight.is_some() {
            held.push("one share of processor time".to_owned());
        }
        if held.is_empty() {
            "each process by itself".to_owned()
        } else {
            format!("all together: {}", held.join(", "))
        }
    }

    /// What is in the way of the rest, in words.
    pub fn why_not(&self) -> String {
        if self.lacks.is_empty() {
            return "controllers that this kernel does not offer here".to_owned();
        }
        self.lacks.join("; ")
    }

    pub(super) fn lack(&mut self, why: &str) {
        let why = why.to_owned();
        if !self.lacks.contains(&why) {
            self.lacks.push(why);
        }
    }

    /// Makes one controller's limits hold in this folder.
    pub(super) fn set(
        &mut self,
        version: Version,
        folder: &Path,
        controller: &str,
        limits: &Limits,
    ) -> io::Result<()> {
        match controller {
            "memory" => self.set_memory(version, folder, limits.together_bytes),
            "pids" => {
                let most = limits.processes + OUR_PROCESSES;
                write(folder.join("pids.max"), &most.to_string())?;
                self.processes = Some(most);
                Ok(())
            }
            "cpu" => self.set_processor(version, folder, limits),
            _ => Ok(()),
        }
    }

    fn set_memory(&mut self, version: Version, folder: &Path, wanted: u64) -> io::Result<()> {
        let most = within_machine(wanted);
        let (memory, swap) = version.memory();
        write(folder.join(memory), &most.to_string())?;
        self.memory_bytes = Some(most);
        // Of the older kind both together, of the newer kind swap alone. Absent where the kernel
        // counts no swap.
        let swapped = match version {
            Version::One => most,
            Version::Two => 0,
        };
        self.counts_swap = match write(folder.join(swap), &swapped.to_string()) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        Ok(())
    }

    fn set_processor(
        &mut self,
        version: Version,
        folder: &Path,
        limits: &Limits,
    ) -> io::Result<()> {
        let weight = limits.processor_weight.clamp(1, 10_000);
        let (file, text) = match version {
            Version::One => ("cpu.shares", (u64::from(weight) * 1024 / 100).max(2)),
            Version::Two => ("cpu.weight", u64::from(weight)),
        };
        write(folder.join(file), &text.to_string())?;
        self.processor_weight = Some(weight);
        let Some(percent) = limits.processor_percent else {
            return Ok(());
        };
        let quota = (u64::from(percent) * PERIOD / 100).max(1000);
        match version {
            Version::One => {
                write(folder.join("cpu.cfs_period_us"), &PERIOD.to_string())?;
                write(folder.join("cpu.cfs_quota_us"), &quota.to_string())?;
            }
            Version::Two => write(folder.join("cpu.max"), &format!("{quota} {PERIOD}"))?,
        }
        self.processor_percent = Some(percent);
        Ok(())
    }
}

/// A limit above what the machine has would bound nothing: a quarter stays for others.
fn within_machine(wanted: u64) -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))
        .and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    total.map_or(wanted, |kib| wanted.min(kib * 1024 / 4 * 3))
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.held())?;
        if !self.hold() {
            write!(f, "; not all together, because of {}", self.why_not())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these files, all empty, and what is in them when `set` is done.
    fn after(version: Version, controller: &str, files: &[&str], limits: &Limits) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            fs::write(folder.path().join(file), "").unwrap();
        }
        let mut bounds = Bounds::default();
        bounds
            .set(version, folder.path(), controller, limits)
            .unwrap();
        let read = |file: &&str| fs::read_to_string(folder.path().join(file)).unwrap();
        files.iter().map(read).collect()
    }

    #[test]
    fn each_version_is_told_in_its_own_words() {
        let limits = Limits {
            together_bytes: 64 * MIB,
            processes: 10,
            processor_weight: 50,
            processor_percent: Some(150),
            ..Limits::default()
        };
        let one = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"];
        let two = ["memory.max", "memory.swap.max"];
        let bytes = "67108864";
        assert_eq!(after(Version::One, "memory", &one, &limits), [bytes, bytes]);
        assert_eq!(after(Version::Two, "memory", &two, &limits), [bytes, "0"]);
        assert_eq!(after(Version::Two, "pids", &["pids.max"], &limits), ["18"]);
        let one = ["cpu.shares", "cpu.cfs_period_us", "cpu.cfs_quota_us"];
        let two = ["cpu.weight", "cpu.max"];
        let expected = ["512", "100000", "150000"];
        assert_eq!(after(Version::One, "cpu", &one, &limits), expected);
        let expected = ["50", "150000 100000"];
        assert_eq!(after(Version::Two, "cpu", &two, &limits), expected);
    }

    #[test]
    fn a_kernel_that_counts_no_swap_is_said() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("memory.max"), "").unwrap();
        let mut bounds = Bounds::default();
        let limits = Limits::default();
        bounds
            .set(Version::Two, folder.path(), "memory", &limits)
            .unwrap();
        assert!(!bounds.counts_swap && bounds.memory_bytes.is_some());
        assert!(!bounds.to_string().contains("swap"), "{bounds}");
    }

    #[test]
    fn what_does_not_hold_is_said_with_the_reason() {
        let mut bounds = Bounds::default();
        bounds.lack("/sys/fs/cgroup is read-only");
        bounds.lack("/sys/fs/cgroup is read-only");
        assert_eq!(
            bounds.to_string(),
            "each process by itself; not all together, because of /sys/fs/cgroup is read-only"
        );
    }

    #[test]
    fn no_limit_is_above_the_machine() {
        assert!(within_machine(u64::MAX) < u64::MAX / 2);
        assert_eq!(within_machine(MIB), MIB);
    }
}
