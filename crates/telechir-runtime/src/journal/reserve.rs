//! Disk space reserved for the end of a recording.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::folder::private_file;
use crate::JournalError;

/// Enough for the outcome of one command with its maximum output, and the closing rows.
pub(super) const RESERVE_BYTES: usize = 1024 * 1024;

/// File name in the journal's folder.
const FILE: &str = "reserve";

/// A file that occupies disk space and is removed when the space is needed.
#[derive(Debug)]
pub(super) struct Reserve {
    folder: PathBuf,
    is_filled: bool,
}

impl Reserve {
    /// Reserves space in a folder.
    pub(super) fn create(folder: &Path) -> Result<Self, JournalError> {
        let mut reserve = Self {
            folder: folder.to_owned(),
            is_filled: false,
        };
        reserve.fill().map_err(|source| JournalError::File {
            what: "reserve 1 MiB for the end of the recording in",
            path: folder.to_owned(),
            source,
        })?;
        Ok(reserve)
    }

    /// The folder whose disk has the reserve.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether the space is reserved; tries to reserve it again if it was released.
    pub(super) fn ensure(&mut self) -> bool {
        self.is_filled || self.fill().is_ok()
    }

    /// Releases the space.
    pub(super) fn release(&mut self) {
        self.is_filled = false;
        if let Err(error) = fs::remove_file(self.path()) {
            tracing::debug!(%error, "the journal's reserve file could not be removed");
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    fn fill(&mut self) -> io::Result<()> {
        let filled =
            private_file(&self.path()).and_then(|mut file| file.write_all(&incompressible_bytes()));
        if filled.is_err() {
            self.release();
        }
        self.is_filled = filled.is_ok();
        filled
    }
}

/// Bytes that no file system can compress.
fn incompressible_bytes() -> Vec<u8> {
    let mut bytes = vec![0; RESERVE_BYTES];
    blake3::Hasher::new().finalize_xof().fill(&mut bytes);
    bytes
}
