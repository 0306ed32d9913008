//! JSON that is cut off: the longest beginning of it that is a value.

use serde_json::Value;

/// The value as far as it came, with open strings, lists and objects closed.
///
/// A string that is cut off is kept as far as it came when it is a value, and left out when it
/// is the name of a member. None when not even a beginning is there, or it is no JSON.
pub(super) fn parse(text: &str) -> Option<Value> {
    if let Ok(whole) = serde_json::from_str(text) {
        return Some(whole);
    }
    let closings = closings(text)?;
    // From the longest beginning to the shortest: what follows the last comma may be no value.
    closings.iter().rev().find_map(|(end, closing)| {
        serde_json::from_str(&format!("{}{closing}", &text[..*end])).ok()
    })
}

/// Places where the text could end, each with what would close it there.
fn closings(text: &str) -> Option<Vec<(usize, String)>> {
    let mut open = Vec::new();
    let mut places = Vec::new();
    let mut in_string = false;
    let mut escaped = false;
    for (place, c) in text.char_indices() {
        let end = place + c.len_utf8();
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
                ',' => places.push((place, closed(&open))),
                _ => {}
            }
            if matches!(c, '{' | '[' | '}' | ']') {
                places.push((end, closed(&open)));
            }
        }
    }
    let quote = if in_string { "\"" } else { "" };
    let end = text.len() - usize::from(escaped);
    places.push((end, format!("{quote}{}", closed(&open))));
    Some(places)
}

fn closed(open: &[char]) -> String {
    open.iter().rev().collect()
}
