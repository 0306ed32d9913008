//! Translates the common history from every dialect to every other and back. It stays equal, or the
//! reports name every difference.

#[path = "matrix/cell.rs"]
mod cell;
#[path = "matrix/common.rs"]
pub(crate) mod common;
#[path = "matrix/differences.rs"]
mod differences;
#[path = "matrix/envelopes.rs"]
mod envelopes;
#[path = "matrix/page.rs"]
mod page;

use std::fs;

use cell::{Cell, cells};

fn unnamed(cells: &[Cell]) -> Vec<String> {
    let all = cells.iter().flat_map(|cell| {
        let unnamed = cell.unnamed.iter();
        unnamed.map(move |unnamed| format!("{} to {}: {unnamed}", cell.from, cell.to))
    });
    all.collect()
}

#[test]
fn every_difference_is_named_in_a_report() {
    let unnamed = unnamed(&cells(cell::Raw::Retained));
    assert!(unnamed.is_empty(), "{}", unnamed.join("\n"));
}

#[test]
fn every_difference_is_named_without_raw_json() {
    let unnamed = unnamed(&cells(cell::Raw::Removed));
    assert!(unnamed.is_empty(), "{}", unnamed.join("\n"));
}

#[test]
fn the_same_dialect_loses_nothing() {
    for cell in cells(cell::Raw::Retained)
        .iter()
        .filter(|cell| cell.from == cell.to)
    {
        assert!(cell.comes_back, "{}", cell.from);
        assert_eq!(cell.losses, [], "{}", cell.from);
    }
}

#[test]
fn the_fidelity_page_is_current() {
    let file = page::file();
    let written = fs::read_to_string(&file).unwrap_or_default();
    let fresh = page::page(&cells(cell::Raw::Retained), &cells(cell::Raw::Removed));
    assert!(
        written == fresh,
        "{} is stale: run `cargo run -p telechir-providers --example fidelity` and review the changes",
        file.display()
    );
}

/// A rule that nothing can violate shows nothing.
#[test]
fn detects_an_unreported_loss() {
    let messages = common::common();
    let mut changed = messages.clone();
    let telechir_protocol::Content::ComputerCall(call) = &mut changed[3].contents[0] else {
        panic!("{:?}", changed[3])
    };
    call.actions.clear();
    let found = differences::differences(&messages, &changed);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].content, "computer_call call_click");
    assert!(!cell::is_named(&found[0], &[], &messages));
}
