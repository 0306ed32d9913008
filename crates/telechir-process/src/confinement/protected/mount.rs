//! How paths of a workspace are mounted, and why they cannot be.

use std::path::{Component, Path, PathBuf};

/// Treatment of protected files that do not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingFiles {
    /// They can be created inside: for a workspace that no other program uses.
    Creatable,
    /// At the top an empty read-only file takes their place until the end, so that they cannot be
    /// created inside. Elsewhere new ones are noticed and moved to another name.
    Masked,
}

/// How a path of the workspace is mounted in the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MountAccess {
    /// Writable, but a mount of its own, so that it cannot be renamed.
    Pinned,
    ReadOnly,
}

/// Why a path cannot be protected, in a sentence for the user.
#[derive(Debug)]
pub(super) struct ProtectionRefusal(pub(super) String);

/// Joins and normalizes a path without accessing the file system.
pub(super) fn resolve_lexically(folder: &Path, relative: &Path) -> PathBuf {
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
