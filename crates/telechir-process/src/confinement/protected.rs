//! Protected files of a workspace: files that other programs execute or read as configuration are read-only inside.

mod links;
mod masks;
mod repository;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use masks::Masks;

use super::{Confinement, ConfinementError, Sockets};

/// A repository's folder; it must not be moved, or the protection of its contents is lost.
const REPOSITORY: &str = ".git";
/// Names at the top of a workspace that version control, shells, editors and agents act on.
const TOP_LEVEL: [&str; 27] = [
    ".gitmodules",
    ".gitconfig",
    ".hg",
    ".husky",
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

/// Treatment of protected files that do not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingFiles {
    /// They can be created inside: for a workspace that no other program uses.
    Creatable,
    /// An empty read-only file takes their place until the end, so that they cannot be created
    /// inside.
    Masked,
}

/// How a path of the workspace is mounted in the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MountAccess {
    /// Writable, but a mount of its own, so that it cannot be renamed.
    Pinned,
    ReadOnly,
}

/// The protected paths of a workspace, shared by all sandboxes around it. Drop it after the last of
/// them: this removes the empty files that stand for missing ones.
#[derive(Debug)]
pub struct Protected {
    folder: PathBuf,
    /// Sorted by path, so that a folder is mounted before its contents.
    mounts: BTreeMap<PathBuf, MountAccess>,
    /// The first protected folder with too many files to search for links, if any.
    pub too_large: Option<PathBuf>,
    /// Sockets in the folder, which are covered.
    pub sockets: Sockets,
    _masks: Masks,
}

impl Protected {
    /// Finds the protected paths of a folder, whose path must contain no link.
    ///
    /// # Errors
    /// If a missing file cannot be masked. If missing files are masked, also if a protected path is
    /// a link or leads over one, because that link could be replaced.
    pub fn find(folder: &Path, missing: MissingFiles) -> Result<Self, ConfinementError> {
        let mut found = ProtectedFinder {
            folder,
            missing,
            mounts: BTreeMap::new(),
            masks: Masks::default(),
        };
        for name in TOP_LEVEL {
            found.protect(&folder.join(name))?;
        }
        repository::protect(&mut found)?;
        let too_large = links::protect_targets(&mut found)?;
        Ok(Self {
            folder: folder.to_owned(),
            mounts: found.mounts,
            too_large,
            sockets: Sockets::find(folder),
            _masks: found.masks,
        })
    }
}

impl Confinement {
    /// Mounts a workspace writable, except for its protected paths.
    #[must_use]
    pub fn workspace(self, protected: &Protected) -> Self {
        let base = self.writable(&protected.folder);
        let mounts = protected.mounts.iter();
        let mounted = mounts.fold(base, |confinement, (path, access)| match access {
            MountAccess::Pinned => confinement.writable(path),
            MountAccess::ReadOnly => confinement.read_only(path, path),
        });
        mounted.without_sockets(&protected.sockets)
    }
}

/// Collects protected paths and their mounts.
#[derive(Debug)]
struct ProtectedFinder<'a> {
    folder: &'a Path,
    missing: MissingFiles,
    mounts: BTreeMap<PathBuf, MountAccess>,
    masks: Masks,
}

impl ProtectedFinder<'_> {
    /// Protects a path of the folder, or the position of a missing one.
    fn protect(&mut self, path: &Path) -> Result<(), ConfinementError> {
        let Some(there) = self.first_special(path) else {
            self.mount_read_only(path);
            return self.share(path);
        };
        match fs::symlink_metadata(&there) {
            Ok(found) if found.is_symlink() => self.refuse(&there),
            // A file where a folder would be needed: nothing can be created below it.
            Ok(_) => {
                self.mount_read_only(&there);
                self.share(&there)
            }
            Err(_) if self.missing == MissingFiles::Masked => {
                let masked = self.masks.add(&there);
                masked.map_err(|error| {
                    ConfinementError(format!("failed to protect {}: {error}", there.display()))
                })?;
                self.mount_read_only(&there);
                Ok(())
            }
            Err(_) => Ok(()),
        }
    }

    /// The first component of a path below the folder that is missing, a link, or a file in the
    /// middle.
    fn first_special(&self, path: &Path) -> Option<PathBuf> {
        let below = path.strip_prefix(self.folder).ok()?;
        let mut current = self.folder.to_owned();
        for part in below.components() {
            current.push(part);
            let is_plain = fs::symlink_metadata(&current)
                .is_ok_and(|found| found.is_dir() || (current == path && !found.is_symlink()));
            if !is_plain {
                return Some(current);
            }
        }
        None
    }

    /// Keeps the empty file of another device or session in place as long as this one needs it.
    fn share(&mut self, path: &Path) -> Result<(), ConfinementError> {
        self.masks.share(path);
        Ok(())
    }

    /// Refuses a link: it can be replaced, and nothing can be mounted on it. In a folder that only
    /// we use, no other program follows it.
    fn refuse(&self, link: &Path) -> Result<(), ConfinementError> {
        match self.missing {
            MissingFiles::Creatable => Ok(()),
            MissingFiles::Masked => Err(ConfinementError(format!(
                "{} is a link at a protected path, and a command could replace it; put its target \
                 there, or choose another folder with --workspace",
                link.display()
            ))),
        }
    }

    /// Makes a path read-only and pins the folders around it: renaming one of them would move the
    /// mount along and free the path for a new file.
    fn mount_read_only(&mut self, path: &Path) {
        let is_read_only = |mounts: &BTreeMap<PathBuf, MountAccess>| {
            path.ancestors()
                .any(|above| mounts.get(above) == Some(&MountAccess::ReadOnly))
        };
        if is_read_only(&self.mounts) {
            return;
        }
        let above = path.ancestors().skip(1);
        for above in
            above.take_while(|above| above.starts_with(self.folder) && *above != self.folder)
        {
            self.mounts
                .entry(above.to_owned())
                .or_insert(MountAccess::Pinned);
        }
        self.mounts.insert(path.to_owned(), MountAccess::ReadOnly);
    }
}

/// Joins and normalizes a path without accessing the file system.
fn resolve_lexically(folder: &Path, relative: &Path) -> PathBuf {
    let mut path = PathBuf::new();
    for part in folder.join(relative).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => path.push(part),
        }
    }
    path
}
