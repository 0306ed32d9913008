//! Measures each step of a call on this machine, compared with other tools.
//!
//! `make bench` prints the tables; arguments select some (`cargo bench --bench end_to_end -- texts`).
//! Benchmarks assert no limits, and tests measure no times.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a bench that cannot go on ends here, and prints"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "programs are started as a user starts them"
)]

mod accessibility;
mod browsers;
mod fixture;
mod full_runs;
mod history;
mod mcp;
mod memory;
mod page;
mod page_kinds;
mod peers;
mod processes;
mod recovery;
mod screen;
mod screenshots;
mod session_host;
mod shell;
mod table;
mod texts;

use fixture::BenchFixture;
use peers::Peers;

type Part = fn(&BenchFixture, &mut Peers);

/// The tables by the names that select them.
const PARTS: [(&str, Part); 17] = [
    ("commands", shell::commands),
    ("shells", |fixture, _| shell::starts(fixture)),
    ("gigabyte", |fixture, _| shell::gigabyte(fixture)),
    ("pictures", screenshots::screenshots),
    ("clicks", screen::clicks),
    ("pages", |fixture, _| page::pages(fixture)),
    ("kinds", |fixture, _| page_kinds::page_kinds(fixture)),
    ("browsers", |fixture, _| browsers::browsers(fixture)),
    ("killed", |fixture, _| recovery::killed(fixture)),
    ("accessibility", |fixture, _| accessibility::trees(fixture)),
    ("texts", texts::texts),
    ("history", history::conversions),
    ("cold", |fixture, _| full_runs::cold(fixture)),
    ("sessions", |fixture, _| full_runs::sessions(fixture)),
    ("host", |fixture, _| session_host::hop(fixture)),
    ("starts", |_, peers| full_runs::starts(peers)),
    ("memory", |fixture, peers| memory::idle(fixture, peers)),
];

fn main() {
    let chosen: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let names: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
    if let Some(unknown) = chosen.iter().find(|word| !names.contains(&word.as_str())) {
        eprintln!(
            "walk: unknown part {unknown:?}; expected one of {}",
            names.join(", ")
        );
        std::process::exit(2);
    }
    let fixture = BenchFixture::new();
    let mut peers = Peers::start(&fixture);
    for (name, part) in PARTS {
        if chosen.is_empty() || chosen.iter().any(|word| word == name) {
            part(&fixture, &mut peers);
        }
    }
}
