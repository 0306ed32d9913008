//! Room on the disk that is kept for the end of a recording.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::JournalError;

/// Enough for the outcome of one command with all output that is kept, and the closing rows.
pub(super) const BYTES: usize = 1024 * 1024;

/// The file in the journal's folder.
const FILE: &str = "reserve";

/// A file that holds room and is removed when the room is needed.
#[derive(Debug)]
pub(super) struct Reserve {
    folder: PathBuf,
    is_held: bool,
}

impl Reserve {
    /// Keeps the room of a folder.
    pub(super) fn take(folder: &Path) -> Result<Self, JournalError> {
        let mut reserve = Self {
            folder: folder.to_owned(),
            is_held: false,
        };
        reserve.fill().map_err(|source| JournalError::File {
            what: "keep a mebibyte of room for the end of the recording in",
            path: folder.to_owned(),
            source,
        })?;
        Ok(reserve)
    }

    /// The folder whose disk it is about.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether the room is there; tries to keep it again when it had to be given away.
    pub(super) fn hold(&mut self) -> bool {
        self.is_held || self.fill().is_ok()
    }

    /// Gives the room away.
    pub(super) fn release(&mut self) {
        self.is_held = false;
        match fs::remove_file(self.path()) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(%error, "the journal's reserve could not be removed"),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    fn fill(&mut self) -> io::Result<()> {
        let filled = fs::write(self.path(), noise());
        if filled.is_err() {
            self.release();
        }
        self.is_held = filled.is_ok();
        filled
    }
}

/// Bytes that no file system can keep in less room.
fn noise() -> Vec<u8> {
    let mut bytes = vec![0; BYTES];
    blake3::Hasher::new().finalize_xof().fill(&mut bytes);
    bytes
}
