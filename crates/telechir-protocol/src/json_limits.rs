//! JSON from outside, with the number of its values limited before any of them takes memory.
//!
//! A value of two bytes can become a content of a thousand bytes: without a limit, a document of
//! permitted size could exhaust memory.

use serde::de::Error as _;
use serde_json::Value;

/// Maximum number of values in a document. A history at the limit of any model has a tenth of it.
const MAX_VALUES: usize = 1_000_000;

/// Parses a JSON document with at most a million values.
///
/// # Errors
/// When it is not valid JSON, or has more values.
pub fn parse(document: &[u8]) -> serde_json::Result<Value> {
    parse_at_most(document, MAX_VALUES)
}

/// Parses a JSON document with at most this many values.
///
/// # Errors
/// When it is not valid JSON, or has more values.
pub fn parse_at_most(document: &[u8], max_values: usize) -> serde_json::Result<Value> {
    if has_more_values(document, max_values) {
        let problem = format!("it has more than {max_values} values");
        return Err(serde_json::Error::custom(problem));
    }
    serde_json::from_slice(document)
}

/// The position after the string that starts at `start`; the document's end if it has no end.
pub fn after_string(document: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(rest) = document.get(at..)
        && let Some(found) = memchr::memchr2(b'"', b'\\', rest)
    {
        if rest[found] == b'"' {
            return at + found + 1;
        }
        // Skips the escaped character.
        at += found + 2;
    }
    document.len()
}

fn has_more_values(document: &[u8], max_values: usize) -> bool {
    document.len() > max_values && separators(document) > max_values
}

/// Number of the bytes that precede values, outside strings. Only the first value may lack one.
fn separators(document: &[u8]) -> usize {
    let (mut count, mut at) = (0, 0);
    while let Some(byte) = document.get(at) {
        match byte {
            b'"' => at = after_string(document, at),
            byte => {
                count += usize::from(matches!(byte, b',' | b'[' | b'{'));
                at += 1;
            }
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::{MAX_VALUES, has_more_values};

    #[test]
    fn only_separators_outside_strings_count() {
        let many = ",".repeat(MAX_VALUES + 2);
        let has_too_many = |text: String| has_more_values(text.as_bytes(), MAX_VALUES);
        assert!(!has_too_many(format!("[\"{many}\"]")));
        assert!(!has_too_many(format!("[\"\\\"{many}\"]")));
        assert!(has_too_many(format!("[\"\\\\\"{many}]")));
    }
}
