//! Which folders of `telechir-providers` may use which: dialects stand between the code that they
//! share and the code that uses all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::module_graph::ModuleGraph;
use crate::source::{SourceFile, read_files};

const CRATE: &str = "telechir-providers";

/// The dialects, each with the others that it builds on.
const DIALECTS: &[(&str, &[&str])] = &[
    ("agent_framework", &["openai"]),
    ("anthropic", &[]),
    ("bedrock", &["anthropic"]),
    ("chat", &[]),
    ("google", &[]),
    ("mistral", &["chat"]),
    ("neutral", &[]),
    ("openai", &[]),
];

/// Code that uses all dialects. No dialect may use it.
const ABOVE: &[&str] = &[
    "capabilities",
    "conform",
    "conversation",
    "dialect",
    "envelope",
    "misrouted",
    "stream",
    "survival",
    "unwritten_values",
];

/// Code that the dialects share, in a folder of [`ABOVE`].
const SHARED: &[&str] = &["stream/decoder.rs", "stream/events.rs", "stream/sse.rs"];

/// Uses from shared code to a dialect, or from a dialect to another or to what uses all.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let files: Vec<SourceFile> = read_files(root, &["rs"])?
        .into_iter()
        .filter(|file| file.is_production() && file.crate_name() == Some(CRATE))
        .collect();
    Ok(findings_in(&ModuleGraph::new(&files)?.edges()))
}

fn findings_in(edges: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let uses = edges
        .iter()
        .flat_map(|(file, used)| used.iter().map(move |used| (file, used)));
    uses.filter(|(file, used)| !may_use(file, used))
        .map(|(file, used)| {
            format!(
                "{CRATE}: {file} uses {used}; move what it needs to the code that dialects share"
            )
        })
        .collect()
}

fn may_use(file: &str, used: &str) -> bool {
    let (from, to) = (folder(file), folder(used));
    let is_dialect = |name: &str| DIALECTS.iter().any(|(dialect, _)| *dialect == name);
    let is_above = |name: &str, file: &str| ABOVE.contains(&name) && !SHARED.contains(&file);
    if from == to || from == "lib" || is_above(from, file) {
        return true;
    }
    if is_above(to, used) {
        return false;
    }
    match DIALECTS.iter().find(|(dialect, _)| *dialect == from) {
        Some((_, others)) => !is_dialect(to) || others.contains(&to),
        None => !is_dialect(to),
    }
}

/// The first folder of a file, or its own name.
fn folder(file: &str) -> &str {
    let first = file.split('/').next().unwrap_or(file);
    first.trim_end_matches(".rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_uses_downwards_are_allowed() {
        let allowed = [
            ("dialect.rs", "google/codec.rs"),
            ("envelope/tools.rs", "bedrock.rs"),
            ("bedrock/converse/encode.rs", "anthropic/codec.rs"),
            ("google/stream.rs", "stream/decoder.rs"),
            ("google/stream.rs", "json.rs"),
        ];
        for (file, used) in allowed {
            assert!(may_use(file, used), "{file} → {used}");
        }
        let refused = [
            ("json.rs", "openai/item.rs"),
            ("anthropic/encode.rs", "bedrock.rs"),
            ("google/media.rs", "anthropic/image.rs"),
            ("google.rs", "dialect.rs"),
            ("stream/decoder.rs", "openai.rs"),
            ("openai/stream.rs", "stream.rs"),
        ];
        for (file, used) in refused {
            assert!(!may_use(file, used), "{file} → {used}");
        }
    }
}
