//! Writes docs/fidelity.md from the current behavior of the dialects.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a repository task that stops at the first error"
)]

#[path = "../tests/it/matrix/cell.rs"]
mod cell;
#[path = "../tests/it/matrix/common.rs"]
mod common;
#[path = "../tests/it/matrix/differences.rs"]
mod differences;
#[path = "../tests/it/matrix/envelopes.rs"]
mod envelopes;
#[path = "../tests/it/matrix/page.rs"]
mod page;

fn main() {
    let (raw, bare) = (
        cell::cells(cell::Raw::Retained),
        cell::cells(cell::Raw::Removed),
    );
    std::fs::write(page::file(), page::page(&raw, &bare)).unwrap();
    for cell in raw.iter().chain(&bare) {
        for unnamed in &cell.unnamed {
            println!("{} to {}: {unnamed}", cell.from, cell.to);
        }
    }
    println!("{} written", page::file().display());
}
