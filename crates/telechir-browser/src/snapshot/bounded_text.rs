//! A page's own words on a model's page: quoted, on one line, cut between characters.

use std::fmt::Write as _;

use unicode_segmentation::UnicodeSegmentation as _;

/// In quotes, so that no page can write a line of its own.
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

/// At most so many characters, never a part of what a reader takes for one, and a sign that there
/// were more.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most || text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    let (mut end, mut length) = (0, 0);
    for (at, cluster) in text.grapheme_indices(true) {
        length += cluster.chars().count();
        if length > most {
            break;
        }
        end = at + cluster.len();
    }
    format!("{}…", &text[..end])
}

/// Text that grows to a limit and says whether it was reached.
#[derive(Debug)]
pub(super) struct Page {
    text: String,
    length: usize,
    most: usize,
    /// Lines that had no room.
    pub(super) left: usize,
}

impl Page {
    pub(super) const fn of(most: usize) -> Self {
        Self {
            text: String::new(),
            length: 0,
            most,
            left: 0,
        }
    }

    /// Adds a line when there is room; from the first that has none on, none is added.
    pub(super) fn line(&mut self, line: &str) {
        let length = line.chars().count() + 1;
        if self.left > 0 || self.length + length > self.most {
            self.left += 1;
            return;
        }
        self.length += length;
        let _a_string_takes_all = writeln!(self.text, "{line}");
    }

    /// The text, without the last line's end.
    pub(super) fn text(mut self) -> String {
        self.text.truncate(self.text.trim_end().len());
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_a_quote_from_within() {
        assert_eq!(quoted("a\" [e1]\nbutton \\"), "\"a\\\" [e1] button \\\\\"");
    }

    #[test]
    fn text_is_cut_between_characters_of_every_script() {
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
    fn a_page_ends_at_its_limit() {
        let mut page = Page::of(8);
        for line in ["abc", "defg", "h"] {
            page.line(line);
        }
        assert_eq!((page.left, page.text()), (2, "abc".to_owned()));
    }
}
