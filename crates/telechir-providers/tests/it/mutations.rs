//! Damaged documents and streams: no decoder panics, exceeds its memory bound, or decodes its own
//! output differently.
//!
//! A few cases of each run with every test; the seeds are fixed.

mod change;
pub(crate) mod check;
mod framing;
mod neutral;
mod seeds;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use serde_json::Value;
use telechir_providers::Dialect;

use change::Dice;

pub(crate) use check::failed;

/// Number of cases for each dialect and kind.
const CASES: u64 = 100;

fn vectors() -> Vec<Vec<u8>> {
    seeds::files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors"))
}

/// The results for many damaged inputs.
#[derive(Default)]
struct Run {
    /// Number of inputs that were decoded nonetheless.
    read: u64,
    /// Failures, with the seed that reproduces them.
    wrong: Vec<String>,
}

fn run(
    name: &str,
    seeds: &[Vec<u8>],
    damage: impl Fn(&mut Vec<u8>, &mut Dice),
    check: impl Fn(&[u8], &mut Dice) -> bool,
) -> Run {
    assert!(!seeds.is_empty(), "no seeds for {name}");
    let mut run = Run::default();
    for seed in 0..CASES {
        let mut dice = Dice::new(seed);
        let mut bytes = seeds[dice.roll(seeds.len())].clone();
        damage(&mut bytes, &mut dice);
        match catch_unwind(AssertUnwindSafe(|| check(&bytes, &mut dice))) {
            Ok(was_read) => run.read += u64::from(was_read),
            Err(_) => {
                let shown = String::from_utf8_lossy(&bytes);
                run.wrong
                    .push(format!("{name}, seed {seed}: {shown:.4000}"));
            }
        }
    }
    run
}

/// A third of the inputs may become invalid JSON; the others stay JSON with different contents.
fn damage(bytes: &mut Vec<u8>, dice: &mut Dice) {
    match serde_json::from_slice::<Value>(bytes) {
        Ok(mut value) if dice.roll(3) > 0 => {
            change::document(&mut value, dice);
            *bytes = value.to_string().into_bytes();
        }
        _ => change::bytes(bytes, dice),
    }
}

#[test]
fn damaged_documents_are_rejected_or_survive_a_round_trip() {
    let files = vectors();
    let mut wrong = Vec::new();
    for dialect in Dialect::ALL {
        let seeds = seeds::documents(&files, dialect);
        let run = run(dialect.name(), &seeds, damage, |bytes, dice| {
            let other = Dialect::ALL[dice.roll(Dialect::ALL.len())];
            check::document(dialect, other, bytes)
        });
        assert!(
            run.read > CASES / 10,
            "{dialect}: only {} damaged documents are readable, which tests too little",
            run.read
        );
        wrong.extend(run.wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn damaged_documents_translate_with_their_envelope_or_are_rejected() {
    let files = vectors();
    let mut wrong = Vec::new();
    for dialect in Dialect::ALL {
        let seeds = seeds::documents(&files, dialect);
        let name = format!("{dialect}, whole");
        let run = run(&name, &seeds, damage, |bytes, dice| {
            let other = Dialect::ALL[dice.roll(Dialect::ALL.len())];
            check::envelope(dialect, other, bytes)
        });
        assert!(run.read > 0, "{dialect}: nothing translates");
        wrong.extend(run.wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn damaged_streams_translate_identically_for_every_split() {
    let files = vectors();
    let mut wrong = Vec::new();
    let streamed: Vec<Dialect> = Dialect::ALL
        .into_iter()
        .filter(|dialect| dialect.stream().is_some())
        .collect();
    for dialect in &streamed {
        let name = format!("{dialect}, whole streams");
        let seeds = seeds::streams(&files, *dialect);
        let run = run(&name, &seeds, framing::stream, |bytes, dice| {
            let other = streamed[dice.roll(streamed.len())];
            check::envelope_stream(*dialect, other, bytes, 1 + dice.roll(100))
        });
        assert!(run.read > 0, "{dialect}: no stream translates");
        wrong.extend(run.wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn damaged_streams_end_identically_for_every_split() {
    let files = vectors();
    let mut wrong = Vec::new();
    let have_streams = |dialect: &Dialect| dialect.stream().is_some();
    for dialect in Dialect::ALL.into_iter().filter(have_streams) {
        let name = format!("{dialect}, streams");
        let seeds = seeds::streams(&files, dialect);
        let run = run(&name, &seeds, framing::stream, |bytes, dice| {
            check::stream(dialect, bytes, 1 + dice.roll(100))
        });
        assert!(
            run.read > 0,
            "{dialect}: no damaged stream is readable, which tests nothing"
        );
        wrong.extend(run.wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn damaged_neutral_json_is_rejected_or_survives_a_round_trip() {
    let files = vectors();
    let mut wrong = Vec::new();
    let mut seeds = [Vec::new(), Vec::new()];
    for dialect in Dialect::ALL {
        let [messages, contents] = &mut seeds;
        for document in seeds::documents(&files, dialect) {
            neutral::seeds(dialect, &document, messages, contents);
        }
    }
    for (which, seeds) in (0..).zip(&seeds) {
        let run = run("neutral JSON", seeds, damage, |bytes, _| {
            neutral::check(which, bytes)
        });
        assert!(run.read > CASES / 10, "{} readable", run.read);
        wrong.extend(run.wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
