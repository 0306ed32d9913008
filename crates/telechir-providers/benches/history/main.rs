//! Measures the time and memory to translate a history with ten screenshots through a dialect and
//! back.
//!
//! `cargo bench --package telechir-providers` measures with criterion; with `-- --table` it prints
//! the table of benchmarks/figures.md, interleaving the candidates.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints its results and stops at the first error"
)]

mod memory;
mod python;
mod request;
mod table;

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput};
use serde_json::Value;
use telechir_providers::{Dialect, History};

use request::request;

const DIALECT: Dialect = Dialect::AnthropicMessages;

/// Parses the bytes as JSON only.
fn bare(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("JSON")
}

/// Decodes and encodes; input and output are both in memory.
fn round_trip_in_memory(bytes: Vec<u8>) -> Vec<u8> {
    let (history, _) = DIALECT.decode_history(&bytes).expect("a history");
    encode(&history, bytes.len())
}

/// Encodes to bytes, in a buffer of the expected length.
fn encode(history: &History, length: usize) -> Vec<u8> {
    let (document, _) = DIALECT.encode_history(history).expect("a request");
    let mut bytes = Vec::with_capacity(length);
    serde_json::to_writer(&mut bytes, &document).expect("JSON");
    bytes
}

fn criterion() {
    let bytes = request();
    let length = u64::try_from(bytes.len()).expect("a length");
    let mut criterion = Criterion::default().configure_from_args().sample_size(50);
    let mut group = criterion.benchmark_group("anthropic history, 10 screenshots");
    group.throughput(Throughput::Bytes(length));
    group.bench_function("bare serde_json, parse", |b| {
        b.iter(|| bare(black_box(&bytes)));
    });
    group.bench_function("decode", |b| {
        let decode = |bytes: Vec<u8>| DIALECT.decode_history(&bytes).expect("a history");
        b.iter_batched(|| bytes.clone(), decode, BatchSize::LargeInput);
    });
    group.bench_function("encode", |b| {
        let (history, _) = DIALECT.decode_history(&bytes).expect("a history");
        b.iter(|| encode(&history, bytes.len()));
    });
    group.bench_function("decode and encode", |b| {
        b.iter_batched(
            || bytes.clone(),
            round_trip_in_memory,
            BatchSize::LargeInput,
        );
    });
    group.finish();
    criterion.final_summary();
}

fn main() {
    if std::env::args().any(|argument| argument == "--table") {
        table::print(&request());
    } else {
        criterion();
    }
}
