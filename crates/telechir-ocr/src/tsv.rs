//! Tesseract's table of words, as lines of words that stand together.

use telechir_device::{Bounds, Line, Word};

use crate::pgm::SCALE;

/// Of a hundred: words it is less sure of are left out. Rubbish that it sees in icons is below.
const SURE: f32 = 30.0;

/// A word with the line it belongs to.
struct Placed<'t> {
    line: [&'t str; 4],
    word: Word,
}

/// The lines of a table. Words that are far from each other are told apart, as the items of a
/// menu bar are.
pub(crate) fn lines(table: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut last: Option<[&str; 4]> = None;
    for placed in table.lines().filter_map(placed) {
        let same_line = last == Some(placed.line);
        last = Some(placed.line);
        match lines
            .last_mut()
            .filter(|line| same_line && goes_on(line, &placed.word))
        {
            Some(line) => line.words.push(placed.word),
            None => lines.push(Line {
                words: vec![placed.word],
            }),
        }
    }
    lines
}

/// Whether a word is so near to a line's end that it belongs to it.
fn goes_on(line: &Line, word: &Word) -> bool {
    let Some(last) = line.words.last() else {
        return false;
    };
    let end = i64::from(last.bounds.x) + i64::from(last.bounds.width);
    let gap = i64::from(word.bounds.x) - end;
    let height = last.bounds.height.max(word.bounds.height);
    // A space is about half as wide as a small letter is high, in a terminal somewhat wider.
    gap * 2 <= i64::from(height) * 3
}

/// A row of the table: its level, its page, block, paragraph and line, its number there, left,
/// top, width, height, how sure it is, and the word.
fn placed(row: &str) -> Option<Placed<'_>> {
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
        sure,
        text,
    ] = columns.as_slice()
    else {
        return None;
    };
    let text = text.trim();
    let is_word = text.chars().any(char::is_alphanumeric) && sure.parse::<f32>().ok()? >= SURE;
    let scale = SCALE.cast_signed();
    let bounds = Bounds {
        x: left.parse::<i32>().ok()? / scale,
        y: top.parse::<i32>().ok()? / scale,
        width: width.parse::<u32>().ok()?.div_ceil(SCALE),
        height: height.parse::<u32>().ok()?.div_ceil(SCALE),
    };
    is_word.then(|| Placed {
        line: [page, block, paragraph, line],
        word: Word {
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
    fn words_near_each_other_are_a_line() {
        let told: Vec<(String, Option<Bounds>)> = lines(TABLE)
            .iter()
            .map(|line| (line.text(), line.bounds()))
            .collect();
        let at = |x, y, width, height| {
            Some(Bounds {
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
        assert_eq!(told, expected);
    }

    #[test]
    fn what_is_no_table_has_no_lines() {
        assert_eq!(lines("Error opening data file"), []);
        assert_eq!(lines(""), []);
    }
}
