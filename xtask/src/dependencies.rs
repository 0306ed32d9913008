//! Dependencies that no code names.

use std::path::PathBuf;

use cargo_metadata::{MetadataCommand, Package};

use crate::source::{SourceFile, read_files};

/// Dependencies of our crates that none of their files name, and entries of
/// `[workspace.dependencies]` that no crate uses.
pub(crate) fn check() -> Result<Vec<String>, String> {
    let metadata = MetadataCommand::new()
        .exec()
        .map_err(|e| format!("run cargo metadata: {e}"))?;
    let root = PathBuf::from(metadata.workspace_root.as_std_path());
    let mut findings = Vec::new();
    let mut used_by_crates = Vec::new();
    for package in metadata.workspace_packages() {
        let folder = package
            .manifest_path
            .parent()
            .map(|path| path.as_std_path());
        let files = read_files(folder.unwrap_or(&root), &["rs"])?;
        let used = |name: &str| files.iter().any(|file| names(file, name));
        findings.extend(unused(package, used));
        let dependencies = package.dependencies.iter();
        used_by_crates.extend(dependencies.map(|dependency| dependency.name.clone()));
    }
    let manifest = std::fs::read_to_string(root.join("Cargo.toml"))
        .map_err(|e| format!("read the workspace's Cargo.toml: {e}"))?;
    findings.extend(unused_entries(&manifest, &used_by_crates));
    Ok(findings)
}

fn unused(package: &Package, used: impl Fn(&str) -> bool) -> Vec<String> {
    let finding = |dependency: &cargo_metadata::Dependency| {
        let name = dependency.rename.as_ref().unwrap_or(&dependency.name);
        (!used(&name.replace('-', "_"))).then(|| {
            format!(
                "{}: no file of the crate names its dependency `{name}`; remove it",
                package.name
            )
        })
    };
    package.dependencies.iter().filter_map(finding).collect()
}

/// Whether a file's code, or an example in its documentation, names a crate.
fn names(file: &SourceFile, name: &str) -> bool {
    let lines = file.text.lines().map(str::trim_start);
    lines
        .filter(|line| {
            !line.starts_with("//") || line.starts_with("///") || line.starts_with("//!")
        })
        .any(|line| names_in_line(line, name))
}

fn names_in_line(line: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(name).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + name.len()..]);
        // `crate::url::` is a module of ours; `::url::` is a crate.
        let of_path = before
            .strip_suffix("::")
            .is_some_and(|path| path.ends_with(is_part));
        let starts = !before.ends_with(is_part) && !of_path;
        let is_import = before.ends_with("use ") || before.ends_with("extern crate ");
        starts && (after.starts_with("::") || (is_import && !after.starts_with(is_part)))
    })
}

/// Entries of `[workspace.dependencies]` that no crate uses.
fn unused_entries(manifest: &str, used: &[String]) -> Vec<String> {
    let lines = manifest.lines().map(str::trim);
    let entries = lines
        .skip_while(|line| *line != "[workspace.dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('='));
    entries
        .map(|(name, _)| name.trim())
        .filter(|name| !used.iter().any(|one| one == name))
        .map(|name| format!("Cargo.toml: no crate uses `{name}`; remove it"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> SourceFile {
        SourceFile {
            path: "src/lib.rs".into(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_path_an_import_and_an_example_name_a_crate() {
        for text in [
            "fn f() { base64::encode(); }",
            "use base64;",
            "use ::base64::encode;",
            "/// ```\n/// base64::encode();",
        ] {
            assert!(names(&file(text), "base64"), "{text}");
        }
    }

    #[test]
    fn a_mention_is_no_use() {
        for text in [
            "// base64 is fast",
            "// as base64::encode does",
            "use crate::base64::encode;",
            "let my_base64 = 1;",
            "fn base64_of() {}",
            "use base64_simd;",
        ] {
            assert!(!names(&file(text), "base64"), "{text}");
        }
    }

    #[test]
    fn an_entry_that_no_crate_uses_is_found() {
        let manifest = "[workspace.dependencies]\n# used\na = \"1\"\nb = { version = \"1\" }\n\n[profile]\nc = 1";
        let found = unused_entries(manifest, &["a".to_owned()]);
        assert_eq!(found, ["Cargo.toml: no crate uses `b`; remove it"]);
    }
}
