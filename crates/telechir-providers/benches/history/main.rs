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
mod table;

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput};
use serde_json::{Value, json};
use telechir_providers::{Dialect, History};

const DIALECT: Dialect = Dialect::AnthropicMessages;

/// Length of one screenshot in base64 characters.
const SCREENSHOT: usize = 290_000;

/// A request of an agent after ten screenshots: texts, reasoning, calls, images.
fn request() -> Vec<u8> {
    let mut messages = vec![json!({"role": "user", "content": "Put the report in order."})];
    for turn in 0..10 {
        let id = format!("toolu_{turn:02}");
        let thinking = "The window is open; the list is on its left. ".repeat(20);
        messages.push(json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": thinking, "signature": "c2ln".repeat(100)},
            {"type": "text", "text": "I look at the screen\nand go on."},
            {"type": "tool_use", "id": id, "name": "left_click", "toolset_name": "computer",
             "input": {"coordinate": [100 + turn, 200]}}]}));
        messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "toolset_name": "computer", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png",
                 "data": screenshot(turn)}}]}]}));
    }
    json!({"model": "claude-opus-5", "max_tokens": 4096, "messages": messages,
        "tools": [{"type": "computer_toolset_20260801"}]})
    .to_string()
    .into_bytes()
}

/// Base64 with the header of a 1280x800 PNG, then pseudorandom data.
fn screenshot(seed: u64) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut text = "iVBORw0KGgoAAAANSUhEUgAABQAAAAMgCAIAAABhYmNk".to_owned();
    while text.len() < SCREENSHOT {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text.push(char::from(
            LETTERS[usize::try_from(state % 64).unwrap_or(0)],
        ));
    }
    text
}

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
