//! What one confinement may use up.

/// What the programs of one confinement may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Processes and threads at once, all together.
    pub processes: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// Bytes of memory that one process may write to.
    pub memory_bytes: u64,
    /// Bytes of memory of all of them together, with what their memory disks hold and what was
    /// swapped out, where a control group can be had; never more than three quarters of the
    /// machine's.
    pub together_bytes: u64,
    /// Weight for processor time, where 100 is anyone's, where a control group can be had.
    pub processor_weight: u32,
    /// Hundredths of one processor at most, where a control group can be had.
    pub processor_percent: Option<u32>,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Bytes in `/tmp`, which is memory.
    pub tmp_bytes: u64,
    /// Bytes in `/dev/shm`, which is memory.
    pub shared_memory_bytes: u64,
    /// Bytes of the workspace's file system that are left to others; half of what is there, where
    /// that is less. For shells.
    pub disk_left_bytes: u64,
    /// The same of names for files.
    pub disk_left_files: u64,
}

const MIB: u64 = 1 << 20;

impl Default for Limits {
    fn default() -> Self {
        Self {
            processes: 512,
            open_files: 4096,
            memory_bytes: 4096 * MIB,
            together_bytes: 4096 * MIB,
            processor_weight: 100,
            processor_percent: None,
            file_bytes: 16 * 1024 * MIB,
            tmp_bytes: 512 * MIB,
            shared_memory_bytes: 64 * MIB,
            disk_left_bytes: 1024 * MIB,
            disk_left_files: 20_000,
        }
    }
}

impl Limits {
    /// What the first command inside, a bash, says to hold itself and all it starts to them, and
    /// to be the first to go when memory runs out. Inside only, because what counts by user would
    /// count what is outside.
    pub fn script(&self) -> String {
        let Self {
            processes,
            open_files,
            memory_bytes,
            file_bytes,
            ..
        } = self;
        let (memory, file) = (memory_bytes / 1024, file_bytes / 1024);
        format!(
            "ulimit -c 0 -u {processes} -n {open_files} -d {memory} -f {file} || exit 125\n\
             echo 900 >/proc/self/oom_score_adj\n"
        )
    }
}
