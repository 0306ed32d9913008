//! Captures the beginning and the end of an output in bounded memory.

use std::collections::VecDeque;

use crate::spool::{Spool, Spools};

/// Maximum share of invalid or control bytes in text, in percent.
const MAX_ODD_PERCENT: usize = 20;
/// Outputs below this size are always treated as text, in bytes.
const MIN_BINARY_BYTES: usize = 64;

/// Retains the first and last bytes of an output; long output also goes to a file.
#[derive(Debug)]
pub(crate) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_max: usize,
    tail_max: usize,
    total: u64,
    spools: Option<Spools>,
    spool: Option<Spool>,
}

/// A captured output as text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Captured {
    /// The retained text; a line in the middle gives the size of the omitted part.
    pub(crate) text: String,
    /// Number of omitted bytes.
    pub(crate) truncated_bytes: u64,
}

impl Capture {
    /// Retains up to `max` bytes, half of them from the beginning.
    pub(crate) fn new(max: usize) -> Self {
        let head_max = max.div_ceil(2);
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            head_max,
            tail_max: max - head_max,
            total: 0,
            spools: None,
            spool: None,
        }
    }

    /// Like [`new`](Self::new), but writes long output to a file, too.
    pub(crate) fn spooled(max: usize, spools: &Spools) -> Self {
        Self {
            spools: Some(spools.clone()),
            ..Self::new(max)
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        if self.total > (self.head_max + self.tail_max) as u64 {
            self.spool();
        }
        if let Some(spool) = &mut self.spool {
            spool.push(bytes);
        }
        let room = self.head_max - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(self.tail_max)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.tail_max);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    /// Creates the file with the retained bytes, which are still complete.
    fn spool(&mut self) {
        let Some(spools) = self.spools.take() else {
            return;
        };
        match spools.create() {
            Ok(mut spool) => {
                spool.push(&self.head);
                let (front, back) = self.tail.as_slices();
                spool.push(front);
                spool.push(back);
                self.spool = Some(spool);
            }
            Err(error) => tracing::warn!(%error, "failed to create a file for a long output"),
        }
    }

    /// The last bytes, up to `max`.
    pub(crate) fn tail(&self, max: usize) -> Vec<u8> {
        let skip = (self.head.len() + self.tail.len()).saturating_sub(max);
        let all = self.head.iter().chain(&self.tail).copied();
        all.skip(skip).collect()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Total number of bytes so far.
    pub(crate) const fn total(&self) -> u64 {
        self.total
    }

    /// The text so far in up to `max` bytes, cut between characters. Invalid bytes are replaced;
    /// binary output is only reported with its size.
    pub(crate) fn captured(&mut self, max: usize) -> Captured {
        let retained = (self.head.len() + self.tail.len()) as u64;
        let is_complete = retained == self.total;
        if self.is_binary() {
            if is_complete {
                self.spool();
            }
            let location_note = self.location_note();
            let total = self.total;
            return Captured {
                text: format!("[{total} bytes of binary data{location_note}]\n"),
                truncated_bytes: total,
            };
        }
        if is_complete && self.total <= max as u64 {
            let bytes: Vec<u8> = self.head.iter().chain(&self.tail).copied().collect();
            return Captured {
                text: String::from_utf8_lossy(&bytes).into_owned(),
                truncated_bytes: 0,
            };
        }
        if is_complete {
            self.spool();
        }
        let (head, tail) = self.head_and_tail(max);
        let (head, tail) = (without_broken_end(&head), without_broken_start(&tail));
        let truncated_bytes = self.total - (head.len() + tail.len()) as u64;
        let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
        let location_note = self.location_note();
        Captured {
            text: format!("{head}\n[{truncated_bytes} bytes left out{location_note}]\n{tail}"),
            truncated_bytes,
        }
    }

    /// The first and last bytes, together up to `max`.
    fn head_and_tail(&self, max: usize) -> (Vec<u8>, Vec<u8>) {
        let max = max.min(self.head_max + self.tail_max);
        let first = max.div_ceil(2).min(self.head.len());
        let head = self.head[..first].to_vec();
        (head, self.tail((max - first).min(self.tail_max)))
    }

    fn location_note(&self) -> String {
        let note = self.spool.as_ref().map(Spool::location_note);
        note.map(|note| format!("; {note}")).unwrap_or_default()
    }

    /// Whether the retained bytes have too many invalid or control bytes for text.
    fn is_binary(&self) -> bool {
        let retained: Vec<u8> = self.head.iter().chain(&self.tail).copied().collect();
        if retained.len() < MIN_BINARY_BYTES {
            return false;
        }
        let odd: usize = retained
            .utf8_chunks()
            .map(|chunk| chunk.invalid().len() + chunk.valid().chars().filter(is_odd).count())
            .sum();
        odd * 100 > retained.len() * MAX_ODD_PERCENT
    }
}

/// Whether a character occurs neither in text nor in terminal control sequences.
fn is_odd(c: &char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\x08' | '\x0c' | '\x07' | '\x1b')
}

/// Length of the character that starts with this byte; `None` for a continuation byte.
const fn length_of(byte: u8) -> Option<usize> {
    match byte {
        0x80..=0xBF => None,
        0xC2..=0xDF => Some(2),
        0xE0..=0xEF => Some(3),
        0xF0..=0xF4 => Some(4),
        _ => Some(1),
    }
}

fn without_broken_end(bytes: &[u8]) -> &[u8] {
    let last = bytes
        .iter()
        .rev()
        .take(4)
        .position(|byte| length_of(*byte).is_some());
    let Some(back) = last.map(|from_end| from_end + 1) else {
        return bytes;
    };
    let start = bytes.len() - back;
    let broken = length_of(bytes[start]).is_some_and(|length| length > back);
    if broken { &bytes[..start] } else { bytes }
}

fn without_broken_start(bytes: &[u8]) -> &[u8] {
    // Four continuation bytes in a row are not UTF-8 anyway.
    let middle = bytes
        .iter()
        .take_while(|byte| length_of(**byte).is_none())
        .count();
    if middle > 3 { bytes } else { &bytes[middle..] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(max: usize, chunks: &[&str], text: &str, truncated_bytes: u64) {
        let mut capture = Capture::new(max);
        for chunk in chunks {
            capture.push(chunk.as_bytes());
        }
        assert_eq!(
            capture.captured(max),
            Captured {
                text: text.to_owned(),
                truncated_bytes
            }
        );
    }

    #[test]
    fn keeps_output_below_the_limit() {
        check(10, &[], "", 0);
        check(10, &["01234", "56789"], "0123456789", 0);
    }

    #[test]
    fn keeps_head_and_tail_of_long_output() {
        check(10, &["01234567890"], "01234\n[1 bytes left out]\n67890", 1);
        check(4, &["ab", "cdefgh", "ij"], "ab\n[6 bytes left out]\nij", 6);
        check(0, &["abc"], "\n[3 bytes left out]\n", 3);
    }

    #[test]
    fn never_cuts_a_character() {
        check(8, &["aéé€€€€ééz"], "aé\n[16 bytes left out]\néz", 16);
        check(6, &["🙂🙂🙂"], "\n[12 bytes left out]\n", 12);
    }

    #[test]
    fn replaces_invalid_bytes() {
        let mut capture = Capture::new(100);
        capture.push(b"a\xff\xfeb\0");
        assert_eq!(capture.captured(100).text, "a\u{fffd}\u{fffd}b\0");
    }

    #[test]
    fn a_smaller_limit_shortens_retained_output() {
        let mut capture = Capture::new(100);
        capture.push(b"0123456789");
        assert_eq!(capture.captured(4).text, "01\n[6 bytes left out]\n89");
        assert_eq!(capture.captured(10).text, "0123456789");
    }

    #[test]
    fn binary_output_is_summarized() {
        let mut capture = Capture::new(1000);
        capture.push(&[0; 80]);
        let binary = capture.captured(1000);
        assert_eq!(binary.text, "[80 bytes of binary data]\n");
        assert_eq!(binary.truncated_bytes, 80);
        let mut capture = Capture::new(1000);
        capture.push(
            "a name\0another name\0ünï\0\x1b[31mred"
                .repeat(9)
                .as_bytes(),
        );
        assert_eq!(capture.captured(1000).truncated_bytes, 0);
    }

    #[test]
    fn long_output_is_completely_in_a_file() {
        let parent = tempfile::tempdir().expect("a folder");
        let spools = Spools::new(parent.path(), Some("/in"), None).expect("spools");
        let mut capture = Capture::spooled(10, &spools);
        for part in ["0123", "4567", "89abcdef", "gh"] {
            capture.push(part.as_bytes());
        }
        let text = "01234\n[8 bytes left out; all of it is in /in/output-1]\ndefgh";
        assert_eq!(capture.captured(10).text, text);
        let file = std::fs::read(spools.folder().join("output-1")).expect("the file");
        assert_eq!(file, b"0123456789abcdefgh");
    }

    #[test]
    fn memory_is_bounded() {
        let mut capture = Capture::new(1000);
        for _ in 0..10_000 {
            capture.push(&[b'x'; 777]);
        }
        assert!(capture.head.capacity() + capture.tail.capacity() < 10_000);
        assert_eq!(capture.captured(1000).truncated_bytes, 7_769_000);
    }
}
