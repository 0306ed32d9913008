//! `conform`: its table, JSON and exit code.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::telechir::Telechir;

fn vectors(folder: &str) -> String {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("crates");
    let path = crates.join("telechir-providers/tests/vectors").join(folder);
    path.to_str().expect("a UTF-8 path").to_owned()
}

/// Puts one document and its manifest into a folder.
fn write(folder: &Path, kind: &str, document: &str) {
    let manifest = json!({"dialect": "anthropic-messages", "files": [
        {"file": "a.json", "kind": kind, "expect": "valid", "about": "x"},
    ]});
    fs::write(folder.join("manifest.json"), manifest.to_string()).expect("a manifest");
    fs::write(folder.join("a.json"), document).expect("a document");
}

#[test]
fn a_conforming_folder_passes_and_prints_a_table() {
    let run = Telechir::new().run(&["conform", &vectors("anthropic")], "");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.starts_with("file "), "{}", run.stdout);
    assert!(run.stdout.contains(" cuts"), "{}", run.stdout);
    assert!(run.stdout.contains(", 0 failed"), "{}", run.stdout);
}

#[test]
fn an_invalid_document_fails_and_is_named() {
    for (name, kind, document) in [
        ("broken", "history", "{"),
        ("misspelled", "hystory", "[]"),
        ("other", "history", r#"{"no": "history"}"#),
    ] {
        let telechir = Telechir::new();
        write(telechir.folder(), kind, document);
        let folder = telechir.folder().to_string_lossy().into_owned();
        let run = telechir.run(&["conform", &folder], "");
        assert_eq!(run.code, Some(1), "{name}: {}", run.stdout);
        assert!(run.stdout.contains("1 failed"), "{name}: {}", run.stdout);
    }
}

#[test]
fn a_missing_document_counts_as_neither_failed_nor_passed() {
    let telechir = Telechir::new();
    write(telechir.folder(), "history", "[]");
    fs::remove_file(telechir.folder().join("a.json")).expect("the document exists");
    let folder = telechir.folder().to_string_lossy().into_owned();
    let run = telechir.run(&["conform", &folder], "");
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    let summary = "0 documents checked, 0 failed; 0 not checked; 1 named by the manifest";
    assert!(run.stdout.contains(summary), "{}", run.stdout);
    assert!(run.stdout.contains("in the manifest but not in the folder"));
}

#[test]
fn json_and_table_agree() {
    let run = Telechir::new().run(&["conform", &vectors("openai"), "--json"], "");
    let printed = run.json();
    assert_eq!(printed["failed"], 0);
    assert_eq!(printed["rows"][0]["identity"], "passed");
}

#[test]
fn a_missing_folder_is_named() {
    let run = Telechir::new().run(&["conform", "/nowhere/at/all"], "");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("/nowhere/at/all"), "{}", run.stderr);
}
