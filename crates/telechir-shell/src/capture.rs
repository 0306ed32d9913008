//! The beginning and the end of an output, in bounded memory.

use std::collections::VecDeque;

/// Collects bytes and keeps the first and the last of them.
#[derive(Debug)]
pub(crate) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_max: usize,
    tail_max: usize,
    total: u64,
}

/// A collected output as text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Captured {
    /// What was kept; a line says how much is missing between its parts.
    pub(crate) text: String,
    /// Bytes that were left out.
    pub(crate) truncated_bytes: u64,
}

impl Capture {
    /// Keeps up to `max` bytes, half of them from the beginning.
    pub(crate) fn new(max: usize) -> Self {
        let head_max = max.div_ceil(2);
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            head_max,
            tail_max: max - head_max,
            total: 0,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.head_max - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(self.tail_max)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.tail_max);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    /// The last bytes, at most so many.
    pub(crate) fn tail(&self, max: usize) -> Vec<u8> {
        let all = self.head.iter().chain(&self.tail).copied();
        let skip = (self.head.len() + self.tail.len()).saturating_sub(max);
        if self.tail.len() >= max {
            return self
                .tail
                .iter()
                .skip(self.tail.len() - max)
                .copied()
                .collect();
        }
        all.skip(skip).collect()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The text so far, without a broken character at a cut; bytes that are no text are replaced.
    pub(crate) fn to_captured(&self) -> Captured {
        let kept = (self.head.len() + self.tail.len()) as u64;
        if kept == self.total {
            let bytes: Vec<u8> = self.head.iter().chain(&self.tail).copied().collect();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            return Captured {
                text,
                truncated_bytes: 0,
            };
        }
        let head = without_broken_end(&self.head);
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let tail = without_broken_start(&tail);
        let truncated_bytes = self.total - (head.len() + tail.len()) as u64;
        let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
        let text = format!("{head}\n[{truncated_bytes} bytes left out]\n{tail}");
        Captured {
            text,
            truncated_bytes,
        }
    }
}

/// Bytes of the character that this byte begins; none for one in the middle.
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
    let begin = bytes.len() - back;
    let broken = length_of(bytes[begin]).is_some_and(|length| length > back);
    if broken { &bytes[..begin] } else { bytes }
}

fn without_broken_start(bytes: &[u8]) -> &[u8] {
    // Four in a row belong to no character: then it is no text anyway.
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
            capture.to_captured(),
            Captured {
                text: text.to_owned(),
                truncated_bytes
            }
        );
    }

    #[test]
    fn keeps_all_that_fits() {
        check(10, &[], "", 0);
        check(10, &["01234", "56789"], "0123456789", 0);
    }

    #[test]
    fn keeps_head_and_tail_of_what_does_not() {
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
    fn replaces_what_is_no_text() {
        let mut capture = Capture::new(100);
        capture.push(b"a\xff\xfeb\0");
        assert_eq!(capture.to_captured().text, "a\u{fffd}\u{fffd}b\0");
    }

    #[test]
    fn memory_is_bounded() {
        let mut capture = Capture::new(1000);
        for _ in 0..10_000 {
            capture.push(&[b'x'; 777]);
        }
        assert!(capture.head.capacity() + capture.tail.capacity() < 10_000);
        assert_eq!(capture.to_captured().truncated_bytes, 7_769_000);
    }
}
