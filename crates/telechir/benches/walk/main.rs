//! How long the steps of the walk take on this machine, beside other tools that do the same.
//!
//! `make bench` prints the tables. Nothing here judges; tests do not time.
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
mod history;
mod memory;
mod page;
mod peers;
mod pictures;
mod screen;
mod shell;
mod stage;
mod table;
mod texts;
mod whole;

use peers::Peers;
use stage::Stage;

fn main() {
    let stage = Stage::new();
    let mut peers = Peers::start(&stage);
    pictures::pictures(&stage, &mut peers);
    screen::clicks(&stage, &mut peers);
    page::pages(&stage);
    accessibility::trees(&stage);
    texts::texts(&stage, &mut peers);
    shell::commands(&stage, &mut peers);
    shell::starts(&stage);
    shell::gigabyte(&stage);
    history::conversions(&stage, &mut peers);
    whole::cold(&stage);
    whole::sessions(&stage);
    whole::starts(&mut peers);
    memory::idle(&stage, &peers);
}
