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
    if has_too_many_values(document) {
        let problem = format!("it has more than {MAX_VALUES} values");
        return Err(serde_json::Error::custom(problem));
    }
    serde_json::from_slice(document)
}

/// Whether a document has more values than the limit.
fn has_too_many_values(document: &[u8]) -> bool {
    // Every value but the first follows one of these bytes. They also occur in strings, so a large
    // count alone proves nothing.
    document.len() > MAX_VALUES
        && separators(document) > MAX_VALUES
        && outside_strings(document) > MAX_VALUES
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
    use super::{MAX_VALUES, has_too_many_values};

    #[test]
    fn only_separators_outside_strings_count() {
        let many = ",".repeat(MAX_VALUES + 2);
        assert!(!has_too_many_values(format!("[\"{many}\"]").as_bytes()));
        assert!(!has_too_many_values(format!("[\"\\\"{many}\"]").as_bytes()));
        assert!(has_too_many_values(format!("[\"\\\\\"{many}]").as_bytes()));
    }
}
