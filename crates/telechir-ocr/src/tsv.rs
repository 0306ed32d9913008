//! Parses tesseract's TSV table into lines of adjacent words.

use telechir_device::{RecognizedWord, ScreenBounds, TextLine};

use crate::pgm::SCALE;

/// Minimum confidence in percent; shapes misread in icons are below it.
const MIN_CONFIDENCE: f32 = 30.0;

/// A word and the line that contains it.
struct WordRow<'t> {
    line: [&'t str; 4],
    word: RecognizedWord,
}

/// The lines of a table. Words with large gaps become separate lines, such as the items of a menu
/// bar.
pub(crate) fn lines(table: &str) -> Vec<TextLine> {
    let mut lines: Vec<TextLine> = Vec::new();
    let mut last: Option<[&str; 4]> = None;
    for row in table.lines().filter_map(parse_row) {
        let same_line = last == Some(row.line);
        last = Some(row.line);
        match lines
            .last_mut()
            .filter(|line| same_line && belongs_to(line, &row.word))
        {
            Some(line) => line.words.push(row.word),
            None => lines.push(TextLine {
                words: vec![row.word],
            }),
        }
    }
    lines
}

/// Whether a word is close enough to the end of a line to belong to it.
fn belongs_to(line: &TextLine, word: &RecognizedWord) -> bool {
    let Some(last) = line.words.last() else {
        return false;
    };
    let end = i64::from(last.bounds.x) + i64::from(last.bounds.width);
    let gap = i64::from(word.bounds.x) - end;
    let height = last.bounds.height.max(word.bounds.height);
    // A space is about half the height of a lower-case letter, slightly wider in terminals.
    gap * 2 <= i64::from(height) * 3
}

/// Parses a row: level, page, block, paragraph, line and word number, left, top, width, height,
/// confidence, text.
fn parse_row(row: &str) -> Option<WordRow<'_>> {
    let columns: Vec<&str> = row.split('\t').collect();
    let &[
        "5",
        page,
        block,
        paragraph,
        line,
        _,
        left,
        top,
        width,
        height,
        confidence,
        text,
    ] = columns.as_slice()
    else {
        return None;
    };
    let text = text.trim();
    let is_text = text.chars().any(char::is_alphanumeric)
        && confidence.parse::<f32>().ok()? >= MIN_CONFIDENCE;
    let scale = SCALE.cast_signed();
    let bounds = ScreenBounds {
        x: left.parse::<i32>().ok()? / scale,
        y: top.parse::<i32>().ok()? / scale,
        width: width.parse::<u32>().ok()?.div_ceil(SCALE),
        height: height.parse::<u32>().ok()?.div_ceil(SCALE),
    };
    is_text.then(|| WordRow {
        line: [page, block, paragraph, line],
        word: RecognizedWord {
            text: text.to_owned(),
            bounds,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext
1\t1\t0\t0\t0\t0\t0\t0\t800\t400\t-1\t
4\t1\t1\t1\t1\t0\t20\t20\t300\t24\t-1\t
5\t1\t1\t1\t1\t1\t20\t20\t60\t24\t96.1\tSave
5\t1\t1\t1\t1\t2\t92\t20\t60\t24\t95.0\tAs…
5\t1\t1\t1\t1\t3\t300\t20\t60\t24\t93.0\tQuit
5\t1\t1\t1\t2\t1\t20\t60\t60\t24\t12.0\tj/(
5\t1\t2\t1\t1\t1\t20\t90\t61\t25\t91.5\tHelp
5\t1\t2\t1\t1\t2\t90\t90\t10\t25\t90.0\t|
";

    #[test]
    fn nearby_words_form_a_line() {
        let lines: Vec<(String, Option<ScreenBounds>)> = lines(TABLE)
            .iter()
            .map(|line| (line.text(), line.bounds()))
            .collect();
        let at = |x, y, width, height| {
            Some(ScreenBounds {
                x,
                y,
                width,
                height,
            })
        };
        let expected = [
            ("Save As…".to_owned(), at(10, 10, 66, 12)),
            ("Quit".to_owned(), at(150, 10, 30, 12)),
            ("Help".to_owned(), at(10, 45, 31, 13)),
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn invalid_tables_have_no_lines() {
        assert_eq!(lines("Error opening data file"), []);
        assert_eq!(lines(""), []);
    }
}
