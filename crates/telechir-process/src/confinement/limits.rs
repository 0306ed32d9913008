//! Resource limits of a sandbox.

/// Limits for the programs of one sandbox. Those in total need a cgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceLimits {
    /// Maximum number of processes and threads in total.
    pub processes: u64,
    /// Maximum number of open files per process.
    pub open_files: u64,
    /// Maximum writable memory per process, in bytes.
    pub memory_bytes: u64,
    /// Maximum memory in total with a cgroup, in bytes, including memory disks and swap; capped at
    /// three quarters of the machine's memory.
    pub total_memory_bytes: u64,
    /// Weight for processor time with a cgroup, from 1 to 10,000; the default of other cgroups is
    /// 100.
    pub processor_weight: u32,
    /// Maximum processor time in total with a cgroup, in percent of one processor.
    pub processor_percent: Option<u32>,
    /// Maximum size of one file, in bytes.
    pub file_bytes: u64,
    /// Size of `/tmp`, a memory disk, in bytes.
    pub tmp_bytes: u64,
    /// Size of `/dev/shm`, a memory disk, in bytes.
    pub shared_memory_bytes: u64,
    /// Free bytes that a shell leaves on the workspace's file system, at most half of those free at
    /// the start.
    pub min_free_bytes: u64,
    /// Free inodes that a shell leaves on the workspace's file system, at most half of those free
    /// at the start.
    pub min_free_files: u64,
}

const MIB: u64 = 1 << 20;
/// Processes above the limit that `RLIMIT_NPROC` allows: more than telechir's own in the cgroup.
const SPARE_PROCESSES: u64 = 16;

impl Default for ResourceLimits {
    fn default() -> Self {
        Self {
            processes: 512,
            open_files: 4096,
            memory_bytes: 4096 * MIB,
            total_memory_bytes: 4096 * MIB,
            processor_weight: 100,
            processor_percent: None,
            file_bytes: 16 * 1024 * MIB,
            tmp_bytes: 512 * MIB,
            shared_memory_bytes: 64 * MIB,
            min_free_bytes: 1024 * MIB,
            min_free_files: 20_000,
        }
    }
}

impl ResourceLimits {
    /// A bash script with which the first command inside limits itself and its descendants. It runs
    /// inside, because per-user limits would count processes outside.
    ///
    /// A cgroup counts refused processes and therefore has the lower limit, so that the refusal can
    /// be explained; this one holds without a cgroup.
    pub fn script(&self) -> String {
        let Self {
            processes,
            open_files,
            memory_bytes,
            file_bytes,
            ..
        } = self;
        let (memory, file) = (memory_bytes / 1024, file_bytes / 1024);
        let processes = processes + SPARE_PROCESSES;
        format!("ulimit -c 0 -u {processes} -n {open_files} -d {memory} -f {file} || exit 125\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_command_limits_itself_in_the_units_of_bash() {
        let limits = ResourceLimits {
            processes: 10,
            open_files: 20,
            memory_bytes: 3 * MIB,
            file_bytes: 5 * MIB,
            ..ResourceLimits::default()
        };
        let script = "ulimit -c 0 -u 26 -n 20 -d 3072 -f 5120 || exit 125\n";
        assert_eq!(limits.script(), script);
    }
}
