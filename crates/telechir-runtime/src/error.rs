//! What the operator should hear. What a model should hear is data in a result.

use std::io;
use std::path::PathBuf;

use telechir_protocol::IncompleteTurn;

/// Why a turn could not be carried out or a session not be built. Texts read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// What happens could not be recorded, so it did not happen.
    #[error("record the session")]
    Journal(#[from] JournalError),
    /// A call without exactly one result: a mistake of this program.
    #[error("answer every call; this is a bug of telechir")]
    Incomplete(#[from] IncompleteTurn),
    /// A device could not be closed; the others were.
    #[error("close the {device}: {message}")]
    Close {
        /// Which.
        device: &'static str,
        /// What it says.
        message: String,
    },
}

/// Why a journal cannot be opened, written or read. Texts read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A file or folder of it.
    #[error("{what} {}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// Another process writes into it.
    #[error("open the journal {}: another telechir process is using it; give another folder with --record", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// There are other things in its folder, which would become private with it.
    #[error("record in {}: it holds other files, and a recording's folder is private; give --record an empty folder or the name of one that is to be made", path.display())]
    NotFree {
        /// The folder.
        path: PathBuf,
    },
    /// There is none.
    #[error("read the recording {}: there is none; give the folder that --record named when it was made", path.display())]
    Absent {
        /// The folder.
        path: PathBuf,
    },
    /// It was written by a later version, or is none.
    #[error("open the journal {}: {problem}", path.display())]
    Format {
        /// The folder.
        path: PathBuf,
        /// What is wrong and what to do.
        problem: String,
    },
    /// The store itself.
    #[error("{what} the journal")]
    Store {
        /// What was tried.
        what: &'static str,
        /// What SQLite says.
        #[source]
        source: rusqlite::Error,
    },
    /// A whole group of rows was not written.
    #[error("write the journal: {message}")]
    Write {
        /// What SQLite says.
        message: String,
    },
    /// No room for an action's intent and outcome.
    #[error("write the journal: the disk of {} is full, and nothing is begun that could not be recorded to its end; make room there or give another folder with --record", path.display())]
    Full {
        /// The folder.
        path: PathBuf,
    },
    /// The writer ended before its time.
    #[error("write the journal: its writer has ended")]
    Ended,
    /// The same step of the same call was asked for before, but as something else.
    #[error(
        "carry out step {step} of call {call_id}: the journal has another action under this key"
    )]
    OtherDigest {
        /// The call.
        call_id: String,
        /// The step.
        step: usize,
    },
}
