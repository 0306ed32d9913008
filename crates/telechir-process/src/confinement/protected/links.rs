//! Links in protected folders: their targets in the workspace are protected, too, and so are other
//! names of protected files.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::finder::ProtectedFinder;
use super::mount::{MountAccess, ProtectionRefusal, resolve_lexically};

/// Maximum number of entries to search; a folder of hooks has about a dozen.
const MAX_ENTRIES: usize = 5_000;
/// Folders that contain no links that a program executes, but as many files as the history.
const HISTORIES: [&str; 8] = [
    ".hg",
    ".jj",
    ".sl",
    ".svn",
    ".bzr",
    ".repo",
    "modules",
    "worktrees",
];

/// Protects the targets of links in protected folders, so that a hook cannot be changed by its
/// other name, the repositories that files in them name, and the other names of files in them. What is
/// outside the workspace cannot be changed anyway. Returns the path at which the search stopped, if
/// there were too many entries.
pub(super) fn protect_targets(
    found: &mut ProtectedFinder<'_>,
) -> Result<Option<PathBuf>, ProtectionRefusal> {
    let is_history = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        HISTORIES.iter().any(|history| name == *history)
    };
    let read_only = |(path, access): (&PathBuf, &MountAccess)| {
        (*access == MountAccess::ReadOnly && !is_history(path)).then(|| path.to_owned())
    };
    let mut seen = BTreeSet::new();
    let mut with_other_names = BTreeSet::new();
    let mut stopped = None;
    while stopped.is_none() {
        // What a file in one of them names is protected, too, and may have links itself.
        let mounted = found.mounts.iter().filter_map(read_only);
        let mut open: Vec<PathBuf> = mounted.filter(|path| !seen.contains(path)).collect();
        if open.is_empty() {
            break;
        }
        while let Some(path) = open.pop() {
            if !seen.insert(path.clone()) {
                continue;
            }
            if seen.len() > MAX_ENTRIES {
                stopped = Some(path);
                break;
            }
            protect_entry(found, &path, &mut open, &mut with_other_names)?;
        }
    }
    found.protect_other_names(&with_other_names)?;
    Ok(stopped)
}

/// Protects what an entry of a protected folder leads to, and adds what is to be looked at next.
fn protect_entry(
    found: &mut ProtectedFinder<'_>,
    path: &Path,
    open: &mut Vec<PathBuf>,
    with_other_names: &mut BTreeSet<(u64, u64)>,
) -> Result<(), ProtectionRefusal> {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    if metadata.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        open.extend(entries.map(|entry| entry.path()));
        return Ok(());
    }
    found.protect_named(path)?;
    if metadata.is_symlink()
        && let Some(target) = target(found, path)?
    {
        found.protect(&target)?;
        open.push(target);
    } else if metadata.is_file() && metadata.nlink() > 1 {
        with_other_names.insert((metadata.dev(), metadata.ino()));
    }
    Ok(())
}

/// The target of a link, if it is in the workspace.
fn target(found: &ProtectedFinder<'_>, link: &Path) -> Result<Option<PathBuf>, ProtectionRefusal> {
    let Ok(link_target) = fs::read_link(link) else {
        return Ok(None);
    };
    let link_target = resolve_lexically(link.parent().unwrap_or(link), &link_target);
    let is_inside = |path: &Path| found.is_inside(path);
    match fs::canonicalize(link) {
        Ok(real) if is_inside(&real) && (real == link_target || !is_inside(&link_target)) => {
            Ok(Some(real))
        }
        Ok(real) if !is_inside(&real) && !is_inside(&link_target) => Ok(None),
        Err(_) if !is_inside(&link_target) => Ok(None),
        // It leads over another link, which can be replaced, or to a missing file, which can be
        // created.
        Ok(_) | Err(_) => found.refuse(link).map(|()| None),
    }
}
