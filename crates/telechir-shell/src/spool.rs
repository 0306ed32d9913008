//! Files with complete long outputs, readable by commands.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use telechir_process::{Identity, PrivateFolder, guardian, let_read, make_private_file};

/// Maximum stored size of one output, in bytes.
pub(crate) const MAX_OUTPUT_BYTES: u64 = 256 << 20;
/// Maximum stored size of all outputs, in bytes; the oldest are removed first.
const MAX_TOTAL_BYTES: u64 = 1 << 30;

/// The output files of one shell. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Spools(Arc<Mutex<SpoolFiles>>);

#[derive(Debug)]
struct SpoolFiles {
    folder: PrivateFolder,
    /// The folder's path inside the sandbox.
    inside: PathBuf,
    owner: Option<Identity>,
    number: u64,
    by_age: VecDeque<(PathBuf, u64)>,
}

/// The file with one output.
#[derive(Debug)]
pub(crate) struct Spool {
    file: File,
    inside: PathBuf,
    written: u64,
    /// The error after which nothing more is written.
    write_error: Option<String>,
    dropped_bytes: u64,
    spools: Spools,
}

impl Spools {
    /// Creates a folder under `parent` that commands see at `inside`, or at the same path.
    pub(crate) fn new(
        parent: &Path,
        inside: Option<&str>,
        owner: Option<Identity>,
    ) -> io::Result<Self> {
        let folder = PrivateFolder::create(parent, &guardian::folder_prefix())?;
        if let Some(owner) = owner {
            folder.let_in(owner, true)?;
        }
        let inside = inside.map_or_else(|| folder.path().to_owned(), PathBuf::from);
        Ok(Self(Arc::new(Mutex::new(SpoolFiles {
            folder,
            inside,
            owner,
            number: 0,
            by_age: VecDeque::new(),
        }))))
    }

    /// The folder's path outside the sandbox.
    pub(crate) fn folder(&self) -> PathBuf {
        self.lock().folder.path().to_owned()
    }

    /// Creates the next output file.
    pub(crate) fn create(&self) -> io::Result<Spool> {
        let mut files = self.lock();
        files.number += 1;
        let name = format!("output-{}", files.number);
        let path = files.folder.path().join(&name);
        let file = make_private_file(&path)?;
        if let Some(owner) = files.owner {
            let_read(&file, owner)?;
        }
        let inside = files.inside.join(&name);
        files.remove_oldest();
        files.by_age.push_back((path, 0));
        drop(files);
        let spools = self.clone();
        Ok(Spool {
            file,
            inside,
            written: 0,
            write_error: None,
            dropped_bytes: 0,
            spools,
        })
    }

    fn lock(&self) -> MutexGuard<'_, SpoolFiles> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SpoolFiles {
    /// Removes the oldest files until one more of maximum size fits.
    fn remove_oldest(&mut self) {
        let mut all: u64 = self.by_age.iter().map(|(_, bytes)| bytes).sum();
        while all + MAX_OUTPUT_BYTES > MAX_TOTAL_BYTES
            && let Some((path, bytes)) = self.by_age.pop_front()
        {
            all -= bytes;
            let _may_be_gone = fs::remove_file(path);
        }
    }
}

impl Spool {
    /// Appends bytes up to the maximum size; further ones are only counted.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let room = MAX_OUTPUT_BYTES - self.written;
        let fits = usize::try_from(room).map_or(bytes.len(), |room| bytes.len().min(room));
        let fits = if self.write_error.is_some() { 0 } else { fits };
        if fits > 0 {
            match self.file.write_all(&bytes[..fits]) {
                Ok(()) => self.written += fits as u64,
                Err(error) => {
                    self.write_error = Some(error.to_string());
                    self.dropped_bytes += fits as u64;
                }
            }
        }
        self.dropped_bytes += (bytes.len() - fits) as u64;
    }

    /// Location of the complete output, or which part of it is stored.
    pub(crate) fn location_note(&self) -> String {
        let path = self.inside.display();
        match (&self.write_error, self.dropped_bytes) {
            (Some(error), _) => format!("only a part of it is in {path}: {error}"),
            (None, 0) => format!("all of it is in {path}"),
            (None, dropped_bytes) => {
                let written = self.written;
                format!(
                    "its first {written} bytes are in {path}, the other {dropped_bytes} were discarded"
                )
            }
        }
    }
}

/// From now on its final size counts.
impl Drop for Spool {
    fn drop(&mut self) {
        let name = self.inside.file_name().unwrap_or_default();
        let mut files = self.spools.lock();
        let own = files
            .by_age
            .iter_mut()
            .find(|(path, _)| path.file_name() == Some(name));
        if let Some((_, bytes)) = own {
            *bytes = self.written;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_beyond_the_limit_are_counted() {
        let parent = tempfile::tempdir().expect("a folder");
        let spools = Spools::new(parent.path(), Some("/inside"), None).expect("spools");
        let mut spool = spools.create().expect("a file");
        spool.push(b"abc");
        assert_eq!(spool.location_note(), "all of it is in /inside/output-1");
        spool.written = MAX_OUTPUT_BYTES - 2;
        spool.push(b"defgh");
        let location_note = spool.location_note();
        assert!(
            location_note.contains("first 268435456 bytes"),
            "{location_note}"
        );
        assert!(
            location_note.contains("other 3 were discarded"),
            "{location_note}"
        );
        let file = spools.folder().join("output-1");
        assert_eq!(fs::read(file).expect("the file"), b"abcde");
    }

    #[test]
    fn the_oldest_files_are_removed_at_the_total_limit() {
        let parent = tempfile::tempdir().expect("a folder");
        let spools = Spools::new(parent.path(), None, None).expect("spools");
        for _ in 0..6 {
            let mut spool = spools.create().expect("a file");
            spool.written = MAX_OUTPUT_BYTES;
        }
        let left = fs::read_dir(spools.folder()).expect("the folder").count();
        assert_eq!(left, 4);
    }
}
