//! Links in protected folders: what they lead to is protected like the rest.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Access, ConfinementError, Finder, by_letters};

/// So many entries are looked at; a folder of hooks has a dozen.
const MOST: usize = 5_000;
/// Holds no links, and as many files as the history has.
const HISTORY: &str = ".hg";

/// Protects all that links in protected folders lead to in the workspace, so that nobody changes a
/// hook by its other name. A link to the outside leads to nothing that can be changed. Gives where
/// it stopped when there was too much.
pub(super) fn protect_targets(found: &mut Finder<'_>) -> Result<Option<PathBuf>, ConfinementError> {
    let history = found.folder.join(HISTORY);
    let read_only = |(path, access): (&PathBuf, &Access)| {
        (*access == Access::ReadOnly && *path != history).then(|| path.to_owned())
    };
    let mut open: Vec<PathBuf> = found.mounts.iter().filter_map(read_only).collect();
    let mut seen = BTreeSet::new();
    while let Some(path) = open.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        if seen.len() > MOST {
            return Ok(Some(path));
        }
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            continue;
        };
        if metadata.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            open.extend(entries.map(|entry| entry.path()));
        } else if metadata.is_symlink()
            && let Some(target) = target(found, &path)?
        {
            found.protect(&target)?;
            open.push(target);
        }
    }
    Ok(None)
}

/// What a link leads to, when that is in the workspace.
fn target(found: &Finder<'_>, link: &Path) -> Result<Option<PathBuf>, ConfinementError> {
    let Ok(said) = fs::read_link(link) else {
        return Ok(None);
    };
    let said = by_letters(link.parent().unwrap_or(link), &said);
    let is_inside = |path: &Path| path.starts_with(found.folder) && path != found.folder;
    match fs::canonicalize(link) {
        Ok(real) if is_inside(&real) && (real == said || !is_inside(&said)) => Ok(Some(real)),
        Ok(real) if !is_inside(&real) && !is_inside(&said) => Ok(None),
        Err(_) if !is_inside(&said) => Ok(None),
        // Over another link, which can be replaced, or to nothing, which can be made.
        Ok(_) | Err(_) => found.refuse(link).map(|()| None),
    }
}
