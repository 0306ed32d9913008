//! What the telechir processes of a user drive besides sandboxes: shells on the host and existing
//! displays. What such a session does cannot be told from what its user does.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, flock};

/// How the names of marks begin; no session has such a name.
const PREFIX: &str = ".drives-";
/// Contents of the mark of a shell on the host.
const HOST_SHELL: &str = "shell";
/// How the contents of the mark of an existing display begin.
const DISPLAY: &str = "display ";

static MARKS: AtomicU64 = AtomicU64::new(0);

/// A file that shows what this process drives, as long as it lives: its lock ends with the process.
#[derive(Debug)]
pub struct SurroundingMark {
    path: PathBuf,
    _file: File,
}

impl SurroundingMark {
    /// Marks that this process runs a shell outside of a sandbox.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn host_shell(folder: &Path) -> io::Result<Self> {
        Self::create(folder, HOST_SHELL)
    }

    /// Marks that this process drives an existing display, by the name in `DISPLAY`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn display(folder: &Path, name: &str) -> io::Result<Self> {
        Self::create(folder, &format!("{DISPLAY}{name}"))
    }

    fn create(folder: &Path, contents: &str) -> io::Result<Self> {
        loop {
            let number = MARKS.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("{PREFIX}{}-{number}", std::process::id()));
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).mode(0o600);
            let mut file = options.open(&path)?;
            // Others look at it for a moment with a shared lock, and remove it if it has no owner.
            flock(&file, FlockOperation::LockExclusive)?;
            if fs::metadata(&path).is_ok_and(|found| is_same(&found, &file)) {
                file.set_len(0)?;
                file.write_all(contents.as_bytes())?;
                return Ok(Self { path, _file: file });
            }
        }
    }
}

impl Drop for SurroundingMark {
    fn drop(&mut self) {
        // Without its lock the file means nothing.
        let _best_effort = fs::remove_file(&self.path);
    }
}

fn is_same(found: &fs::Metadata, file: &File) -> bool {
    file.metadata()
        .is_ok_and(|own| (own.dev(), own.ino()) == (found.dev(), found.ino()))
}

/// What all telechir processes of this user drive.
#[derive(Clone, Debug)]
pub struct Surroundings {
    folder: PathBuf,
}

impl Surroundings {
    /// The marks in this folder, which only the user can write to.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Why a command in another terminal counts for no question; none if it does.
    pub fn closed_to_commands(&self) -> Option<String> {
        match self.contents() {
            // A mark whose owner is just writing it is empty.
            Ok(marks) if marks.iter().all(|mark| mark.starts_with(DISPLAY)) => None,
            Ok(_) => Some(
                "a session of this user has --shell=host, whose commands cannot be told from a \
                 person's: only the caller's own prompt counts"
                    .to_owned(),
            ),
            Err(error) => Some(format!(
                "{} cannot be read, so it is unknown which sessions run on the host: {error}",
                self.folder.display()
            )),
        }
    }

    /// The names of the existing displays that sessions drive.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn displays(&self) -> io::Result<Vec<String>> {
        let marks = self.contents()?;
        let names = marks.iter().filter_map(|mark| mark.strip_prefix(DISPLAY));
        Ok(names.map(str::to_owned).collect())
    }

    /// The contents of the marks with a living owner. Removes the others.
    fn contents(&self) -> io::Result<Vec<String>> {
        let mut marks = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
                continue;
            }
            let mut file = match File::open(entry.path()) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            if flock(&file, FlockOperation::NonBlockingLockShared).is_ok() {
                let _another_was_faster = fs::remove_file(entry.path());
                continue;
            }
            let mut contents = String::new();
            file.read_to_string(&mut contents)?;
            marks.push(contents);
        }
        Ok(marks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_on_the_host_closes_commands_while_it_runs() {
        let folder = tempfile::tempdir().unwrap();
        let surroundings = Surroundings::new(folder.path());
        assert_eq!(surroundings.closed_to_commands(), None);
        let mark = SurroundingMark::host_shell(folder.path()).unwrap();
        let why = surroundings.closed_to_commands().unwrap();
        assert!(why.contains("--shell=host"), "{why}");
        drop(mark);
        assert_eq!(surroundings.closed_to_commands(), None);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn displays_are_listed_and_close_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let surroundings = Surroundings::new(folder.path());
        let _first = SurroundingMark::display(folder.path(), ":7").unwrap();
        let second = SurroundingMark::display(folder.path(), ":8").unwrap();
        assert_eq!(surroundings.closed_to_commands(), None);
        let mut displays = surroundings.displays().unwrap();
        displays.sort();
        assert_eq!(displays, [":7", ":8"]);
        drop(second);
        assert_eq!(surroundings.displays().unwrap(), [":7"]);
    }

    #[test]
    fn a_mark_that_is_just_written_counts_as_the_worst() {
        let folder = tempfile::tempdir().unwrap();
        let surroundings = Surroundings::new(folder.path());
        let mark = SurroundingMark::create(folder.path(), "").unwrap();
        assert!(surroundings.closed_to_commands().is_some());
        drop(mark);
        assert_eq!(surroundings.closed_to_commands(), None);
    }

    #[test]
    fn marks_of_dead_processes_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("{PREFIX}1-0"));
        fs::write(&path, HOST_SHELL).unwrap();
        let surroundings = Surroundings::new(folder.path());
        assert_eq!(surroundings.closed_to_commands(), None);
        assert!(!path.exists());
        fs::write(folder.path().join("other"), HOST_SHELL).unwrap();
        assert_eq!(surroundings.closed_to_commands(), None);
        assert!(folder.path().join("other").exists());
    }

    #[test]
    fn a_folder_that_cannot_be_read_closes_commands() {
        let folder = tempfile::tempdir().unwrap();
        let surroundings = Surroundings::new(folder.path().join("missing"));
        assert!(surroundings.closed_to_commands().is_some());
        assert!(surroundings.displays().is_err());
    }
}
