//! Decodes AWS event-stream frames from chunks of any size.
//!
//! A frame consists of its length, the length of its headers, a CRC-32 of these eight bytes,
//! headers, payload, and a CRC-32 of everything before; numbers are big-endian. A wrong checksum
//! ends the stream, because nothing after it can be trusted.

use crate::StreamError;

/// Size of the two lengths and their checksum.
const PRELUDE_BYTES: usize = 12;
/// Size of the frame's checksum.
const CHECKSUM_BYTES: usize = 4;
/// Maximum size of one frame by AWS's rule for event streams: 16 MiB of payload and 128 KiB of
/// headers.
const MAX_FRAME_BYTES: usize = 16 * 1024 * 1024 + 128 * 1024 + PRELUDE_BYTES + CHECKSUM_BYTES;

/// One decoded frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EventFrame {
    /// `:message-type`: `event`, `exception` or `error`.
    pub(super) kind: String,
    /// `:event-type` or `:exception-type` or `:error-code`.
    pub(super) name: String,
    /// `:error-message` of an `error`, which has no payload.
    pub(super) message: String,
    /// The body, usually JSON.
    pub(super) payload: Vec<u8>,
}

/// Decodes the frames of a byte stream.
#[derive(Debug, Default)]
pub(super) struct EventFrameReader {
    buffer: Vec<u8>,
    number: usize,
}

impl EventFrameReader {
    /// Whether the last frame is incomplete.
    pub(super) fn is_open(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Number of complete frames so far.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// Adds bytes and returns the frames that they complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<EventFrame>, StreamError> {
        self.buffer.extend_from_slice(bytes);
        let mut frames = Vec::new();
        let mut start = 0;
        while let Some(length) = self.length(start)? {
            let Some(frame) = self.buffer.get(start..start + length) else {
                break;
            };
            let frame = read(frame).map_err(|problem| self.bad(problem))?;
            frames.push(frame);
            self.number += 1;
            start += length;
        }
        self.buffer.drain(..start);
        Ok(frames)
    }

    /// The length of the frame at `start`; none until its prelude is complete.
    fn length(&self, start: usize) -> Result<Option<usize>, StreamError> {
        let Some(prelude) = self.buffer.get(start..start + PRELUDE_BYTES) else {
            return Ok(None);
        };
        let (total, headers) = (number(prelude, 0), number(prelude, 4));
        if number(prelude, 8) != crc32fast::hash(&prelude[..8]) as usize {
            return Err(self.bad("the checksum of its lengths is wrong".to_owned()));
        }
        if total > MAX_FRAME_BYTES || total < PRELUDE_BYTES + CHECKSUM_BYTES + headers {
            return Err(self.bad(format!("its lengths are impossible: {total} and {headers}")));
        }
        Ok(Some(total))
    }

    fn bad(&self, problem: String) -> StreamError {
        StreamError::bad_event(self.number + 1, problem)
    }
}

/// The 32-bit number at `at`; the caller checks the bounds.
fn number(bytes: &[u8], at: usize) -> usize {
    bytes[at..at + 4]
        .iter()
        .fold(0, |number, byte| number << 8 | usize::from(*byte))
}

fn read(frame: &[u8]) -> Result<EventFrame, String> {
    let (covered, checksum) = frame.split_at(frame.len() - CHECKSUM_BYTES);
    if number(checksum, 0) != crc32fast::hash(covered) as usize {
        return Err("its checksum is wrong".to_owned());
    }
    let (headers, payload) = covered[PRELUDE_BYTES..].split_at(number(covered, 4));
    let mut frame = EventFrame {
        kind: "event".to_owned(),
        payload: payload.to_vec(),
        ..EventFrame::default()
    };
    for (name, value) in headers_of(headers).ok_or("its headers are invalid")? {
        match name.as_str() {
            ":message-type" => frame.kind = value,
            ":event-type" | ":exception-type" | ":error-code" => frame.name = value,
            ":error-message" => frame.message = value,
            _ => {}
        }
    }
    Ok(frame)
}

/// The string headers; others are skipped.
fn headers_of(mut bytes: &[u8]) -> Option<Vec<(String, String)>> {
    let mut headers = Vec::new();
    while !bytes.is_empty() {
        let name = take(&mut bytes, 1)?[0];
        let name = String::from_utf8(take(&mut bytes, usize::from(name))?.to_vec()).ok()?;
        let kind = take(&mut bytes, 1)?[0];
        let length = match kind {
            0 | 1 => 0,
            2 => 1,
            3 => 2,
            4 => 4,
            5 | 8 => 8,
            9 => 16,
            6 | 7 => take(&mut bytes, 2)?
                .iter()
                .fold(0, |number, byte| number << 8 | usize::from(*byte)),
            _ => return None,
        };
        let value = take(&mut bytes, length)?;
        if kind == STRING {
            headers.push((name, String::from_utf8(value.to_vec()).ok()?));
        }
    }
    Some(headers)
}

/// Type of a string header.
const STRING: u8 = 7;

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests;
