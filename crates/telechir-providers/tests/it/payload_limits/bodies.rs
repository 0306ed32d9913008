//! Memory use for huge payloads, relative to their size.

use std::time::Duration;

use serde_json::{Value, json};
use telechir_providers::Dialect;

use super::meter::peak;
use super::shapes::{Call, ResponsePart, around, response};

/// Size of a payload: small enough for a debug build unless `make soak` sets it.
#[expect(
    clippy::disallowed_methods,
    reason = "TELECHIR_BODY_BYTES sets the payload size"
)]
fn length() -> usize {
    let bytes = std::env::var("TELECHIR_BODY_BYTES").ok();
    bytes.map_or(500_000, |bytes| bytes.parse().unwrap())
}

/// Maximum memory for a payload, as a multiple of its size.
const MAX_RATIO: f64 = 12.0;

/// CPU time of this thread, which other load does not affect.
fn cpu_time() -> Duration {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanoseconds = schedstat.split(' ').next().unwrap().parse().unwrap();
    Duration::from_nanos(nanoseconds)
}

/// Peak memory of decoding a document as a response or as a history.
fn peak_bytes(dialect: Dialect, document: &[u8]) -> usize {
    let ((), as_response) = peak(|| drop(dialect.decode_response(document)));
    let ((), as_history) = peak(|| drop(dialect.decode_history(document)));
    as_response.max(as_history)
}

/// A payload with its description, and whether it must be accepted or rejected.
struct Body {
    what: &'static str,
    document: String,
    is_read: bool,
}

fn bodies(dialect: Dialect, size: usize) -> Vec<Body> {
    let call = Call::new("i-1", "look_up", json!({"text": "HERE"}));
    let called = response(dialect, &[ResponsePart::Call(call)]).to_string();
    let quoted = called.replacen("HERE", "@@", 1);
    // Where arguments are JSON in a text, errors in them belong to the call.
    let is_in_text = called.contains(r#"\"HERE\""#);
    let bare = called
        .replacen(r#"\"HERE\""#, "@@", 1)
        .replacen(r#""HERE""#, "@@", 1);
    let message = response(dialect, &[ResponsePart::Text("HERE".to_owned())]).to_string();
    let of = |what, around: &str, filling: String, is_read| Body {
        what,
        document: around.replacen("@@", &filling, 1),
        is_read,
    };
    let text = || "a ".repeat(size / 2);
    let nest = || "[".repeat(size);
    // More values than the limit permits.
    let list = || format!("[{}0]", "0,".repeat(size.max(2_500_000) / 2));
    let texts = || {
        format!(
            "[{}0]",
            format!("\"{}\",", "a ".repeat(500)).repeat(size / 1_003)
        )
    };
    vec![
        of("text", &message.replacen("HERE", "@@", 1), text(), true),
        of("text in a call", &quoted, text(), true),
        of("base64", &quoted, "QUJD".repeat(size / 4), true),
        of("nesting in a call", &bare, nest(), is_in_text),
        of("nesting", "@@", nest(), false),
        of("list in a call", &bare, list(), is_in_text),
        of("list", "@@", list(), false),
        of("list of texts", "{\"messages\": @@}", texts(), false),
    ]
}

/// Texts and arguments are stored as JSON, as neutral values and as raw representation; arguments
/// that are JSON in a text, once more. Base64 stays in the document. A rejected payload takes at
/// most a few times its size.
#[test]
fn a_huge_payload_takes_bounded_memory_and_linear_time() {
    let size = length();
    let kinds: Vec<&str> = bodies(Dialect::OpenaiResponses, 0)
        .iter()
        .map(|body| body.what)
        .collect();
    let kinds = kinds.join(" | ");
    let mut table = format!("| {size} bytes | {kinds} | time, all payloads decoded four times |\n");
    table += &"|---".repeat(table.matches('|').count() - 1);
    table += "|\n";
    for dialect in Dialect::ALL {
        table += &format!("| `{dialect}` |");
        let start_of_all = cpu_time();
        for body in bodies(dialect, size) {
            let Body {
                what,
                document,
                is_read,
            } = body;
            let start = cpu_time();
            let read = dialect.decode_response(&document).map(|_| ());
            assert_eq!(read.is_ok(), is_read, "{dialect}: {what}: {read:?}");
            let peak_bytes =
                peak_bytes(dialect, document.as_bytes()).max(piecewise(dialect, &document));
            let took = cpu_time() - start;
            let times = peak_bytes as f64 / document.len() as f64;
            let refused = if is_read { "" } else { "rejected, " };
            table += &format!(" {refused}{times:.1} |");
            assert!(
                times <= MAX_RATIO,
                "{dialect}: {what} takes {times:.1} times its size"
            );
            // Unoptimized code needs a third of this limit.
            let limit = Duration::from_secs(5) + Duration::from_micros(size as u64);
            assert!(took <= limit, "{dialect}: {what} takes {took:?}");
        }
        table += &format!(" {:.0?} |\n", cpu_time() - start_of_all);
    }
    println!("{table}");
}

/// Peak memory of a dialect's stream that receives these bytes as one event, in pieces.
fn piecewise(dialect: Dialect, document: &str) -> usize {
    let Some(mut stream) = dialect.stream() else {
        return 0;
    };
    let read = || {
        let head = b"data: ".as_slice();
        let pieces = document.as_bytes().chunks(1 << 16);
        let mut pieces = std::iter::once(head).chain(pieces);
        if pieces.all(|piece| stream.push(piece).is_ok()) {
            drop(stream.finish());
        }
    };
    peak(read).1
}

/// A response above the limit is rejected before it is parsed.
#[test]
fn rejects_an_endless_stream() {
    let endless = vec![0; (256 << 20) + 1];
    for dialect in Dialect::ALL {
        let Some(mut stream) = dialect.stream() else {
            continue;
        };
        let (error, peak_bytes) = peak(|| stream.push(&endless).unwrap_err().to_string());
        assert!(
            error.contains("exceeds 268435456 bytes"),
            "{dialect}: {error}"
        );
        assert!(
            peak_bytes < 1 << 20,
            "{dialect}: {peak_bytes} bytes for a rejection"
        );
        let error = stream.push(b"\n").unwrap_err().to_string();
        assert!(error.contains("after an error"), "{dialect}: {error}");
    }
}

/// The smallest elements have the largest overhead per byte.
#[test]
fn many_small_parts_take_bounded_memory_each() {
    const COUNT: usize = 1_000;
    let mut table = String::new();
    for dialect in Dialect::ALL {
        for part in ["{}", "0", "\"\"", "[]"] {
            let value: Value = serde_json::from_str(part).unwrap();
            let document = around(dialect, vec![value; COUNT]).to_string();
            let bytes = peak_bytes(dialect, document.as_bytes()) / COUNT;
            table += &format!("{dialect}, {part}: {bytes}\n");
            assert!(bytes <= 6_000, "{dialect}: each {part} takes {bytes} bytes");
        }
    }
    println!("{table}");
}

/// At the overhead of each, this many elements would exhaust any machine.
#[test]
fn rejects_too_many_small_parts_before_allocating() {
    let document = format!("[{}0]", "0,".repeat(1_000_001));
    for dialect in Dialect::ALL {
        let (error, peak_bytes) =
            peak(|| dialect.decode_response(&document).unwrap_err().to_string());
        assert!(
            error.contains("more than 1000000 values"),
            "{dialect}: {error}"
        );
        assert!(
            peak_bytes < 1_000_000,
            "{dialect}: {peak_bytes} bytes for a rejection"
        );
    }
}
