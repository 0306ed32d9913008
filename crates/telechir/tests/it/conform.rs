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

const EXCHANGE: &str = r#"
interactions:
- request:
    body: '{"model": "claude-x", "max_tokens": 9, "messages": [{"role": "user", "content": "Open the quarterly report."}]}'
  response:
    body:
      string: '{"error": {"message": "overloaded"}}'
"#;

#[test]
fn unknown_files_are_searched_for_documents_of_providers() {
    let telechir = Telechir::new();
    let folder = telechir.folder().join("wild");
    fs::create_dir_all(folder.join("deeper")).expect("a folder");
    fs::write(folder.join("deeper/exchange.yaml"), EXCHANGE).expect("a cassette");
    fs::write(
        folder.join("notes.md"),
        "Nothing of a provider, but long enough.",
    )
    .expect("a text");
    fs::write(folder.join("package.json"), r#"{"name": "package"}"#).expect("a package");
    let folder = folder.to_string_lossy().into_owned();
    let run = telechir.run(&["conform", "--wild", &folder, "--json"], "");
    let summary: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(summary["files"], 3);
    assert_eq!(summary["documents"], 2);
    assert_eq!(summary["provider_errors"], 1);
    assert_eq!(summary["sources"]["anthropic-messages"]["identical"], 1);
    assert_eq!(summary["pairs"].as_array().map(Vec::len), Some(13));
    assert_eq!(summary["not_recognized"].as_array().map(Vec::len), Some(2));
    let found = summary["findings"].as_array().expect("a list");
    assert_eq!(run.code, Some(i32::from(!found.is_empty())), "{found:?}");
    let is_message = |finding: &serde_json::Value| finding["pointer"] == "/messages/0/content";
    assert!(!found.iter().any(is_message), "{found:?}");
}

#[test]
fn a_folder_without_documents_of_providers_fails() {
    let telechir = Telechir::new();
    let folder = telechir.folder().to_string_lossy().into_owned();
    fs::write(telechir.folder().join("a.txt"), "nothing").expect("a text");
    let run = telechir.run(&["conform", "--wild", &folder], "");
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    assert!(
        run.stderr.contains("found no document of a provider"),
        "{}",
        run.stderr
    );
}

/// A request of Anthropic's with a call and its result.
const REQUEST: &str = r#"{"model": "claude-opus-5", "max_tokens": 9, "messages": [
    {"role": "user", "content": "How warm is the greenhouse?"},
    {"role": "assistant", "content": [
        {"type": "tool_use", "id": "toolu_1", "name": "read_thermometer", "input": {"room": 4}}]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "It has 31 degrees."}]}]}"#;

#[test]
fn the_types_of_the_sdks_validate_translations_if_they_are_installed() {
    let telechir = Telechir::new();
    let folder = telechir.folder().join("wild");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("request.json"), REQUEST).expect("a request");
    let folder = folder.to_string_lossy().into_owned();
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let installed = project.join("../../target/sdk");
    let installed = installed.to_string_lossy().into_owned();
    assert!(
        Path::new(&installed).join("check/check.py").exists(),
        "the SDKs are not installed: run scripts/sdk.sh, as `make test` does"
    );
    let run = telechir.run(
        &["conform", "--wild", &folder, "--json", "--sdk", &installed],
        "",
    );
    let summary: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(summary["sdk_types"], "installed");
    assert_eq!(summary["findings"], serde_json::json!([]));
    assert_eq!(run.code, Some(0));
    let nowhere = telechir.folder().join("nowhere");
    let nowhere = nowhere.to_string_lossy().into_owned();
    let run = telechir.run(&["conform", "--wild", &folder, "--sdk", &nowhere], "");
    assert!(run.stdout.contains("missing"), "{}", run.stdout);
    assert_eq!(run.code, Some(0), "{}", run.stdout);
}
