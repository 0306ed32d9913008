//! How long the steps of the walk take on this machine, beside other tools that do the same.
//!
//! `make bench` prints the tables; words choose parts of it (`cargo bench --bench walk -- texts`).
//! Nothing here judges; tests do not time.
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
mod peers;
mod processes;
mod recovery;
mod screen;
mod screenshots;
mod shell;
mod table;
mod texts;

use fixture::Stage;
use peers::Peers;

type Part = fn(&Stage, &mut Peers);

/// What is measured, each under the name by which it can be chosen.
const PARTS: [(&str, Part); 15] = [
    ("commands", shell::commands),
    ("shells", |stage, _| shell::starts(stage)),
    ("gigabyte", |stage, _| shell::gigabyte(stage)),
    ("pictures", screenshots::screenshots),
    ("clicks", screen::clicks),
    ("pages", |stage, _| page::pages(stage)),
    ("browsers", |stage, _| browsers::browsers(stage)),
    ("killed", |stage, _| recovery::killed(stage)),
    ("accessibility", |stage, _| accessibility::trees(stage)),
    ("texts", texts::texts),
    ("history", history::conversions),
    ("cold", |stage, _| full_runs::cold(stage)),
    ("sessions", |stage, _| full_runs::sessions(stage)),
    ("starts", |_, peers| full_runs::starts(peers)),
    ("memory", |stage, peers| memory::idle(stage, peers)),
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
    let stage = Stage::new();
    let mut peers = Peers::start(&stage);
    for (name, part) in PARTS {
        if chosen.is_empty() || chosen.iter().any(|word| word == name) {
            part(&stage, &mut peers);
        }
    }
}
