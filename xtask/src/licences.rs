//! Licences and sources of every dependency, from cargo's metadata. cargo-deny checks the same by
//! `deny.toml`; this check needs nothing installed.

use cargo_metadata::{Metadata, MetadataCommand};

/// Licences we accept; an expression is accepted when one of its alternatives is made of these.
const ACCEPTED: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "CC0-1.0",
    "MIT-0",
    "Unlicense",
    "0BSD",
    "BSL-1.0",
    "CDLA-Permissive-2.0",
    "IJG",
];

/// Crates whose licence or source is not accepted.
pub(crate) fn check() -> Result<Vec<String>, String> {
    let metadata = MetadataCommand::new()
        .exec()
        .map_err(|e| format!("read the dependency tree: {e}"))?;
    Ok(judge(&metadata))
}

fn judge(metadata: &Metadata) -> Vec<String> {
    let outside = metadata
        .packages
        .iter()
        .filter(|package| !metadata.workspace_members.contains(&package.id));
    let mut findings = Vec::new();
    for package in outside {
        let id = format!("{} {}", package.name, package.version);
        match &package.license {
            Some(expression) if is_accepted(expression) => {}
            Some(expression) => {
                findings.push(format!("{id}: licence {expression} is not in the list of accepted licences (xtask/src/licences.rs)"))
            }
            None => findings.push(format!("{id}: declares no licence")),
        }
        if !package
            .source
            .as_ref()
            .is_some_and(|source| source.is_crates_io())
        {
            findings.push(format!("{id}: does not come from crates.io"));
        }
    }
    findings
}

/// Whether an SPDX expression can be satisfied from the list. `AND` binds tighter than `OR`.
fn is_accepted(expression: &str) -> bool {
    let plain = expression.replace(['(', ')'], " ").replace('/', " OR ");
    if expression.contains('(') && expression.contains(" AND ") {
        // A group beside an AND: every licence that is named must be fine.
        return plain
            .split(" OR ")
            .flat_map(|part| part.split(" AND "))
            .all(|one| accepts(one.trim()));
    }
    plain
        .split(" OR ")
        .any(|alternative| alternative.split(" AND ").all(|one| accepts(one.trim())))
}

fn accepts(licence: &str) -> bool {
    let words = licence.split_whitespace().collect::<Vec<_>>().join(" ");
    ACCEPTED.contains(&words.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dependency_is_licensed_as_we_accept() {
        assert_eq!(check(), Ok(Vec::new()));
    }

    #[test]
    fn refuses_copyleft_and_the_unknown() {
        assert!(!is_accepted("GPL-3.0-only"));
        assert!(!is_accepted("MIT AND GPL-3.0-only"));
        assert!(!is_accepted("LicenseRef-Mine"));
    }

    #[test]
    fn one_good_alternative_is_enough() {
        assert!(is_accepted("GPL-2.0-only OR MIT"));
        assert!(is_accepted("MIT/Apache-2.0"));
        assert!(is_accepted("(MIT OR Apache-2.0) AND Unicode-3.0"));
        assert!(!is_accepted("(MIT OR Apache-2.0) AND GPL-3.0-only"));
    }
}
