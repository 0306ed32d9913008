//! JSON from outside, its values counted before any of them takes memory.
//!
//! A value of two bytes becomes a content of a thousand: without a limit, a document that may be
//! sent fills every machine.

use serde::de::Error as _;
use serde_json::Value;

/// Most values of a document. A history as long as any model takes has a tenth of it.
const MOST: usize = 1_000_000;

/// The value that a JSON text is, unless it has more than a million values.
///
/// # Errors
/// When it is no JSON, or has more values.
pub fn parse(document: &[u8]) -> serde_json::Result<Value> {
    if is_too_many(document) {
        let problem = format!("it has more than {MOST} values");
        return Err(serde_json::Error::custom(problem));
    }
    serde_json::from_slice(document)
}

/// Whether a document has more values than are read.
fn is_too_many(document: &[u8]) -> bool {
    // Every value but the first comes behind one of these bytes. They may also stand in strings,
    // so that only a large number says nothing yet.
    document.len() > MOST && separators(document) > MOST && outside_strings(document) > MOST
}

fn is_separator(byte: u8) -> bool {
    matches!(byte, b',' | b'[' | b'{')
}

fn separators(document: &[u8]) -> usize {
    document.iter().filter(|byte| is_separator(**byte)).count()
}

fn outside_strings(document: &[u8]) -> usize {
    let (mut count, mut in_string, mut is_escaped) = (0, false, false);
    for byte in document {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            byte => count += usize::from(!in_string && is_separator(*byte)),
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::{MOST, is_too_many};

    #[test]
    fn only_what_is_outside_of_strings_counts() {
        let many = ",".repeat(MOST + 2);
        assert!(!is_too_many(format!("[\"{many}\"]").as_bytes()));
        assert!(!is_too_many(format!("[\"\\\"{many}\"]").as_bytes()));
        assert!(is_too_many(format!("[\"\\\\\"{many}]").as_bytes()));
    }
}
