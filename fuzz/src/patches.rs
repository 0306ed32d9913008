//! Diffs without line numbers, each with the file it applies to.

use crate::change::{self, Dice};
use crate::properties;

/// Separator between a file and its diff.
pub(crate) const BETWEEN: &[u8] = b"\n\x00\n";

/// Checks a file and its diff.
pub(crate) fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (file, diff) = text.split_once("\n\0\n").unwrap_or(("", &text));
    properties::check(file, diff);
}

/// Mutates lines: removes one, duplicates one, or changes its prefix.
pub(crate) fn damage(bytes: &mut Vec<u8>, dice: &mut Dice) {
    if dice.roll(3) == 0 {
        return change::bytes(bytes, dice);
    }
    let mut lines: Vec<Vec<u8>> = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    for _ in 0..=dice.roll(3) {
        if lines.is_empty() {
            break;
        }
        let (at, to) = (dice.roll(lines.len()), dice.roll(lines.len()));
        match dice.roll(5) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(to, lines[at].clone()),
            2 => lines.swap(at, to),
            3 => {
                let marks: [&[u8]; 6] = [b"+", b"-", b" ", b"@@ ", b"*** End of File\n", b"\t"];
                lines[at].splice(0..0, marks[dice.roll(marks.len())].iter().copied());
            }
            _ if !lines[at].is_empty() => drop(lines[at].remove(0)),
            _ => {}
        }
    }
    *bytes = lines.concat();
}
