//! The lines of a message while the model writes it.

use telechir_protocol::display::escape;

use crate::counted::counted;

/// Maximum number of lines shown of a message.
const MAX_LINES: usize = 12;
/// What each line begins with.
const PREFIX: &str = "   model: ";

/// More characters of a line are not shown while it is being written.
const MAX_ROW_CHARS: usize = 1_000;

/// The columns of a character: two for those of East Asia and for emoji, and for some narrow ones.
fn columns(character: char) -> usize {
    if character < '\u{1100}' { 1 } else { 2 }
}

/// A message of which lines were shown already.
#[derive(Debug, Default)]
pub(crate) struct StreamedMessage {
    /// The line that is not complete.
    line: String,
    /// Number of complete lines, also of those that are not shown.
    lines: usize,
}

impl StreamedMessage {
    /// Adds text; returns the lines that are complete now.
    pub(crate) fn push(&mut self, text: &str) -> Vec<String> {
        let mut complete = Vec::new();
        for part in text.split_inclusive('\n') {
            self.line.push_str(part);
            if self.line.ends_with('\n') {
                complete.extend(self.next_line());
            }
        }
        complete
    }

    /// Whether nothing of it was written.
    pub(crate) fn is_empty(&self) -> bool {
        self.line.is_empty() && self.lines == 0
    }

    /// Ends the message; returns the last lines.
    pub(crate) fn finish(&mut self) -> Vec<String> {
        let mut last = Vec::new();
        if !self.line.is_empty() {
            last.extend(self.next_line());
        }
        let more = self.lines.saturating_sub(MAX_LINES);
        if more > 0 {
            last.push(format!("{PREFIX}… {}", counted(more, "more line")));
        }
        *self = Self::default();
        last
    }

    /// The end of the incomplete line, in at most this many columns; none if no line is being written,
    /// or lines are no longer shown.
    pub(crate) fn last_row(&self, room: usize) -> Option<String> {
        if self.line.is_empty() || self.lines >= MAX_LINES {
            return None;
        }
        let line = self.line.trim_end();
        // No more than a row can have, because this is called for every piece.
        let mut ends = line.char_indices().rev();
        let start = ends.nth(room.min(MAX_ROW_CHARS)).map_or(0, |(at, _)| at);
        let end = escape(&line[start..]);
        let row = match start {
            0 => format!("{PREFIX}{end}"),
            _ => end,
        };
        if start == 0 && row.chars().map(columns).sum::<usize>() <= room {
            return Some(row);
        }
        let mut left = room.saturating_sub(1);
        let fitting = row.chars().rev().take_while(|c| {
            let fits = columns(*c) <= left;
            left = left.saturating_sub(columns(*c));
            fits
        });
        let mut shown: Vec<char> = fitting.collect();
        shown.push('…');
        Some(shown.into_iter().rev().take(room).collect())
    }

    /// Takes the line; returns it if it is one of the first.
    fn next_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        self.lines += 1;
        (self.lines <= MAX_LINES).then(|| format!("{PREFIX}{}", escape(line.trim_end())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_same_however_the_text_arrives() {
        let text = "First.\n\nSecond \u{1b}[2K line\r\nthird";
        let mut complete = StreamedMessage::default();
        let mut expected = complete.push(text);
        expected.extend(complete.finish());
        assert_eq!(
            expected,
            [
                "   model: First.",
                "   model: ",
                r"   model: Second \u{1b}[2K line",
                "   model: third"
            ]
        );
        for size in 1..text.len() {
            let mut message = StreamedMessage::default();
            let mut lines = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                lines.extend(message.push(std::str::from_utf8(piece).expect("ASCII")));
            }
            lines.extend(message.finish());
            assert_eq!(lines, expected, "pieces of {size} bytes");
            assert!(message.is_empty());
        }
    }

    #[test]
    fn the_lines_of_a_long_message_that_are_not_shown_are_counted() {
        let mut message = StreamedMessage::default();
        let shown = message.push(&"line\n".repeat(14));
        assert_eq!(shown.len(), MAX_LINES);
        message.push("fifteenth");
        assert_eq!(message.last_row(80), None);
        assert_eq!(message.finish(), ["   model: … 3 more lines"]);
    }

    #[test]
    fn the_line_that_is_being_written_fits_one_row() {
        let mut message = StreamedMessage::default();
        assert_eq!(message.last_row(80), None);
        message.push("a sentence that is long");
        assert_eq!(
            message.last_row(80).as_deref(),
            Some("   model: a sentence that is long")
        );
        assert_eq!(message.last_row(9).as_deref(), Some("… is long"));
        assert_eq!(message.last_row(1).as_deref(), Some("…"));
        assert_eq!(message.last_row(0).as_deref(), Some(""));
        let mut message = StreamedMessage::default();
        message.push("一二三四五");
        assert_eq!(
            message.last_row(20).as_deref(),
            Some("   model: 一二三四五")
        );
        assert_eq!(message.last_row(19).as_deref(), Some("… model: 一二三四五"));
        assert_eq!(message.last_row(8).as_deref(), Some("…三四五"));
    }
}
