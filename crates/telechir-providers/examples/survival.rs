//! Writes the list of values that translations of the test vectors lose in silence.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a repository task that stops at the first error"
)]

#[path = "../tests/it/survival/known.rs"]
#[expect(dead_code, reason = "the tests compare the list")]
mod known;

use std::fs;

use telechir_providers::conform::check_document;

fn main() {
    let folders = known::FOLDERS.map(|folder| {
        let mut lost = known::Lost::default();
        for (_, dialect, kind, document) in known::vectors(folder) {
            lost.add(&check_document(dialect, kind, &document));
        }
        (folder, lost)
    });
    let mut recorded = known::Lost::default();
    let providers = ["anthropic", "bedrock", "google", "mistral", "openai"];
    for (_, document) in providers.into_iter().flat_map(known::recorded) {
        recorded.add(&check_document(
            document.dialect,
            document.kind,
            &document.json,
        ));
    }
    let mut sections = Vec::from(folders);
    sections.push(("recordings", recorded));
    let page = known::page(&sections);
    println!(
        "{} lines in {}",
        page.lines().count(),
        known::file().display()
    );
    fs::write(known::file(), page).unwrap();
}
