//! What the neutral values alone, without the provider's own JSON, cannot give back.

use std::fs;
use std::path::Path;

use telechir_providers::conform::Manifest;

/// Documents that differ then, each with its reason.
const DIFFERENT: &[(&str, &str)] = &[
    ("response__all_actions.json", CANONICAL),
    ("response__all_browser_actions.json", CANONICAL),
    ("response__idle_members.json", CANONICAL),
    ("response__shell_actions.json", CANONICAL),
    (
        "response__object_arguments.json",
        "arguments are a text, as the interface wants them",
    ),
    (
        "response__malformed_arguments.json",
        "a call that is not understood has no arguments",
    ),
    (
        "response__unnamed_call.json",
        "a call that is not understood has no name",
    ),
    (
        "response__no_ids.json",
        "no id, an empty one and the word null are all no id",
    ),
    ("response__text.json", "a member that is null is none"),
];

const CANONICAL: &str = "a call that is understood is written with the members it has, each once";

#[test]
fn only_what_is_in_the_table_needs_the_services_own_json() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/functions");
    let manifest = fs::read(folder.join("manifest.json")).unwrap();
    let manifest = Manifest::read(&manifest, None).unwrap();
    let whole = |kind: &str| matches!(kind, "request" | "response" | "history" | "answers");
    let mut met = Vec::new();
    for vector in manifest.vectors.iter().filter(|vector| whole(&vector.kind)) {
        let row = vector.check(&fs::read(folder.join(&vector.file)).unwrap());
        if row.bare == Some(false) {
            met.push(vector.file.clone());
        }
    }
    let mut expected: Vec<&str> = DIFFERENT.iter().map(|(file, _)| *file).collect();
    expected.sort_unstable();
    met.sort_unstable();
    assert_eq!(met, expected);
}
