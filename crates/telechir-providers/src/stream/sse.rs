//! Parses server-sent events from bytes that are split anywhere.
//!
//! Follows the HTML standard: lines end in CR, LF or CRLF; a line that starts with a colon is a
//! comment; several `data` lines of an event are joined by a line feed; an event ends at an empty
//! line. An incomplete event at the end of the bytes is dropped. A line that is a JSON object is an
//! event of its own: some services send one object per line instead of events.

use super::decoder::StreamError;

/// A server-sent event that is complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// The value of the `event` line.
    pub(crate) name: Option<String>,
    /// The values of the `data` lines, joined by line feeds.
    pub(crate) data: String,
}

/// Parser state between two pushes.
#[derive(Debug, Default)]
pub(crate) struct SseReader {
    line: Vec<u8>,
    /// The last byte was a CR; a LF that follows belongs to the same line ending.
    after_return: bool,
    /// The first line was read; only that line may start with a byte order mark.
    is_started: bool,
    open: SseEvent,
    has_data: bool,
    number: usize,
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

impl SseReader {
    /// Number of complete events so far.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Whether an event is incomplete.
    pub(crate) fn is_open(&self) -> bool {
        self.has_data || !self.line.is_empty()
    }

    /// Takes bytes and returns the events that they complete.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<SseEvent>, StreamError> {
        let mut events = Vec::new();
        if std::mem::take(&mut self.after_return)
            && let Some(rest) = bytes.strip_prefix(b"\n")
        {
            bytes = rest;
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
            self.line.extend_from_slice(&bytes[..end]);
            let is_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if is_return {
                match bytes.strip_prefix(b"\n") {
                    Some(rest) => bytes = rest,
                    None => self.after_return = bytes.is_empty(),
                }
            }
            let line = std::mem::take(&mut self.line);
            events.extend(self.line(&line)?);
        }
        self.line.extend_from_slice(bytes);
        Ok(events)
    }

    fn line(&mut self, line: &[u8]) -> Result<Option<SseEvent>, StreamError> {
        let line = if std::mem::replace(&mut self.is_started, true) {
            line
        } else {
            line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line)
        };
        if line.is_empty() {
            let event = std::mem::take(&mut self.open);
            let ended = std::mem::take(&mut self.has_data);
            self.number += usize::from(ended);
            return Ok(ended.then_some(event));
        }
        let line = std::str::from_utf8(line)
            .map_err(|_| StreamError::bad_event(self.number + 1, "it is not UTF-8"))?;
        if !self.has_data && line.starts_with('{') && line.trim_end().ends_with('}') {
            self.number += 1;
            return Ok(Some(SseEvent {
                name: self.open.name.take(),
                data: line.to_owned(),
            }));
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.open.name = Some(value.to_owned()),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.open.data.push('\n');
                }
                self.open.data.push_str(value);
            }
            _ => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::{SseEvent, SseReader};

    fn event(name: Option<&str>, data: &str) -> SseEvent {
        SseEvent {
            name: name.map(str::to_owned),
            data: data.to_owned(),
        }
    }

    #[test]
    fn every_split_gives_the_same_events() {
        let text = "\u{feff}event: a\r\ndata: {\"x\":\r\ndata:1}\r\n\r\n: still here\n\nid: 7\ndata: gr\u{fc}\u{df}e \u{1f600}\r\rdata\n\nevent: none\n\ndata: open";
        let expected = [
            event(Some("a"), "{\"x\":\n1}"),
            event(None, "gr\u{fc}\u{df}e \u{1f600}"),
            event(None, ""),
        ];
        for cut in 0..=text.len() {
            let mut reader = SseReader::default();
            let mut events = reader.push(&text.as_bytes()[..cut]).unwrap();
            events.extend(reader.push(&text.as_bytes()[cut..]).unwrap());
            assert_eq!(events, expected, "cut at {cut}");
            assert!(reader.is_open());
        }
        let mut reader = SseReader::default();
        let bytewise: Vec<SseEvent> = text
            .bytes()
            .flat_map(|byte| reader.push(&[byte]).unwrap())
            .collect();
        assert_eq!(bytewise, expected);
    }

    #[test]
    fn invalid_utf8_is_an_error_with_the_event_number() {
        let error = SseReader::default().push(b"data: \xff\n\n").unwrap_err();
        assert!(error.to_string().contains("event 1"), "{error}");
    }
}
