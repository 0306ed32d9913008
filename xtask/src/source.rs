//! The files that the checks read, and how an identifier splits into words.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders that git ignores, and its own.
const LEFT_OUT: &[&str] = &["target", "demo-report", ".git"];

/// A file of the repository.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// The path from the root of the workspace.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

impl SourceFile {
    pub(crate) fn has_extension(&self, extensions: &[&str]) -> bool {
        let extension = self.path.extension().and_then(|ending| ending.to_str());
        extension.is_some_and(|extension| extensions.contains(&extension))
    }

    /// The folder below `crates/`, or `xtask`.
    pub(crate) fn crate_name(&self) -> Option<&str> {
        let mut parts = self.path.iter().filter_map(|part| part.to_str());
        match parts.next()? {
            "crates" => parts.next(),
            "xtask" => Some("xtask"),
            _ => None,
        }
    }

    /// Whether this is code of a crate that is not only there for its tests.
    pub(crate) fn is_production(&self) -> bool {
        let is_test = |part: &str| matches!(part, "tests" | "benches" | "examples" | "tests.rs");
        let mut parts = self.path.iter().filter_map(|part| part.to_str());
        self.crate_name().is_some() && !parts.any(is_test)
    }
}

/// All files below `root` with one of these extensions, in the order of their paths.
pub(crate) fn read_files(root: &Path, extensions: &[&str]) -> Result<Vec<SourceFile>, String> {
    let mut files = Vec::new();
    visit(root, root, extensions, &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn visit(
    root: &Path,
    folder: &Path,
    extensions: &[&str],
    files: &mut Vec<SourceFile>,
) -> Result<(), String> {
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |error| format!("read {path}: {error}")
    };
    for entry in fs::read_dir(folder).map_err(failed(folder))? {
        let path = entry.map_err(failed(folder))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if name.is_some_and(|name| LEFT_OUT.contains(&name)) {
            continue;
        }
        if path.is_dir() {
            visit(root, &path, extensions, files)?;
            continue;
        }
        let relative = path.strip_prefix(root).unwrap_or(&path).to_owned();
        let mut file = SourceFile {
            path: relative,
            text: String::new(),
        };
        if file.has_extension(extensions) {
            file.text = fs::read_to_string(&path).map_err(failed(&path))?;
            files.push(file);
        }
    }
    Ok(())
}

/// The words of an identifier in lower case: `HTTPServer_name2` is `http`, `server`, `name`.
pub(crate) fn words(identifier: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let characters: Vec<char> = identifier.chars().collect();
    let mut is_new = true;
    for (at, character) in characters.iter().enumerate() {
        if !character.is_alphabetic() {
            is_new = true;
            continue;
        }
        let was_lower = at > 0 && characters[at - 1].is_lowercase();
        let is_last_capital = at > 0
            && characters[at - 1].is_uppercase()
            && characters
                .get(at + 1)
                .is_some_and(|next| next.is_lowercase())
            && !is_plural(&characters[at + 1..]);
        is_new |= character.is_uppercase() && (was_lower || is_last_capital);
        if is_new {
            words.push(String::new());
            is_new = false;
        }
        if let Some(word) = words.last_mut() {
            word.extend(character.to_lowercase());
        }
    }
    words
}

/// Whether this is the end of a plural of capitals, such as `PNGs`.
fn is_plural(rest: &[char]) -> bool {
    rest.first() == Some(&'s') && rest.get(1).is_none_or(|next| !next.is_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_identifiers_at_capitals_digits_and_underscores() {
        assert_eq!(words("HTTPServer_name2"), ["http", "server", "name"]);
        assert_eq!(words("MAX_TABS"), ["max", "tabs"]);
        assert_eq!(words("told"), ["told"]);
        assert_eq!(words("maxPNGs"), ["max", "pngs"]);
        assert!(words("_").is_empty());
    }

    #[test]
    fn tests_and_benches_are_not_production_code() {
        let file = |path: &str| SourceFile {
            path: path.into(),
            text: String::new(),
        };
        assert!(file("crates/a/src/lib.rs").is_production());
        assert!(!file("crates/a/tests/it/main.rs").is_production());
        assert!(!file("crates/a/src/cgroup/tests.rs").is_production());
        assert!(!file("fuzz/src/lib.rs").is_production());
    }
}
