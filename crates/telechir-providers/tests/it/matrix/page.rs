//! The matrix as a page for people: docs/fidelity.md.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use telechir_providers::{Dialect, Loss};

use super::cell::Cell;

/// Where the page is.
pub(crate) fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/fidelity.md")
}

const HEAD: &str = "\
# Fidelity

<!-- Written by `cargo run -p telechir-providers --example fidelity`; a test fails when it is stale. -->

One history goes from every dialect to every other and back: a screenshot, a click with a modifier, a drag along a path, a zoom, a batch of actions, a shell call with three commands of which one fails and one takes too long, a call that failed, one that was denied, one with a safety check that a person acknowledged. A row is where it comes from, a column where it goes.

";

const KEY: &str = "
- `=` the document that comes back is the one that went, and nothing was said in another way.
- `= n` the document that comes back is the one that went; on the way, n things were said in another way.
- `n` as many members mean something else after coming back; each is named in the reports. A test fails for one that is not.

A provider's bookkeeping (names of items, how far a call was written) is made anew where it is wanted and does not count.

";

/// The whole page.
pub(crate) fn page(raw: &[Cell], bare: &[Cell]) -> String {
    let mut page = HEAD.to_owned();
    page.push_str(&table(raw));
    page.push_str(KEY);
    page.push_str(
        "## Without the provider's own JSON\n\nThe same, with every `raw_representation` removed before each step: what the neutral values alone carry.\n\n",
    );
    page.push_str(&table(bare));
    page.push_str("\n## What is said in another way\n\nFor each dialect, what of this history it cannot say as it was, whichever dialect it came from.\n");
    for to in Dialect::ALL {
        page.push_str(&said(to, raw));
    }
    page
}

fn table(cells: &[Cell]) -> String {
    let mut text = "| from \\ to |".to_owned();
    for to in Dialect::ALL {
        let _infallible = write!(text, " {to} |");
    }
    text.push_str("\n|---|");
    text.push_str(&"---|".repeat(Dialect::ALL.len()));
    for from in Dialect::ALL {
        let _infallible = write!(text, "\n| {from} |");
        for cell in cells.iter().filter(|cell| cell.from == from) {
            let _infallible = write!(text, " {} |", word(cell));
        }
    }
    text.push('\n');
    text
}

fn word(cell: &Cell) -> String {
    match (cell.comes_back, cell.losses.len()) {
        (true, 0) => "=".to_owned(),
        (true, losses) => format!("= {losses}"),
        (false, _) if cell.back.is_empty() => "0".to_owned(),
        (false, _) => cell.back.len().to_string(),
    }
}

/// What a dialect says in another way, each once.
fn said(to: Dialect, cells: &[Cell]) -> String {
    let losses = cells
        .iter()
        .filter(|cell| cell.to == to)
        .flat_map(|cell| &cell.losses);
    let mut rows: BTreeMap<(String, &str), &Loss> = BTreeMap::new();
    for loss in losses {
        rows.entry((plain(&loss.what), &loss.why)).or_insert(loss);
    }
    if rows.is_empty() {
        return format!("\n### {to}\n\nNothing.\n");
    }
    let mut text = format!("\n### {to}\n\n| what | why | how it comes through |\n|---|---|---|\n");
    for ((what, why), loss) in rows {
        let kept = loss
            .kept
            .as_deref()
            .map_or_else(|| "not at all".to_owned(), plain);
        let _infallible = writeln!(text, "| {} | {} | {} |", cut(&what), cut(why), cut(&kept));
    }
    text
}

/// Without the ids of this history, so that one thing is one row.
fn plain(text: &str) -> String {
    let words = text.split(' ').map(|word| {
        let is_id = ["call_", "cu_", "sc_", "sh_"]
            .iter()
            .any(|start| word.trim_start_matches('`').starts_with(start) && word != "call_id");
        if is_id { "…" } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn cut(text: &str) -> String {
    text.replace('|', "\\|")
}
