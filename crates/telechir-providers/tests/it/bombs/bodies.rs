//! Bodies that are huge: what they take of memory, for each of their bytes.

use serde_json::{Value, json};
use telechir_providers::Dialect;

use super::meter::peak;
use super::shapes::{Call, Said, around, response};

/// Reads a document as a response and as a history, and gives the most memory that either took.
fn held(dialect: Dialect, document: &[u8]) -> usize {
    let ((), as_response) = peak(|| drop(dialect.decode_response(document)));
    let ((), as_history) = peak(|| drop(dialect.decode_history(document)));
    as_response.max(as_history)
}

/// Words and arguments are there as JSON, as neutral values and as the provider's JSON beside
/// them; where arguments are JSON in a text, once more as that.
#[test]
fn a_huge_text_takes_a_few_times_its_size() {
    const SIZE: usize = 500_000;
    let mut table = String::new();
    for dialect in Dialect::ALL {
        let words = response(dialect, &[Said::Words("a".repeat(SIZE))]);
        let arguments = json!({"text": "a".repeat(SIZE)});
        let call = response(
            dialect,
            &[Said::Call(Call::new("i-1", "look_up", arguments))],
        );
        for (what, document) in [("words", words), ("arguments", call)] {
            let document = document.to_string();
            let (is_read, _) = peak(|| dialect.decode_response(&document).is_ok());
            assert!(is_read, "{dialect}: {what}");
            let times = held(dialect, document.as_bytes()) as f64 / document.len() as f64;
            table += &format!("{dialect}, {what}: {times:.1}\n");
            assert!(
                times <= 12.0,
                "{dialect}: {what} take {times:.1} times their size"
            );
        }
    }
    println!("{table}");
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
