//! Texts as they are compared with what a model writes.

/// A text in lower case, with single spaces, and with the characters that a keyboard has instead of
/// typographic ones: `…` as `...`, `“` and `’` as straight quotes, dashes and the minus sign as `-`.
/// Characters without a picture, such as the soft hyphen, are left out.
pub fn normalized(text: &str) -> String {
    let mut normalized = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '…' => normalized.push_str("..."),
            '‘' | '’' | '‚' | '‛' | '′' => normalized.push('\''),
            '“' | '”' | '„' | '‟' | '″' => normalized.push('"'),
            '‐' | '‑' | '‒' | '–' | '—' | '−' => normalized.push('-'),
            // Soft hyphen, zero-width space and joiners, marks of direction, byte order mark.
            '\u{ad}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}' => {}
            other => normalized.extend(other.to_lowercase()),
        }
    }
    let words: Vec<&str> = normalized.split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typographic_characters_are_those_of_a_keyboard() {
        for (text, expected) in [
            ("Save As…", "save as..."),
            ("  Don’t\u{a0}save\n", "don't save"),
            ("“Pages” 3–4 − 1", "\"pages\" 3-4 - 1"),
            ("Über\u{ad}sicht\u{200b}", "übersicht"),
            ("\u{2068}Inbox\u{2069}", "inbox"),
            ("a \u{200b} b", "a b"),
            ("", ""),
        ] {
            assert_eq!(normalized(text), expected);
        }
    }
}
