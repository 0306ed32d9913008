//! Git's own folders: read-only, except for what Git writes in normal work and never executes.

use std::fs;
use std::path::{Path, PathBuf};

use super::finder::ProtectedFinder;
use super::masks::Placeholder;
use super::{ConfinementError, MountAccess, git, resolve_lexically};

/// Files and folders of a repository that stay writable: data that Git reads as such. Everything
/// else is read-only, so that a name that we do not know is safe.
const WRITABLE: [&str; 22] = [
    "objects",
    "refs",
    "logs",
    "reftable",
    "rr-cache",
    "lfs",
    "index",
    "HEAD",
    "packed-refs",
    "shallow",
    "COMMIT_EDITMSG",
    "TAG_EDITMSG",
    "NOTES_EDITMSG",
    "SQUASH_MSG",
    "MERGE_MSG",
    "MERGE_MODE",
    "MERGE_RR",
    "MERGE_AUTOSTASH",
    "AUTO_MERGE",
    "gc.pid",
    "gc.log",
    "ADD_EDIT.patch",
];
/// Endings and beginnings of more such names: references, locks, and parts of an index.
const WRITABLE_ENDINGS: [&str; 2] = ["_HEAD", ".lock"];
const WRITABLE_BEGINNINGS: [&str; 3] = ["sharedindex.", "BISECT_", "tmp_"];
/// Names that change what Git executes, if they appear, and what takes their place: for Git it
/// means the same as a missing one.
const RESERVED: [(&str, Placeholder); 8] = [
    ("commondir", Placeholder::File(".\n")),
    ("config", Placeholder::EMPTY_FILE),
    ("hooks", Placeholder::EMPTY_FILE),
    ("info", Placeholder::EMPTY_FILE),
    ("modules", Placeholder::EMPTY_FILE),
    ("worktrees", Placeholder::EMPTY_FILE),
    ("remotes", Placeholder::EMPTY_FILE),
    ("branches", Placeholder::EMPTY_FILE),
];
/// The folder of the repositories of submodules.
const MODULES: &str = "modules";
/// The folder of the linked worktrees, each of which looks like a repository.
const WORKTREES: &str = "worktrees";
/// Maximum depth of folders in `modules`, whose names can contain slashes.
const MAX_MODULE_DEPTH: usize = 8;

/// Whether a name in a repository stays writable.
pub(super) fn is_writable(name: &str) -> bool {
    WRITABLE.contains(&name)
        || WRITABLE_ENDINGS.iter().any(|end| name.ends_with(end))
        || WRITABLE_BEGINNINGS
            .iter()
            .any(|start| name.starts_with(start))
}

/// Whether Git accepts a folder as a repository, or would with the files of another folder.
pub(super) fn is_repository(folder: &Path) -> bool {
    let exists = |name: &str| fs::symlink_metadata(folder.join(name)).is_ok();
    exists("HEAD") && (exists("commondir") || (exists("objects") && exists("refs")))
}

/// The repository that a `.git` file names.
pub(super) fn named_by(file: &Path) -> Option<PathBuf> {
    let metadata = fs::symlink_metadata(file).ok()?;
    if !metadata.is_file() || metadata.len() > git::MAX_CONFIG_BYTES {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    let named = text.strip_prefix("gitdir:")?;
    Some(resolve_lexically(file.parent()?, Path::new(named.trim())))
}

/// Protects a repository, its submodules and its linked worktrees.
pub(super) fn protect(
    found: &mut ProtectedFinder<'_>,
    repository: &Path,
) -> Result<(), ConfinementError> {
    if !found.repositories.insert(repository.to_owned()) {
        return Ok(());
    }
    // Pinned even if nothing in it is protected: it must not be moved.
    found.mount(repository, MountAccess::Pinned);
    let mut entries: Vec<PathBuf> = fs::read_dir(repository)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    entries.sort();
    for entry in &entries {
        let name = entry.file_name().unwrap_or_default();
        if !name.to_str().is_some_and(is_writable) {
            found.protect(entry)?;
        }
    }
    let is_linked = repository.join("commondir").exists();
    for (name, placeholder) in RESERVED {
        let missing = !entries.contains(&repository.join(name));
        if missing && !is_linked {
            found.reserve(&repository.join(name), placeholder)?;
        }
    }
    if repository.join("objects/info").is_dir() {
        found.reserve(
            &repository.join("objects/info/alternates"),
            Placeholder::EMPTY_FILE,
        )?;
    }
    protect_below(found, &repository.join(MODULES), MAX_MODULE_DEPTH)?;
    protect_below(found, &repository.join(WORKTREES), 1)
}

/// Protects the repositories in a folder of a repository.
fn protect_below(
    found: &mut ProtectedFinder<'_>,
    folder: &Path,
    depth: usize,
) -> Result<(), ConfinementError> {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir());
    if !is_folder || depth == 0 {
        return Ok(());
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        if is_repository(&path) {
            protect(found, &path)?;
        } else {
            protect_below(found, &path, depth - 1)?;
        }
    }
    Ok(())
}

/// Whether a path in an index leads to where Git would write it: below the worktree, and in no
/// repository. Git itself does not check this for an index that it finds.
pub(super) fn is_valid_in_index(path: &[u8]) -> bool {
    let names = path
        .strip_suffix(b"/")
        .unwrap_or(path)
        .split(|byte| *byte == b'/');
    names.into_iter().all(|name| {
        let folded = telechir_protocol::fold(&String::from_utf8_lossy(name));
        !matches!(name, b"" | b"." | b"..")
            && folded != telechir_protocol::GIT_DIR
            && folded != "git~1"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_writes_in_normal_work_is_writable_and_nothing_else() {
        for name in [
            "index",
            "index.lock",
            "ORIG_HEAD",
            "FETCH_HEAD",
            "objects",
            "BISECT_LOG",
        ] {
            assert!(is_writable(name), "{name}");
        }
        for name in [
            "config",
            "config.worktree",
            "hooks",
            "commondir",
            "gitdir",
            "unknown",
        ] {
            assert!(!is_writable(name), "{name}");
        }
    }

    #[test]
    fn an_index_leads_nowhere_but_into_the_worktree() {
        for path in ["a", "a/b.git", ".gitignore", "sparse/folder/", "..a/b"] {
            assert!(is_valid_in_index(path.as_bytes()), "{path}");
        }
        for path in [
            ".git/hooks/x",
            "a/.GIT/config",
            "../x",
            "a/../../x",
            "/x",
            "a//b",
            "GIT~1/x",
        ] {
            assert!(!is_valid_in_index(path.as_bytes()), "{path}");
        }
    }
}
