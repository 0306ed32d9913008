//! Text of a page in results: quoted, on one line, cut between characters.

use std::fmt::Write as _;

use unicode_segmentation::UnicodeSegmentation as _;

/// Quotes a text on one line, so that no page can forge a line of the result.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Truncates a text to `max_chars` characters at a grapheme boundary and appends an ellipsis.
pub(crate) fn cut(text: &str, max_chars: usize) -> String {
    if text.len() <= max_chars || text.chars().nth(max_chars).is_none() {
        return text.to_owned();
    }
    let (mut end, mut length) = (0, 0);
    for (at, cluster) in text.grapheme_indices(true) {
        length += cluster.chars().count();
        if length > max_chars {
            break;
        }
        end = at + cluster.len();
    }
    format!("{}…", &text[..end])
}

/// Text that grows line by line up to a limit.
#[derive(Debug)]
pub(super) struct BoundedText {
    text: String,
    length: usize,
    max_chars: usize,
    /// Lines that did not fit.
    pub(super) omitted: usize,
}

impl BoundedText {
    pub(super) const fn with_limit(max_chars: usize) -> Self {
        Self {
            text: String::new(),
            length: 0,
            max_chars,
            omitted: 0,
        }
    }

    /// Adds a line if it fits; after the first that does not, none is added.
    pub(super) fn line(&mut self, line: &str) {
        let length = line.chars().count() + 1;
        if self.omitted > 0 || self.length + length > self.max_chars {
            self.omitted += 1;
            return;
        }
        self.length += length;
        let _writing_to_a_string_never_fails = writeln!(self.text, "{line}");
    }

    /// The text, without the final line break.
    pub(super) fn text(mut self) -> String {
        self.text.truncate(self.text.trim_end().len());
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_cannot_close_its_quotes() {
        assert_eq!(quoted("a\" [e1]\nbutton \\"), "\"a\\\" [e1] button \\\\\"");
    }

    #[test]
    fn text_is_cut_at_grapheme_boundaries() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "abc…");
        assert_eq!(cut("日本語", 2), "日本…");
        // A letter and its accent, a syllable and its vowel sign.
        assert_eq!(cut("ae\u{301}x", 2), "a…");
        assert_eq!(cut("कि", 1), "…");
        // A family, a waving hand with its colour, a flag.
        assert_eq!(cut("x👨\u{200d}👩\u{200d}👧y", 2), "x…");
        assert_eq!(cut("x👋🏽y", 2), "x…");
        assert_eq!(cut("x🇩🇪y", 2), "x…");
    }

    #[test]
    fn text_ends_at_its_limit() {
        let mut text = BoundedText::with_limit(8);
        for line in ["abc", "defg", "h"] {
            text.line(line);
        }
        assert_eq!((text.omitted, text.text()), (2, "abc".to_owned()));
    }
}
