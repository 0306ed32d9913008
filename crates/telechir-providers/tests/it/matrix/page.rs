//! Renders the matrix as docs/fidelity.md.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use telechir_providers::{Dialect, Loss};

use super::cell::Cell;
use super::envelopes::{self, EnvelopeCell, EnvelopeKind};

/// The path of the page.
pub(crate) fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/fidelity.md")
}

const HEAD: &str = "\
# Fidelity

<!-- Written by `cargo run -p telechir-providers --example fidelity`; a test fails when it is stale. -->

One history is translated from every dialect to every other and back. It contains a screenshot, a click with a modifier, a drag along a path, a zoom, a batch of actions, a shell call with three commands (one fails, one times out), a failed call, a denied call and a call with an acknowledged safety check. Rows are the source dialect, columns the target.

";

const KEY: &str = "
- `=`: the document survives the round trip unchanged, and nothing was expressed differently on the way.
- `= n`: the document survives the round trip unchanged; on the way, n things were expressed differently.
- `n`: after the round trip, n fields have a different meaning; `0` means that only the JSON differs. The reports name every difference; a test fails if they miss one.

Provider bookkeeping (item ids and statuses) is generated where a dialect requires it and does not count as a difference.

";

const BARE: &str = "\
## Without the provider's JSON

The same translation, with every `raw_representation` removed before each step. It shows what the neutral values carry on their own.

";

const LOSSES: &str = "
## Losses by target dialect

The parts of this history that each target dialect cannot represent, from any source. Dialects with the same losses share a table.
";

const ENVELOPES: &str = "
## Requests and responses

`translate --envelope` translates what is around the messages, too. One request and one response of each dialect are translated to every other: instructions, tools, a tool choice, sampling, an output format and reasoning; a finish reason, usage and the model. The documents are in `crates/telechir-providers/tests/it/envelope`. A cell is the number of members that have no counterpart or are expressed differently; `=` is none. The tables below name each; `from` is the source dialect. Neutral documents have no settings: from and to them, only the messages are translated.
";

/// The page.
pub(crate) fn page(raw: &[Cell], bare: &[Cell]) -> String {
    let mut page = HEAD.to_owned();
    page.push_str(&table(raw));
    page.push_str(KEY);
    page.push_str(BARE);
    page.push_str(&table(bare));
    page.push_str(LOSSES);
    for (dialects, losses) in losses_by_dialect(raw) {
        let names: Vec<_> = dialects.iter().map(Dialect::to_string).collect();
        let _infallible = write!(page, "\n### {}\n\n{losses}", names.join(", "));
    }
    page.push_str(ENVELOPES);
    for (title, kind) in [
        ("Requests", EnvelopeKind::Request),
        ("Responses", EnvelopeKind::Response),
    ] {
        let cells = envelopes::cells(kind);
        let _infallible = write!(page, "\n### {title}\n\n{}", envelope_table(&cells));
        for (dialects, losses) in envelope_losses_by_dialect(&cells) {
            let names: Vec<_> = dialects.iter().map(Dialect::to_string).collect();
            let _infallible = write!(page, "\n#### {title} to {}\n\n{losses}", names.join(", "));
        }
    }
    page
}

fn envelope_table(cells: &[EnvelopeCell]) -> String {
    let symbol = |from: Dialect, to: Dialect| {
        let cell = cells.iter().find(|cell| cell.from == from && cell.to == to);
        cell.map(|cell| match cell.losses.len() {
            0 => "=".to_owned(),
            losses => losses.to_string(),
        })
    };
    table_of(symbol)
}

fn envelope_losses_by_dialect(cells: &[EnvelopeCell]) -> Vec<(Vec<Dialect>, String)> {
    let mut groups: Vec<(Vec<Dialect>, String)> = Vec::new();
    for to in Dialect::ALL {
        let losses = envelope_losses(to, cells);
        match groups.iter_mut().find(|(_, other)| *other == losses) {
            Some((dialects, _)) => dialects.push(to),
            None => groups.push((vec![to], losses)),
        }
    }
    groups
}

/// The table of what a dialect cannot represent, with the dialects that lose it.
fn envelope_losses(to: Dialect, cells: &[EnvelopeCell]) -> String {
    let mut rows: BTreeMap<(String, &str, String), Vec<Dialect>> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.to == to) {
        for loss in &cell.losses {
            let preserved = loss.preserved_as.as_deref();
            let preserved = preserved.map_or_else(|| "no".to_owned(), without_ids);
            let row = (without_ids(&loss.what), loss.why.as_str(), preserved);
            let from = rows.entry(row).or_default();
            if !from.contains(&cell.from) {
                from.push(cell.from);
            }
        }
    }
    if rows.is_empty() {
        return "None.\n".to_owned();
    }
    let mut text = "| what | why | kept | from |\n|---|---|---|---|\n".to_owned();
    for ((what, why, preserved), from) in rows {
        let from: Vec<_> = from.iter().map(Dialect::to_string).collect();
        let _infallible = writeln!(
            text,
            "| {} | {} | {} | {} |",
            escape(&what),
            escape(why),
            escape(&preserved),
            from.join(", ")
        );
    }
    text
}

/// Dialects that lose the same, and the table of their losses.
fn losses_by_dialect(cells: &[Cell]) -> Vec<(Vec<Dialect>, String)> {
    let mut groups: Vec<(Vec<Dialect>, String)> = Vec::new();
    for to in Dialect::ALL {
        let losses = losses(to, cells);
        match groups.iter_mut().find(|(_, other)| *other == losses) {
            Some((dialects, _)) => dialects.push(to),
            None => groups.push((vec![to], losses)),
        }
    }
    groups
}

fn table(cells: &[Cell]) -> String {
    let symbol = |from: Dialect, to: Dialect| {
        let cell = cells.iter().find(|cell| cell.from == from && cell.to == to);
        cell.map(symbol)
    };
    table_of(symbol)
}

/// A table of all pairs; a source without cells has no row.
fn table_of(symbol: impl Fn(Dialect, Dialect) -> Option<String>) -> String {
    let mut text = "| from \\ to |".to_owned();
    for to in Dialect::ALL {
        let _infallible = write!(text, " {to} |");
    }
    text.push_str("\n|---|");
    text.push_str(&"---|".repeat(Dialect::ALL.len()));
    for from in Dialect::ALL {
        let cells = Dialect::ALL.into_iter().filter_map(|to| symbol(from, to));
        let cells: Vec<String> = cells.collect();
        if !cells.is_empty() {
            let _infallible = write!(text, "\n| {from} | {} |", cells.join(" | "));
        }
    }
    text.push('\n');
    text
}

fn symbol(cell: &Cell) -> String {
    match (cell.comes_back, cell.losses.len()) {
        (true, 0) => "=".to_owned(),
        (true, losses) => format!("= {losses}"),
        (false, _) if cell.back.is_empty() => "0".to_owned(),
        (false, _) => cell.back.len().to_string(),
    }
}

/// The table of what a dialect cannot represent, one row per loss.
fn losses(to: Dialect, cells: &[Cell]) -> String {
    let losses = cells
        .iter()
        .filter(|cell| cell.to == to)
        .flat_map(|cell| &cell.losses);
    let mut rows: BTreeMap<(String, &str), &Loss> = BTreeMap::new();
    for loss in losses {
        rows.entry((without_ids(&loss.what), &loss.why))
            .or_insert(loss);
    }
    if rows.is_empty() {
        return "None.\n".to_owned();
    }
    let mut text = "| what | why | kept |\n|---|---|---|\n".to_owned();
    for ((what, why), loss) in rows {
        let preserved = loss
            .preserved_as
            .as_deref()
            .map_or_else(|| "no".to_owned(), without_ids);
        let _infallible = writeln!(
            text,
            "| {} | {} | {} |",
            escape(&what),
            escape(why),
            escape(&preserved)
        );
    }
    text
}

/// Replaces the ids of this history by `…`, so that equal losses share a row.
fn without_ids(text: &str) -> String {
    let words = text.split(' ').map(|word| {
        let is_id = ["call_", "cu_", "sc_", "sh_"]
            .iter()
            .any(|start| word.trim_start_matches('`').starts_with(start) && word != "call_id");
        if is_id { "…" } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn escape(text: &str) -> String {
    text.replace('|', "\\|")
}
