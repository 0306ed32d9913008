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

/// So many times its size is the most that a body may take.
const MOST: f64 = 12.0;

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

/// A body, what it is made of, and whether it can be read; else it has to be refused.
struct Body {
    what: &'static str,
    document: String,
    is_read: bool,
}

fn bodies(dialect: Dialect, size: usize) -> Vec<Body> {
    let call = Call::new("i-1", "look_up", json!({"text": "HERE"}));
    let called = response(dialect, &[Said::Call(call)]).to_string();
    let quoted = called.replacen("HERE", "@@", 1);
    // Where arguments are JSON in a text, what is wrong in them is the call's and not the body's.
    let is_in_text = called.contains(r#"\"HERE\""#);
    let bare = called
        .replacen(r#"\"HERE\""#, "@@", 1)
        .replacen(r#""HERE""#, "@@", 1);
    let words = response(dialect, &[Said::Words("HERE".to_owned())]).to_string();
    let of = |what, around: &str, filling: String, is_read| Body {
        what,
        document: around.replacen("@@", &filling, 1),
        is_read,
    };
    let text = || "a ".repeat(size / 2);
    let nest = || "[".repeat(size);
    // More values than any document has.
    let list = || format!("[{}0]", "0,".repeat(size.max(2_500_000) / 2));
    let texts = || {
        format!(
            "[{}0]",
            format!("\"{}\",", "a ".repeat(500)).repeat(size / 1_003)
        )
    };
    vec![
        of("text", &words.replacen("HERE", "@@", 1), text(), true),
        of("text in a call", &quoted, text(), true),
        of("base64", &quoted, "QUJD".repeat(size / 4), true),
        of("nesting in a call", &bare, nest(), is_in_text),
        of("nesting", "@@", nest(), false),
        of("list in a call", &bare, list(), is_in_text),
        of("list", "@@", list(), false),
        of("list of texts", "{\"messages\": @@}", texts(), false),
    ]
}

/// Words and arguments are there as JSON, as neutral values and as the provider's JSON beside
/// them; where arguments are JSON in a text, once more as that. Base64 is looked at no further
/// than its ends. What is refused takes a few times its size at most.
#[test]
fn a_huge_body_takes_a_few_times_its_size_and_as_much_time_as_it_is_long() {
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
        let begun = worked();
        for body in bodies(dialect, size) {
            let Body {
                what,
                document,
                is_read,
            } = body;
            let start = worked();
            let read = dialect.decode_response(&document).map(|_| ());
            assert_eq!(read.is_ok(), is_read, "{dialect}: {what}: {read:?}");
            let held = held(dialect, document.as_bytes()).max(piecewise(dialect, &document));
            let took = worked() - start;
            let times = held as f64 / document.len() as f64;
            let refused = if is_read { "" } else { "rejected, " };
            table += &format!(" {refused}{times:.1} |");
            assert!(
                times <= MOST,
                "{dialect}: {what} take {times:.1} times their size"
            );
            // Unoptimized code needs a third of that.
            let limit = Duration::from_secs(5) + Duration::from_micros(size as u64);
            assert!(took <= limit, "{dialect}: {what} take {took:?}");
        }
        table += &format!(" {:.0?} |\n", worked() - begun);
    }
    println!("{table}");
}

/// The most memory that a dialect's stream takes of these bytes in pieces, as one event, which
/// some of them are.
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
