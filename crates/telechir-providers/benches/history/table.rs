//! Prints the table, measured in rounds that interleave the candidates.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::{DIALECT, bare, encode, memory, python, round_trip_in_memory};

const ROUNDS: usize = 60;

const NAMES: [&str; 5] = [
    "bare `serde_json`: bytes to `Value`",
    "bare `serde_json`: `Value` to bytes",
    "**decode**: bytes to neutral messages",
    "**encode**: neutral messages to bytes",
    "**decode and encode**",
];
/// Index of the row that Python is compared with.
const ROUND_TRIP: usize = 4;

const PYTHON: [&str; 2] = [
    "Anthropic's Python SDK: `json.loads`, `messages.create`",
    "Anthropic's Python types: parsed and dumped",
];

/// The most that decoding and encoding may cost, in bare parses of the same document.
const MAX_BARE_PARSES: u32 = 5;
/// How many times faster than the SDK decoding and encoding must be.
const MIN_SDK_RATIO: u32 = 3;

/// Prints the table of benchmarks/figures.md.
pub(crate) fn print(bytes: &[u8]) {
    let name = format!("{:.1} MB, 10 screenshots", bytes.len() as f64 / 1e6);
    println!("\n## History through a dialect: {name}, `anthropic-messages`\n");
    println!(
        "| what | median | fastest | GB/s | relative to a bare parse |\n|---|---|---|---|---|"
    );
    let mut times: [Vec<Duration>; NAMES.len()] = Default::default();
    for round in 0..=ROUNDS {
        let took = round_of(bytes);
        if round > 0 {
            times
                .iter_mut()
                .zip(took)
                .for_each(|(all, one)| all.push(one));
        }
    }
    let bare_parse = median(&mut times[0]);
    for (name, times) in NAMES.iter().zip(&mut times) {
        row(name, times, bytes, bare_parse);
    }
    let round_trip = median(&mut times[ROUND_TRIP]);
    match python::rounds(bytes) {
        Some(mut rounds) if !rounds[0].is_empty() => {
            let [sdk, types] = &mut rounds;
            row(PYTHON[0], sdk, bytes, bare_parse);
            row(PYTHON[1], types, bytes, bare_parse);
            let ratio =
                |times: &mut [Duration]| median(times).as_secs_f64() / round_trip.as_secs_f64();
            println!(
                "\nCompared with decoding and encoding, the SDK takes {:.0} times as long, its types {:.1} times. SDK time ends where the request would be sent; the SDK does not validate requests. Its types are run by pydantic, in Rust; the SDK itself does not parse requests with them.\n\nThe goal: decoding and encoding cost at most {MAX_BARE_PARSES} bare parses (here {:.1}), and are at least {MIN_SDK_RATIO} times as fast as the SDK.\n",
                ratio(sdk),
                ratio(types),
                round_trip.as_secs_f64() / bare_parse.as_secs_f64()
            );
        }
        _ => {
            for name in PYTHON {
                println!("| {name} | *not run* | | | |");
            }
            println!();
        }
    }
    peaks(bytes);
}

fn round_of(bytes: &[u8]) -> [Duration; NAMES.len()] {
    let parse = timed(|| bare(black_box(bytes)));
    let value = bare(bytes);
    let print = timed(|| serde_json::to_vec(black_box(&value)));
    let read = timed(|| DIALECT.decode_history(bytes));
    let (history, _) = DIALECT.decode_history(bytes).expect("a history");
    let write = timed(|| encode(&history, bytes.len()));
    let again = bytes.to_vec();
    let both = timed(|| round_trip_in_memory(again));
    [parse, print, read, write, both]
}

/// Measures `work`; its result is dropped after the clock stopped.
fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let done = black_box(work());
    let took = start.elapsed();
    drop(done);
    took
}

fn peaks(bytes: &[u8]) {
    let of_input = |peak: usize| peak as f64 / bytes.len() as f64;
    let streamed = memory::peak(|| {
        let input = bytes.to_vec();
        let (history, _) = DIALECT.decode_history(&input).expect("a history");
        let (document, _) = DIALECT.encode_history(&history).expect("a request");
        serde_json::to_writer(std::io::sink(), &document).expect("a sink");
    });
    let buffered = memory::peak(|| round_trip_in_memory(bytes.to_vec()));
    println!(
        "Peak memory, input included, relative to the input: {:.2} with the output written to a pipe, {:.2} with the output in one buffer. Input and output alone are {:.2}.",
        of_input(streamed),
        of_input(buffered),
        of_input(bytes.len() + round_trip_in_memory(bytes.to_vec()).len())
    );
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn row(name: &str, times: &mut [Duration], bytes: &[u8], bare_parse: Duration) {
    let (median, fastest) = (median(times), times.first().copied().unwrap_or_default());
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "| {name} | {:.2} ms | {:.2} ms | {:.1} | {:.1} |",
        ms(median),
        ms(fastest),
        bytes.len() as f64 / 1e9 / median.as_secs_f64(),
        median.as_secs_f64() / bare_parse.as_secs_f64()
    );
}
