//! Paths in the workspace that Git's configuration names: hooks, included files, filters, and other
//! programs. Git itself is asked for the configuration.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::finder::ProtectedFinder;
use super::git::{ConfigEntry, GitUser};
use super::masks::Placeholder;
use super::mount::{ProtectionRefusal, resolve_lexically};

/// Sections and keys whose values are data: names, addresses, formats. Every other value is searched
/// for paths, so that a key that we do not know is safe.
const DATA: [&str; 21] = [
    "advice.",
    "author.",
    "branch.",
    "color.",
    "column.",
    "committer.",
    "extensions.",
    "fetch.",
    "init.defaultbranch",
    "pack.",
    "pull.",
    "push.",
    "rebase.",
    "rerere.",
    "safe.",
    "status.",
    "url.",
    "user.",
    "core.repositoryformatversion",
    "core.worktree",
    "index.",
];
/// The last part of keys of remotes whose values are data.
const REMOTE_DATA: [&str; 6] = [
    ".url",
    ".fetch",
    ".push",
    ".pushurl",
    ".tagopt",
    ".promisor",
];
/// Keys whose value is a path and nothing else, relative to the worktree.
const PATHS: [&str; 3] = ["core.hookspath", "core.attributesfile", "init.templatedir"];
/// Characters that separate the words of a command.
const SEPARATORS: &[char] = &[
    ' ', '\t', '\n', '\'', '"', ';', '|', '&', '(', ')', '<', '>', '=', '`', '!', '$', '{', '}',
];
/// Maximum number of included files to read.
const MAX_INCLUDED: usize = 100;

/// Protects what a user's configuration of a repository names in the workspace. Returns why Git
/// could not be asked, if so.
pub(super) fn protect(
    found: &mut ProtectedFinder<'_>,
    user: &GitUser,
    repository: Option<&Path>,
    worktree: &Path,
) -> Result<Option<String>, ProtectionRefusal> {
    let entries = match user.configuration(repository) {
        Ok(entries) => entries,
        Err(error) => return Ok(Some(error.to_string())),
    };
    let mut seen = BTreeSet::new();
    let mut open = entries;
    while !open.is_empty() {
        let mut included = Vec::new();
        for entry in &open {
            if let Some(origin) = &entry.origin {
                let origin = resolve_lexically(worktree, origin);
                protect_existing(found, &origin)?;
                if found.is_inside(&origin) {
                    let settings = found.configurations.entry(origin.clone()).or_default();
                    settings.insert(entry.setting());
                }
                seen.insert(origin);
            }
        }
        for entry in &open {
            included.extend(protect_entry(found, user, worktree, entry)?);
        }
        open = Vec::new();
        for file in included {
            // Its condition may become true, for example with another branch.
            if seen.len() < MAX_INCLUDED && seen.insert(file.clone()) {
                open.extend(user.included(&file).unwrap_or_default());
            }
        }
    }
    Ok(None)
}

/// Protects what one value names; returns the file that it includes, if any.
fn protect_entry(
    found: &mut ProtectedFinder<'_>,
    user: &GitUser,
    worktree: &Path,
    entry: &ConfigEntry,
) -> Result<Option<PathBuf>, ProtectionRefusal> {
    let (section, name) = (
        entry.key.split('.').next().unwrap_or_default(),
        entry.key.rsplit('.').next().unwrap_or_default(),
    );
    if matches!(section, "include" | "includeif") && name == "path" {
        let origin = entry.origin.as_ref().and_then(|file| file.parent());
        let path = user.expand(&entry.value, origin.unwrap_or(worktree));
        protect_or_reserve(found, &path)?;
        return Ok(Some(path));
    }
    if PATHS.contains(&entry.key.as_str()) {
        if is_path(&entry.value) {
            protect_or_reserve(found, &user.expand(&entry.value, worktree))?;
        }
        return Ok(None);
    }
    if !is_data(&entry.key) {
        protect_existing(found, &user.expand(&entry.value, worktree))?;
        let words = entry.value.split(SEPARATORS).map(without_option);
        let words = words.filter(|word| is_path(word));
        for (at, word) in words.enumerate() {
            let path = user.expand(word, worktree);
            let names_a_path = ["./", "../", "~/", "/"]
                .iter()
                .any(|start| word.starts_with(start));
            if names_a_path || (at == 0 && word.contains('/')) {
                protect_or_reserve(found, &path)?;
            } else {
                protect_existing(found, &path)?;
            }
        }
    }
    Ok(None)
}

/// Whether the value of a key cannot name a program or a configuration.
fn is_data(key: &str) -> bool {
    DATA.iter().any(|data| key.starts_with(data))
        || (key.starts_with("remote.") && REMOTE_DATA.iter().any(|end| key.ends_with(end)))
}

/// The value that is joined to the letter of an option: `tools/ssh.conf` in `-Ftools/ssh.conf`.
fn without_option(word: &str) -> &str {
    let mut characters = word.chars();
    match (
        characters.next(),
        characters.next(),
        characters.clone().next(),
    ) {
        (Some('-'), Some(letter), Some(_)) if letter.is_ascii_alphanumeric() => characters.as_str(),
        _ => word,
    }
}

fn is_path(word: &str) -> bool {
    let is_value = [
        "true", "false", "yes", "no", "on", "off", "auto", "always", "never",
    ];
    !word.is_empty() && !word.starts_with('-') && !is_value.contains(&word)
}

/// Protects a file or folder of the workspace, or the place of a missing one.
fn protect_or_reserve(
    found: &mut ProtectedFinder<'_>,
    path: &Path,
) -> Result<(), ProtectionRefusal> {
    if found.is_inside(path) {
        found.reserve(path, Placeholder::EMPTY_FILE)?;
    }
    Ok(())
}

fn protect_existing(found: &mut ProtectedFinder<'_>, path: &Path) -> Result<(), ProtectionRefusal> {
    if found.is_inside(path) && path.is_file() {
        found.protect(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_not_searched_for_paths() {
        for key in ["user.name", "branch.main.merge", "remote.origin.url"] {
            assert!(is_data(key), "{key}");
        }
        for key in [
            "core.pager",
            "remote.origin.uploadpack",
            "alias.x",
            "filter.a.clean",
        ] {
            assert!(!is_data(key), "{key}");
        }
    }

    #[test]
    fn a_value_may_be_joined_to_an_option() {
        for (word, expected) in [
            ("-Ftools/ssh.conf", "tools/ssh.conf"),
            ("-F./x", "./x"),
            ("-c", "-c"),
            ("--version", "--version"),
            ("tools/x", "tools/x"),
            ("-", "-"),
            ("", ""),
        ] {
            assert_eq!(without_option(word), expected);
        }
    }

    #[test]
    fn options_and_settings_are_no_paths() {
        for word in ["", "-c", "--version", "true", "auto", "never"] {
            assert!(!is_path(word), "{word}");
        }
        for word in ["hooks", "./run", "truest"] {
            assert!(is_path(word), "{word}");
        }
    }
}
