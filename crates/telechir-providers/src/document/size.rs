//! How many values a JSON document has, counted before any of them takes memory.
//!
//! A value of two bytes becomes a content of a thousand: without a limit, a document that may be
//! sent fills every machine.

/// Most values of a document. A history as long as any model takes has a tenth of it.
const MOST: usize = 1_000_000;

/// Whether a document has more values than are read.
pub(super) fn is_too_many(document: &[u8]) -> bool {
    // Every value but the first comes behind one of these bytes. They may also stand in strings,
    // so that only a large number says nothing yet.
    document.len() > MOST && separators(document) > MOST && outside_strings(document) > MOST
}

/// What the error says.
pub(super) fn problem() -> String {
    format!("it has more than {MOST} values")
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
