//! What Git acts on unasked: hooks, wherever they are, and what names them.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Access, ConfinementError, Finder, REPOSITORY, by_letters};

/// Inside a repository's own folder.
const WITHIN: [&str; 3] = ["hooks", "config", "info"];
/// A configuration is small; what is longer is not read for the place of hooks.
const LONGEST: u64 = 1 << 20;

/// Protects what a repository at the top of the folder has.
pub(super) fn protect(found: &mut Finder<'_>) -> Result<(), ConfinementError> {
    let own = found.folder.join(REPOSITORY);
    let repository = match fs::symlink_metadata(&own) {
        Ok(there) if there.is_dir() => own,
        // The word of another folder, as a worktree has, which may be in the workspace too.
        Ok(_) => {
            found.protect(&own)?;
            let word = fs::read_to_string(&own).unwrap_or_default();
            let Some(named) = word.strip_prefix("gitdir:") else {
                return Ok(());
            };
            match inside(found.folder, named.trim()) {
                Some(path) if path.is_dir() => path,
                _ => return Ok(()),
            }
        }
        Err(_) => return Ok(()),
    };
    // Also when nothing of it is protected: it must stay where it is.
    found
        .mounts
        .entry(repository.clone())
        .or_insert(Access::Pinned);
    for name in WITHIN {
        found.protect(&repository.join(name))?;
    }
    if let Some(hooks) = hooks(&repository.join("config"))
        && let Some(path) = inside(found.folder, &hooks)
    {
        found.protect(&path)?;
    }
    Ok(())
}

/// Where else a configuration has the hooks.
fn hooks(config: &Path) -> Option<String> {
    let is_read = fs::metadata(config).is_ok_and(|file| file.len() <= LONGEST);
    let text = is_read.then(|| fs::read_to_string(config).ok()).flatten()?;
    let mut in_core = false;
    let mut last = None;
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let name = section.split([']', ' ']).next().unwrap_or_default();
            in_core = name.eq_ignore_ascii_case("core");
        } else if let Some((key, value)) = line.split_once('=')
            && in_core
            && key.trim().eq_ignore_ascii_case("hookspath")
        {
            last = Some(value.trim().trim_matches('"').to_owned());
        }
    }
    last
}

/// A path as Git says it, when it is below the folder by its letters.
fn inside(folder: &Path, said: &str) -> Option<PathBuf> {
    let path = by_letters(folder, Path::new(said));
    (path.starts_with(folder) && path != folder).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_hooks_is_read_from_the_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config");
        let hooks = |text: &str| {
            fs::write(&config, text).unwrap();
            hooks(&config)
        };
        let said = "[core]\n\tbare = false\n\thooksPath = .husky/_\n[alias]\n\thooksPath = x\n";
        assert_eq!(hooks(said).as_deref(), Some(".husky/_"));
        let said = "[CORE]\nHOOKSPATH=\"a b\"\n";
        assert_eq!(hooks(said).as_deref(), Some("a b"));
        assert_eq!(hooks("[alias]\nhooksPath = x\n"), None);
    }

    #[test]
    fn only_what_is_below_the_folder_counts() {
        let at = |said: &str| inside(Path::new("/w"), said);
        assert_eq!(at("./a/../b"), Some(PathBuf::from("/w/b")));
        assert_eq!(at("/w/hooks"), Some(PathBuf::from("/w/hooks")));
        for said in ["/hooks", "../x", ".", "/"] {
            assert_eq!(at(said), None, "{said}");
        }
    }
}
