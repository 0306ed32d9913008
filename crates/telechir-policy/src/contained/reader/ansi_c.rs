//! Text in `$'…'`, with the escape sequences of C.

use super::{ScriptReader, UNKNOWN};

impl ScriptReader<'_> {
    /// The rest of `$'…'`.
    pub(super) fn ansi_c_quoted(&mut self) {
        let mut bytes = Vec::new();
        while let Some(c) = self.next().filter(|c| *c != '\'') {
            match c {
                '\\' => self.escaped(&mut bytes),
                plain => push_char(&mut bytes, plain),
            }
        }
        // bash ends the text at a zero byte.
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        let text = String::from_utf8_lossy(text);
        self.level.word.get_or_insert_default().push_str(&text);
    }

    /// Adds what an escape sequence in `$'…'` stands for.
    fn escaped(&mut self, bytes: &mut Vec<u8>) {
        let Some(c) = self.next() else {
            return;
        };
        match c {
            'a' => bytes.push(0x07),
            'b' => bytes.push(0x08),
            'e' | 'E' => bytes.push(0x1b),
            'f' => bytes.push(0x0c),
            'n' => bytes.push(b'\n'),
            'r' => bytes.push(b'\r'),
            't' => bytes.push(b'\t'),
            'v' => bytes.push(0x0b),
            'c' => {
                let control = self.next().and_then(|c| u8::try_from(c).ok());
                bytes.extend(control.map(|byte| byte & 0x1f));
            }
            'x' => bytes.extend(self.number(16, 2).map(|byte| (byte & 0xff) as u8)),
            '0'..='7' => {
                self.at -= 1;
                bytes.extend(self.number(8, 3).map(|byte| (byte & 0xff) as u8));
            }
            'u' | 'U' => {
                let code = self.number(16, if c == 'u' { 4 } else { 8 });
                push_char(bytes, code.and_then(char::from_u32).unwrap_or(UNKNOWN));
            }
            other => push_char(bytes, other),
        }
    }

    /// A number of at most so many digits; none without a digit.
    fn number(&mut self, radix: u32, max_digits: usize) -> Option<u32> {
        let mut value: Option<u32> = None;
        for _ in 0..max_digits {
            let Some(digit) = self.peek(0).and_then(|c| c.to_digit(radix)) else {
                break;
            };
            self.at += 1;
            value = Some(value.unwrap_or(0).wrapping_mul(radix).wrapping_add(digit));
        }
        value
    }
}

fn push_char(bytes: &mut Vec<u8>, c: char) {
    bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}
