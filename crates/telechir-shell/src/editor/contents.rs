//! Folders with protected files in them, which are neither renamed nor deleted as a whole: who
//! approved a change of the folder has not seen these files.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, OFlags};
use telechir_protocol::{is_protected, protected_below};

use super::root::{EditRefusal, NO_LINKS, WorkspaceRoot, join};

/// Maximum number of entries of a folder that is renamed or deleted.
const MAX_ENTRIES: usize = 50_000;

impl WorkspaceRoot {
    /// Checks that what is in a folder is protected under none of these names of the folder.
    pub(super) fn check_contents(
        &self,
        located: &Path,
        names: &[&Path],
    ) -> Result<(), EditRefusal> {
        if self.kind(located)? != Some(FileType::Directory) {
            return Ok(());
        }
        // A change of a protected folder is approved as such.
        let is_plain = |name: &&Path| !is_protected(&name.to_string_lossy());
        let names: Vec<&Path> = names.iter().copied().filter(is_plain).collect();
        let mut open = vec![PathBuf::new()];
        let mut entries = 0;
        while let Some(folder) = open.pop() {
            for (name, kind) in self.entries(&join(located, &folder))? {
                entries += 1;
                if entries > MAX_ENTRIES {
                    return Err(format!(
                        "The folder {} has more than {MAX_ENTRIES} entries. Use shell commands for it.",
                        self.shown(located)
                    ));
                }
                let inner = folder.join(&name);
                let around = names.iter().map(|around| around.join(&inner));
                if let Some(path) = around.into_iter().find(|path| is_obeyed(path, kind)) {
                    return Err(format!(
                        "The folder {} contains {}, which would be {} and configures programs \
                         outside the sandbox. Rename or delete that one by itself first.",
                        self.shown(located),
                        inner.display(),
                        self.shown(&path)
                    ));
                }
                if kind == FileType::Directory {
                    open.push(inner);
                }
            }
        }
        Ok(())
    }

    fn entries(&self, folder: &Path) -> Result<Vec<(PathBuf, FileType)>, EditRefusal> {
        let refused = |error| self.refused(folder, error);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let opened = self.open_beneath(folder, flags, NO_LINKS);
        let mut entries = Vec::new();
        for entry in Dir::read_from(opened.map_err(refused)?).map_err(refused)? {
            let entry = entry.map_err(refused)?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                let name = PathBuf::from(OsStr::from_bytes(name));
                let mut kind = entry.file_type();
                // Not every file system stores it in the folder.
                if kind == FileType::Unknown {
                    kind = self.kind(&join(folder, &name))?.unwrap_or(kind);
                }
                entries.push((name, kind));
            }
        }
        Ok(entries)
    }
}

/// Whether programs obey an entry, or what a link leads to under its name.
fn is_obeyed(path: &Path, kind: FileType) -> bool {
    let path = path.to_string_lossy();
    is_protected(&path) || (kind == FileType::Symlink && !protected_below(&path).is_empty())
}
