//! `exec` killed with -9 at random points of a running batch: nothing acknowledged is lost,
//! nothing is repeated, no process is left, and the recording verifies.

mod batch;
mod desktop;
pub(crate) mod draw;
mod reported;
mod strike;
mod victim;

use std::fmt::Write as _;

use telechir_testkit::gate::{Component, require};

use batch::{Batch, BatchState};
use draw::Draw;

/// Enough to reach each kind of point in every test run; `make soak` sets more.
const POINTS: usize = 10;

/// The points of a batch at which a kill can happen.
const KILL_POINTS: [&str; 6] = [
    "before the first intent",
    "within a command, before its effect",
    "within a command, after its effect",
    "between two commands",
    "after the last command, before the reply",
    "after the reply",
];

#[test]
fn a_kill_at_any_point_loses_nothing_and_repeats_nothing() {
    require(Component::Sandbox);
    let points = number("TELECHIR_KILL_POINTS").unwrap_or(POINTS as u64);
    let seed = number("TELECHIR_KILL_SEED").unwrap_or(20_261_120);
    let mut draw = Draw::new(seed);
    let mut counts = [0_usize; KILL_POINTS.len()];
    let (mut kills, mut slowest) = (0, 0);
    for point in 0..points {
        let batch = Batch::new(&mut draw);
        let first = batch.send_and_kill(&mut draw, None);
        report(seed, point, &first);
        counts[index(&first)] += 1;
        (kills, slowest) = (kills + 1, slowest.max(first.gone_after_ms));
        let mut before = first;
        if draw.below(2) == 0 {
            let second = batch.send_and_kill(&mut draw, Some(&before));
            report(seed, point, &second);
            (kills, slowest) = (kills + 1, slowest.max(second.gone_after_ms));
            before = second;
        }
        batch.send_to_the_end(&before);
    }
    print(&table(seed, &counts, kills, slowest));
}

/// The index of the point of a first kill, determined from the state after it.
fn index(seen: &BatchState) -> usize {
    let (intents, outcomes, effects) = (seen.intents.len(), seen.outcomes.len(), seen.lines.len());
    if seen.reply.is_some() {
        5
    } else if intents == 0 {
        0
    } else if intents > outcomes {
        1 + effects.saturating_sub(outcomes)
    } else if outcomes < batch::COMMANDS {
        3
    } else {
        4
    }
}

/// The number in an environment variable, which long runs set.
pub(crate) fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn report(seed: u64, point: u64, seen: &BatchState) {
    print(&format!(
        "seed {seed} point {point}: {}; {} intents, {} outcomes, {} effects; no process left after {} ms\n",
        KILL_POINTS[index(seen)],
        seen.intents.len(),
        seen.outcomes.len(),
        seen.lines.len(),
        seen.gone_after_ms,
    ));
}

fn table(seed: u64, counts: &[usize], kills: usize, slowest: u128) -> String {
    let mut text = format!("\n| first kill of a batch (seed {seed}) | points |\n|---|---|\n");
    for (name, count) in KILL_POINTS.iter().zip(counts) {
        let _never_fails = writeln!(text, "| {name} | {count} |");
    }
    let _never_fails = writeln!(
        text,
        "\n{kills} kills, including those of batches sent again. Lost: 0. Repeated: 0. Left over: 0; the last process was gone after at most {slowest} ms. All recordings verify."
    );
    text
}

#[expect(
    clippy::print_stdout,
    reason = "`make soak` shows the points and the table"
)]
fn print(text: &str) {
    print!("{text}");
}
