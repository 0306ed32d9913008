//! Rules for files: their length, their first line, and tests that never run.

use std::fs;
use std::path::{Path, PathBuf};

/// A longer file holds more than one idea.
const MAX_LINES: usize = 800;

/// Every file below `root` that breaks a rule.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let mut findings = Vec::new();
    for folder in [
        "crates",
        "xtask",
        "fuzz/src",
        "fuzz/fuzz_targets",
        "fuzz/examples",
    ] {
        visit(&root.join(folder), &mut findings)?;
    }
    Ok(findings)
}

fn visit(folder: &Path, findings: &mut Vec<String>) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("read {}: {e}", folder.display()))?;
    for entry in entries {
        let path = entry
            .map_err(|e| format!("read {}: {e}", folder.display()))?
            .path();
        if path.is_dir() {
            visit(&path, findings)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text =
                fs::read_to_string(&path).map_err(|e| format!("read {}: {e}", path.display()))?;
            findings.extend(judge(&path, &text));
        }
    }
    findings.extend(undeclared_tests(folder));
    Ok(())
}

fn judge(path: &Path, text: &str) -> Vec<String> {
    let name = path.display();
    let mut findings = Vec::new();
    if path.file_name().is_some_and(|file| file == "mod.rs") {
        findings.push(format!("{name}: use foo.rs beside foo/ instead of mod.rs"));
    }
    let lines = text.lines().count();
    if lines > MAX_LINES {
        findings.push(format!(
            "{name}: {lines} lines; split it by type or state (at most {MAX_LINES})"
        ));
    }
    if !text.starts_with("//!") {
        findings.push(format!(
            "{name}: the first line must be a `//!` sentence that says what the file is for"
        ));
    }
    let ignored = ["#[", "ignore"].concat();
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with(&ignored) {
            findings.push(format!(
                "{name}:{}: tests must not be ignored; fix the test or delete it",
                number + 1
            ));
        }
    }
    findings
}

/// Files of `tests/it` that never run because `main.rs` does not declare them.
fn undeclared_tests(folder: &Path) -> Vec<String> {
    let main = folder.join("main.rs");
    let is_test_binary = folder.ends_with("tests/it") && main.exists();
    if !is_test_binary {
        return Vec::new();
    }
    let text = fs::read_to_string(&main).unwrap_or_default();
    let files = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let undeclared = |path: &PathBuf| {
        let stem = path
            .file_stem()
            .map(|s| s.to_string_lossy().into_owned())
            .unwrap_or_default();
        let is_module = path.extension().is_some_and(|ending| ending == "rs") && stem != "main";
        (is_module && !text.contains(&format!("mod {stem};")))
            .then(|| format!("{}: not declared in main.rs", path.display()))
    };
    files.filter_map(|path| undeclared(&path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_workspace_is_tidy() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert_eq!(check(&root), Ok(Vec::new()));
    }

    #[test]
    fn a_long_file_is_found() {
        let text = "//! Long.\n".repeat(MAX_LINES + 1);
        let found = judge(Path::new("a.rs"), &text);
        assert_eq!(
            found,
            ["a.rs: 801 lines; split it by type or state (at most 800)"]
        );
    }

    #[test]
    fn a_file_without_a_purpose_is_found() {
        let found = judge(Path::new("a.rs"), "fn main() {}\n");
        assert_eq!(
            found,
            ["a.rs: the first line must be a `//!` sentence that says what the file is for"]
        );
    }

    #[test]
    fn mod_rs_and_ignored_tests_are_found() {
        let text = ["//! Purpose.\n#[", "ignore]\n"].concat();
        let found = judge(Path::new("x/mod.rs"), &text);
        assert_eq!(found.len(), 2, "{found:?}");
    }

    #[test]
    fn a_forgotten_test_file_is_found() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let it = folder.path().join("tests/it");
        fs::create_dir_all(&it).expect("folders");
        fs::write(it.join("main.rs"), "mod known;").expect("a file");
        fs::write(it.join("known.rs"), "").expect("a file");
        fs::write(it.join("lost.rs"), "").expect("a file");
        let found = undeclared_tests(&it);
        assert_eq!(found.len(), 1, "{found:?}");
    }
}
