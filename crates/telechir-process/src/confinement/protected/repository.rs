//! Files that Git executes or obeys: hooks, at any configured path, and the configuration.

use std::fs;
use std::path::{Path, PathBuf};

use super::{ConfinementError, MountAccess, ProtectedFinder, REPOSITORY, resolve_lexically};

/// Protected names inside `.git`.
const PROTECTED_IN_GIT: [&str; 3] = ["hooks", "config", "info"];
/// Maximum size of a configuration that is searched for `core.hooksPath`.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// Protects the files of a repository at the top of the folder.
pub(super) fn protect(found: &mut ProtectedFinder<'_>) -> Result<(), ConfinementError> {
    let own = found.folder.join(REPOSITORY);
    let repository = match fs::symlink_metadata(&own) {
        Ok(there) if there.is_dir() => own,
        // A file that names another folder, as in a worktree; that folder may be in the workspace,
        // too.
        Ok(_) => {
            found.protect(&own)?;
            let text = fs::read_to_string(&own).unwrap_or_default();
            let Some(named) = text.strip_prefix("gitdir:") else {
                return Ok(());
            };
            match inside(found.folder, named.trim()) {
                Some(path) if path.is_dir() => path,
                _ => return Ok(()),
            }
        }
        Err(_) => return Ok(()),
    };
    // Pinned even if nothing in it is protected: it must not be moved.
    found
        .mounts
        .entry(repository.clone())
        .or_insert(MountAccess::Pinned);
    for name in PROTECTED_IN_GIT {
        found.protect(&repository.join(name))?;
    }
    if let Some(hooks) = hooks(&repository.join("config"))
        && let Some(path) = inside(found.folder, &hooks)
    {
        found.protect(&path)?;
    }
    Ok(())
}

/// The value of `core.hooksPath`.
fn hooks(config: &Path) -> Option<String> {
    let is_read = fs::metadata(config).is_ok_and(|file| file.len() <= MAX_CONFIG_BYTES);
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

/// Resolves a path of Git's configuration; `None` outside the folder.
fn inside(folder: &Path, path: &str) -> Option<PathBuf> {
    let path = resolve_lexically(folder, Path::new(path));
    (path.starts_with(folder) && path != folder).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_hooks_path_from_the_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config");
        let hooks = |text: &str| {
            fs::write(&config, text).unwrap();
            hooks(&config)
        };
        let path = "[core]\n\tbare = false\n\thooksPath = .husky/_\n[alias]\n\thooksPath = x\n";
        assert_eq!(hooks(path).as_deref(), Some(".husky/_"));
        let path = "[CORE]\nHOOKSPATH=\"a b\"\n";
        assert_eq!(hooks(path).as_deref(), Some("a b"));
        assert_eq!(hooks("[alias]\nhooksPath = x\n"), None);
    }

    #[test]
    fn paths_outside_the_folder_are_ignored() {
        let at = |path: &str| inside(Path::new("/w"), path);
        assert_eq!(at("./a/../b"), Some(PathBuf::from("/w/b")));
        assert_eq!(at("/w/hooks"), Some(PathBuf::from("/w/hooks")));
        for path in ["/hooks", "../x", ".", "/"] {
            assert_eq!(at(path), None, "{path}");
        }
    }
}
