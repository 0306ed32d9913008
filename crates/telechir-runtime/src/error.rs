//! Errors for the operator. Errors for the model are data in a result.

use std::io;
use std::path::PathBuf;

use telechir_protocol::IncompleteTurn;

/// Why a turn could not be executed or a session could not be built. Texts continue "failed to".
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// An action could not be recorded and was therefore not performed.
    #[error("record the session")]
    Journal(#[from] JournalError),
    /// A call did not get exactly one result: a bug in this program.
    #[error("answer every call; this is a bug in telechir")]
    Incomplete(#[from] IncompleteTurn),
    /// A device could not be closed; all other devices were.
    #[error("close the {device}: {message}")]
    Close {
        /// Name of the device.
        device: &'static str,
        /// The device's error, or the exceeded time limit.
        message: String,
    },
}

/// Why a journal cannot be opened, written or read. Texts continue "failed to".
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A file or folder of the journal could not be used.
    #[error("{what} {}", path.display())]
    File {
        /// The operation that failed.
        what: &'static str,
        /// Path of the file or folder.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// Another process has the journal open.
    #[error("open the journal {}: another telechir process is using it; wait until it ends (`telechir sessions close NAME` ends a session), or choose another folder with --record", path.display())]
    InUse {
        /// Folder of the journal.
        path: PathBuf,
    },
    /// The folder contains other files, which would become private as well.
    #[error("record in {}: the folder contains other files, and a recording's folder is private; pass --record an empty or new folder", path.display())]
    NotFree {
        /// Folder of the journal.
        path: PathBuf,
    },
    /// The folder contains no recording.
    #[error("read the recording {}: not found; pass the folder that was given to --record", path.display())]
    Absent {
        /// Folder of the journal.
        path: PathBuf,
    },
    /// The journal has a newer format, or the file is not a journal.
    #[error("open the journal {}: {problem}", path.display())]
    Format {
        /// Folder of the journal.
        path: PathBuf,
        /// What is wrong, and what to do about it.
        problem: String,
    },
    /// The recording has no conversation of this run.
    #[error("resume {run:?}: the recording {} has {}", path.display(), known_runs(known))]
    NoConversation {
        /// Folder of the journal.
        path: PathBuf,
        /// Name of the run.
        run: String,
        /// Names of the runs that have one.
        known: Vec<String>,
    },
    /// SQLite returned an error.
    #[error("{what} the journal")]
    Store {
        /// The operation that failed.
        what: &'static str,
        /// The error of SQLite.
        #[source]
        source: rusqlite::Error,
    },
    /// A group of rows could not be written.
    #[error("write the journal: {message}")]
    Write {
        /// The error of SQLite.
        message: String,
    },
    /// The disk is too full for an action's intent and outcome.
    #[error("write the journal: disk full at {}; free space or choose another folder with --record (no action was started)", path.display())]
    Full {
        /// Folder of the journal.
        path: PathBuf,
    },
    /// The writer thread exited unexpectedly.
    #[error("write the journal: its writer thread exited")]
    Ended,
    /// The journal has a call with this id that differs in this step.
    #[error(
        "execute call {call_id}: this is the id of an earlier call, which differs in step {step}; it was not executed. Give each call an id of its own"
    )]
    OtherDigest {
        /// Id of the call.
        call_id: String,
        /// Index of the step, from 0.
        step: usize,
    },
}

fn known_runs(known: &[String]) -> String {
    if known.is_empty() {
        "no run of a model".to_owned()
    } else {
        format!("the runs {}", known.join(", "))
    }
}
