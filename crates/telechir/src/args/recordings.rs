//! Flags of `recordings`, `report` and `audit`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum RecordingsCommand {
    /// List the recordings in a folder, oldest first: size, age, whether a session writes it.
    List {
        /// Folder that contains the folders given to --record, or one of these.
        folder: PathBuf,
        /// Print JSON instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Remove recordings that are too old, then the oldest until the others are small enough. One
    /// that a session writes stays, and so does everything that is no recording.
    Prune(PruneArguments),
}

#[derive(Debug, Args)]
pub(crate) struct PruneArguments {
    /// Folder that contains the folders given to --record.
    pub(crate) folder: PathBuf,
    /// Remove recordings that nothing was written to for more than DAYS.
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    pub(crate) older_than: u64,
    /// Maximum size of all recordings in the folder together, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 10_240)]
    pub(crate) max_size: u64,
    /// Only list what would be removed.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Folder of the recording, as given to --record.
    pub(crate) recording: PathBuf,
    /// The HTML file to write.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Verify the hash chain of a recording.
    Verify {
        /// Folder of the recording, as given to --record.
        recording: PathBuf,
        /// Hash printed by an earlier check: fail if the recording does not contain it, for example
        /// because its end was cut off.
        #[arg(long, value_name = "HASH")]
        head: Option<String>,
    },
}
