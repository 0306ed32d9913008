//! Truncated JSON: the longest prefix that can be completed to a value.

use serde_json::Value;

/// Parses truncated JSON, with open strings, arrays and objects closed.
///
/// A truncated string is retained if it is a value, and omitted if it is a member's name. None if
/// there is no usable prefix, or the text is not JSON.
pub(super) fn parse(text: &str) -> Option<Value> {
    if let Ok(complete) = serde_json::from_str(text) {
        return Some(complete);
    }
    let closing_candidates = closing_candidates(text)?;
    // From the longest prefix to the shortest: the part after the last comma may be invalid.
    closing_candidates.iter().rev().find_map(|(end, closing)| {
        serde_json::from_str(&format!("{}{closing}", &text[..*end])).ok()
    })
}

/// Positions where the text could end, each with the characters that close it there.
fn closing_candidates(text: &str) -> Option<Vec<(usize, String)>> {
    let mut open = Vec::new();
    let mut candidates = Vec::new();
    let mut in_string = false;
    let mut escaped = false;
    for (candidate, c) in text.char_indices() {
        let end = candidate + c.len_utf8();
        if in_string {
            if escaped {
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else if c == '"' {
                in_string = false;
            }
        } else {
            match c {
                '"' => in_string = true,
                '{' => open.push('}'),
                '[' => open.push(']'),
                '}' | ']' if open.pop() != Some(c) => return None,
                ',' => candidates.push((candidate, closed(&open))),
                _ => {}
            }
            if matches!(c, '{' | '[' | '}' | ']') {
                candidates.push((end, closed(&open)));
            }
        }
    }
    let quote = if in_string { "\"" } else { "" };
    let end = text.len() - usize::from(escaped);
    candidates.push((end, format!("{quote}{}", closed(&open))));
    Some(candidates)
}

fn closed(open: &[char]) -> String {
    open.iter().rev().collect()
}
