//! Files of a workspace that let other programs run things later: read-only inside.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::Confinement;
use crate::guardian;

/// A repository's own folder, which must stay where it is for what is protected in it to hold.
const REPOSITORY: &str = ".git";
/// Inside that.
const OF_REPOSITORY: [&str; 3] = ["hooks", "config", "info"];
/// At the top of a workspace: what version control, shells, editors and agents act on unasked.
const AT_TOP: [&str; 26] = [
    ".gitmodules",
    ".gitconfig",
    ".hg",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".inputrc",
    ".envrc",
    ".ripgreprc",
    ".npmrc",
    ".vscode",
    ".idea",
    ".mcp.json",
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".agents",
    ".telechir",
    ".ssh",
];

/// What becomes of protected files that are not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// They can be made inside: for a workspace that nobody else uses.
    MayBeMade,
    /// An empty one stands in their place until the end, so that they cannot be made inside.
    AreMasked,
}

/// Empty files in the place of protected ones that were missing; removed with this.
#[derive(Debug, Default)]
pub struct Masks {
    masks: Vec<Mask>,
    /// Links in a protected place. What they lead to is not there inside, unless it is in the
    /// folder too; but they can be replaced.
    pub unprotected: Vec<PathBuf>,
}

#[derive(Debug)]
struct Mask {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl Confinement {
    /// Shows a folder to be read and written, but for what is protected in it.
    ///
    /// # Errors
    /// When a missing one cannot be masked.
    pub fn workspace(self, folder: &Path, missing: Missing) -> io::Result<(Self, Masks)> {
        let mut confinement = self.writable(folder);
        let mut masks = Masks::default();
        let repository = folder.join(REPOSITORY);
        let mut paths: Vec<PathBuf> = AT_TOP.iter().map(|name| folder.join(name)).collect();
        match fs::symlink_metadata(&repository) {
            Ok(found) if found.is_dir() => {
                // A place where something is mounted cannot be renamed.
                confinement = confinement.writable(&repository);
                paths.extend(OF_REPOSITORY.iter().map(|name| repository.join(name)));
            }
            // The word of another folder, as a worktree has.
            Ok(_) => paths.push(repository),
            Err(_) => {}
        }
        for path in paths {
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_symlink() => {
                    masks.unprotected.push(path);
                    continue;
                }
                Ok(_) => {}
                Err(_) if missing == Missing::AreMasked => masks.add(&path)?,
                Err(_) => continue,
            }
            confinement = confinement.read_only(&path, &path);
        }
        Ok((confinement, masks))
    }
}

impl Masks {
    /// Makes an empty file that is removed however we end.
    fn add(&mut self, path: &Path) -> io::Result<()> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let name = name.to_string_lossy();
        let made = folder.join(format!("{}{name}", guardian::folder_prefix()));
        let mut options = OpenOptions::new();
        let file: File = options
            .write(true)
            .create_new(true)
            .mode(0o444)
            .open(&made)?;
        let found = file.metadata()?;
        // Known before it has its name, so that there is no moment in which nobody knows it.
        let linked =
            guardian::owns_file(path, &made, &made).and_then(|()| fs::hard_link(&made, path));
        let _its_other_name_counts = fs::remove_file(&made);
        linked?;
        self.masks.push(Mask {
            path: path.to_owned(),
            device: found.dev(),
            inode: found.ino(),
        });
        Ok(())
    }
}

impl Drop for Masks {
    fn drop(&mut self) {
        for mask in &self.masks {
            let found = fs::symlink_metadata(&mask.path);
            let is_ours = found.is_ok_and(|found| {
                found.len() == 0 && (found.dev(), found.ino()) == (mask.device, mask.inode)
            });
            if is_ours && fs::remove_file(&mask.path).is_ok() {
                guardian::unowns_file(&mask.path);
            }
        }
    }
}
