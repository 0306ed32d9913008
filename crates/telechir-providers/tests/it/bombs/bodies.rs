//! Bodies that are huge: what they take of memory, for each of their bytes.

use std::time::Duration;

use serde_json::{Value, json};
use telechir_providers::Dialect;

use super::meter::peak;
use super::shapes::{Call, Said, around, response};

/// How long a text is: short enough for a compiler's debug build, unless `make soak` says more.
#[expect(
    clippy::disallowed_methods,
    reason = "TELECHIR_BODY_BYTES asks this test for bodies as large as it says"
)]
fn length() -> usize {
    let said = std::env::var("TELECHIR_BODY_BYTES").ok();
    said.map_or(500_000, |bytes| bytes.parse().unwrap())
}

/// How long this thread has worked; what else the machine does is not counted.
fn worked() -> Duration {
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanoseconds = said.split(' ').next().unwrap().parse().unwrap();
    Duration::from_nanos(nanoseconds)
}

/// Reads a document as a response and as a history, and gives the most memory that either took.
fn held(dialect: Dialect, document: &[u8]) -> usize {
    let ((), as_response) = peak(|| drop(dialect.decode_response(document)));
    let ((), as_history) = peak(|| drop(dialect.decode_history(document)));
    as_response.max(as_history)
}

/// Words and arguments are there as JSON, as neutral values and as the provider's JSON beside
/// them; where arguments are JSON in a text, once more as that. Base64 is looked at no further
/// than its ends.
#[test]
fn a_huge_body_takes_a_few_times_its_size_and_as_much_time_as_it_is_long() {
    let size = length();
    let mut table = String::new();
    for dialect in Dialect::ALL {
        let call = |text: String| Said::Call(Call::new("i-1", "look_up", json!({"text": text})));
        let bodies = [
            ("words", Said::Words("a ".repeat(size / 2))),
            ("arguments", call("a ".repeat(size / 2))),
            ("base64", call("QUJD".repeat(size / 4))),
        ];
        for (what, said) in bodies {
            let document = response(dialect, &[said]).to_string();
            let start = worked();
            let is_read = dialect.decode_response(&document).is_ok();
            assert!(is_read, "{dialect}: {what}");
            let held = held(dialect, document.as_bytes());
            let took = worked() - start;
            let times = held as f64 / document.len() as f64;
            table += &format!("{dialect}, {what}: {times:.1} times its size, {took:.1?}\n");
            assert!(
                times <= 12.0,
                "{dialect}: {what} take {times:.1} times their size"
            );
            // Unoptimized code needs a third of that.
            let limit = Duration::from_secs(5) + Duration::from_micros(size as u64);
            assert!(took <= limit, "{dialect}: {what} take {took:?}");
        }
    }
    println!("{size} bytes:\n{table}");
}

/// A response that is longer than any is refused before it is looked at.
#[test]
fn a_stream_that_has_no_end_is_an_error() {
    let endless = vec![0; (256 << 20) + 1];
    for dialect in Dialect::ALL {
        let Some(mut stream) = dialect.stream() else {
            continue;
        };
        let (error, held) = peak(|| stream.push(&endless).unwrap_err().to_string());
        assert!(
            error.contains("longer than 268435456 bytes"),
            "{dialect}: {error}"
        );
        assert!(held < 1 << 20, "{dialect}: {held} bytes for a refusal");
        let error = stream.push(b"\n").unwrap_err().to_string();
        assert!(error.contains("failed before"), "{dialect}: {error}");
    }
}

/// The smallest things that a list may have take the most for each byte.
#[test]
fn many_small_parts_take_a_bounded_share_each() {
    const COUNT: usize = 1_000;
    let mut table = String::new();
    for dialect in Dialect::ALL {
        for part in ["{}", "0", "\"\"", "[]"] {
            let value: Value = serde_json::from_str(part).unwrap();
            let document = around(dialect, vec![value; COUNT]).to_string();
            let bytes = held(dialect, document.as_bytes()) / COUNT;
            table += &format!("{dialect}, {part}: {bytes}\n");
            assert!(bytes <= 6_000, "{dialect}: each {part} takes {bytes} bytes");
        }
    }
    println!("{table}");
}

/// With what each takes, so many would fill every machine.
#[test]
fn more_small_parts_than_any_history_has_are_refused_before_they_take_memory() {
    let document = format!("[{}0]", "0,".repeat(1_000_001));
    for dialect in Dialect::ALL {
        let (error, held) = peak(|| dialect.decode_response(&document).unwrap_err().to_string());
        assert!(
            error.contains("more than 1000000 values"),
            "{dialect}: {error}"
        );
        assert!(held < 1_000_000, "{dialect}: {held} bytes for a refusal");
    }
}
