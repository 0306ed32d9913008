//! Splits a byte stream into JSON values, one after another or as elements of one list.

use serde_json::Value;
use telechir_protocol::json_limits;

use crate::StreamError;
use crate::precision::ParsingLosses;

/// Parser state between two pushes.
#[derive(Debug, Default)]
pub(super) struct JsonStream {
    value: Vec<u8>,
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    list: ListState,
    number: usize,
    rounded: ParsingLosses,
}

/// Whether the values are elements of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum ListState {
    #[default]
    None,
    Open,
    Closed,
}

impl JsonStream {
    /// Takes bytes and returns the values that they complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Value>, StreamError> {
        let mut values = Vec::new();
        let mut start = 0;
        for (at, byte) in bytes.iter().enumerate() {
            if self.depth == 0 {
                self.between(*byte)?;
                start = at;
                continue;
            }
            self.within(*byte);
            if self.depth == 0 {
                self.value.extend_from_slice(&bytes[start..=at]);
                values.push(self.ended()?);
            }
        }
        if self.depth > 0 {
            self.value.extend_from_slice(&bytes[start..]);
        }
        Ok(values)
    }

    fn between(&mut self, byte: u8) -> Result<(), StreamError> {
        match (byte, self.list) {
            (b' ' | b'\t' | b'\r' | b'\n', _) => {}
            (b'[', ListState::None) if self.number == 0 => self.list = ListState::Open,
            (b']', ListState::Open) => self.list = ListState::Closed,
            (b',', ListState::Open) if self.number > 0 => {}
            (b'{', ListState::None | ListState::Open) => self.depth = 1,
            _ => {
                return Err(StreamError::bad_event(
                    self.number + 1,
                    format!("unexpected character {:?}", char::from(byte)),
                ));
            }
        }
        Ok(())
    }

    fn within(&mut self, byte: u8) {
        if self.in_string {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth -= 1,
            _ => {}
        }
    }

    fn ended(&mut self) -> Result<Value, StreamError> {
        self.number += 1;
        let value = std::mem::take(&mut self.value);
        self.rounded.check_event(&value);
        json_limits::parse(&value).map_err(|error| {
            StreamError::bad_event(self.number, format!("its data is not JSON: {error}"))
        })
    }

    /// Checks that the stream may end here. Adds the rounded numbers to `rounded`.
    pub(super) fn finish(self, rounded: &mut ParsingLosses) -> Result<(), StreamError> {
        let truncated = |missing: String| Err(StreamError::truncated(missing));
        if self.depth > 0 {
            return truncated(format!("value {} is incomplete", self.number + 1));
        }
        if self.list == ListState::Open {
            return truncated("the closing bracket of the list".to_owned());
        }
        rounded.absorb(self.rounded);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{JsonStream, ParsingLosses};

    #[test]
    fn every_split_gives_the_same_values() {
        let text = "[{\"a\": \"}\\\"]{\"}\n,\r\n{\"b\": [{}, \"gr\u{fc}\u{df}e\"]}]\n";
        let expected = [json!({"a": "}\"]{"}), json!({"b": [{}, "gr\u{fc}\u{df}e"]})];
        for cut in 0..=text.len() {
            let mut stream = JsonStream::default();
            let mut values = stream.push(&text.as_bytes()[..cut]).expect("values");
            values.extend(stream.push(&text.as_bytes()[cut..]).expect("values"));
            assert_eq!(values, expected, "cut at {cut}");
            stream
                .finish(&mut ParsingLosses::default())
                .expect("an end");
        }
        let mut stream = JsonStream::default();
        let bytewise: Vec<Value> = text
            .bytes()
            .flat_map(|byte| stream.push(&[byte]).expect("values"))
            .collect();
        assert_eq!(bytewise, expected);
    }

    #[test]
    fn rejects_truncated_and_foreign_bytes() {
        let mut stream = JsonStream::default();
        stream.push(b"[{\"a\": 1}").expect("values");
        assert!(stream.finish(&mut ParsingLosses::default()).is_err());
        assert!(JsonStream::default().push(b"[{}] x").is_err());
        assert!(JsonStream::default().push(b"[nonsense]").is_err());
    }
}
