//! One name for one thing: how many files of a crate, and how many files altogether, define a type
//! of the same name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::Item;

use crate::source::{SourceFile, read_files};

/// Files of one crate that may define types of one name.
const MAX_FILES_PER_CRATE: usize = 2;

/// Names that may be defined in more than one file of the workspace.
const MAX_SHARED_NAMES: usize = 60;

type Definitions = BTreeMap<String, BTreeSet<PathBuf>>;

/// Names that too many files define.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let files = read_files(root, &["rs"])?;
    let mut definitions = Definitions::new();
    for file in files.iter().filter(|file| file.is_production()) {
        for name in types_of(file)? {
            definitions
                .entry(name)
                .or_default()
                .insert(file.path.clone());
        }
    }
    Ok(findings_in(&definitions, MAX_SHARED_NAMES))
}

fn findings_in(definitions: &Definitions, max_shared: usize) -> Vec<String> {
    let mut findings = Vec::new();
    let mut shared = Vec::new();
    for (name, paths) in definitions {
        let mut by_crate: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
        for path in paths {
            let of_crate: PathBuf = path.iter().take(2).collect();
            by_crate
                .entry(of_crate)
                .or_default()
                .push(path.display().to_string());
        }
        for (of_crate, paths) in &by_crate {
            if paths.len() > MAX_FILES_PER_CRATE {
                findings.push(format!(
                    "{}: {} files define `{name}`; name each after what it is: {}",
                    of_crate.display(),
                    paths.len(),
                    paths.join(", ")
                ));
            }
        }
        if paths.len() > 1 {
            shared.push(name.as_str());
        }
    }
    if shared.len() > max_shared {
        findings.push(format!(
            "{} type names are defined in more than one file, at most {max_shared} may be: {}",
            shared.len(),
            shared.join(", ")
        ));
    }
    findings
}

fn types_of(file: &SourceFile) -> Result<Vec<String>, String> {
    let parsed =
        syn::parse_file(&file.text).map_err(|e| format!("read {}: {e}", file.path.display()))?;
    let mut names = Vec::new();
    collect(&parsed.items, &mut names);
    Ok(names)
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "items of a later Rust have no name that we know"
)]
fn collect(items: &[Item], names: &mut Vec<String>) {
    for item in items {
        match item {
            Item::Struct(item) => names.push(item.ident.to_string()),
            Item::Enum(item) => names.push(item.ident.to_string()),
            Item::Union(item) => names.push(item.ident.to_string()),
            Item::Trait(item) => names.push(item.ident.to_string()),
            Item::Type(item) => names.push(item.ident.to_string()),
            Item::Mod(item) if item.ident != "tests" => {
                let inner = item.content.as_ref().map(|(_, items)| items.as_slice());
                collect(inner.unwrap_or_default(), names);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defined(pairs: &[(&str, &str)]) -> Definitions {
        let mut definitions = Definitions::new();
        for (name, path) in pairs {
            definitions
                .entry((*name).to_owned())
                .or_default()
                .insert(path.into());
        }
        definitions
    }

    #[test]
    fn finds_every_type_outside_of_tests() {
        let text = "struct A; enum B {} trait C { type D; } type E = u8; mod m { struct F; } \
                    impl C for A { type D = u8; } mod tests { struct G; }";
        let file = SourceFile {
            path: "crates/a/src/lib.rs".into(),
            text: text.to_owned(),
        };
        assert_eq!(types_of(&file).expect("items"), ["A", "B", "C", "E", "F"]);
    }

    #[test]
    fn a_name_in_three_files_of_a_crate_is_found() {
        let three = [
            ("A", "crates/a/src/x.rs"),
            ("A", "crates/a/src/y.rs"),
            ("A", "crates/a/src/z.rs"),
        ];
        assert_eq!(
            findings_in(&defined(&three), 60),
            ["crates/a: 3 files define `A`; name each after what it is: \
              crates/a/src/x.rs, crates/a/src/y.rs, crates/a/src/z.rs"]
        );
        assert_eq!(findings_in(&defined(&three[..2]), 60), Vec::<String>::new());
    }

    #[test]
    fn too_many_names_of_several_files_are_found() {
        let shared = defined(&[("A", "crates/a/src/x.rs"), ("A", "crates/b/src/x.rs")]);
        assert_eq!(
            findings_in(&shared, 0),
            ["1 type names are defined in more than one file, at most 0 may be: A"]
        );
    }
}
