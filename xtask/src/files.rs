//! Rules for files: their length, their first line, and tests that never run.

use std::path::Path;

use crate::source::{SourceFile, read_files};

/// A longer file holds more than one idea.
const MAX_LINES: usize = 800;

/// Every Rust file below `root` that breaks a rule.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let files = read_files(root, &["rs"])?;
    let mut findings = Vec::new();
    for file in &files {
        findings.extend(judge(&file.path, &file.text));
        if file.path.ends_with("tests/it/main.rs") {
            let folder = file.path.parent().unwrap_or(root);
            findings.extend(undeclared_tests(folder, &file.text, &files));
        }
    }
    Ok(findings)
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

/// Files of `tests/it` that never run because its `main.rs`, with the text `main`, does not declare
/// them.
fn undeclared_tests(folder: &Path, main: &str, files: &[SourceFile]) -> Vec<String> {
    let undeclared = |file: &SourceFile| {
        let stem = file.path.file_stem()?.to_str()?;
        let is_module = file.path.parent() == Some(folder) && stem != "main";
        (is_module && !main.contains(&format!("mod {stem};")))
            .then(|| format!("{}: not declared in main.rs", file.path.display()))
    };
    files.iter().filter_map(undeclared).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

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
        let found = check(folder.path()).expect("files");
        let found: Vec<_> = found
            .iter()
            .filter(|text| text.contains("not declared"))
            .collect();
        assert_eq!(found.len(), 1, "{found:?}");
    }
}
