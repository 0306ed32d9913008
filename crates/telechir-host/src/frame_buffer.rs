//! Messages in a stream of bytes: a length of four bytes, then JSON. Longer messages than allowed are
//! rejected before they are read.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Size of the buffer that a long message does not leave larger.
const RETAINED_BYTES: usize = 1 << 20;

/// Bytes that were received and belong to no message that was taken.
#[derive(Debug, Default)]
pub(crate) struct FrameBuffer {
    bytes: Vec<u8>,
    /// Length of the last message in bytes.
    pub(crate) last_length: usize,
}

impl FrameBuffer {
    /// Where to append what is received.
    pub(crate) fn space(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The first message, if it is complete. After an error the rest of the stream is unreadable.
    pub(crate) fn next_message<T: DeserializeOwned>(
        &mut self,
        max: usize,
    ) -> io::Result<Option<T>> {
        let Some((length, rest)) = self.bytes.split_first_chunk::<4>() else {
            return Ok(None);
        };
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        if length > max {
            return Err(too_long(length, max));
        }
        let Some(body) = rest.get(..length) else {
            return Ok(None);
        };
        let message = serde_json::from_slice(body);
        self.bytes.drain(..4 + length);
        if self.bytes.capacity() > RETAINED_BYTES && self.bytes.len() < RETAINED_BYTES {
            self.bytes.shrink_to(RETAINED_BYTES);
        }
        self.last_length = length;
        Ok(Some(message?))
    }
}

/// A message with its length in front.
pub(crate) fn encode(message: &impl Serialize, max: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let length = bytes.len() - 4;
    if length > max {
        return Err(too_long(length, max));
    }
    let length = u32::try_from(length).map_err(io::Error::other)?;
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    Ok(bytes)
}

fn too_long(length: usize, max: usize) -> io::Error {
    let text = format!("message has {length} bytes; the maximum is {max}");
    io::Error::new(io::ErrorKind::InvalidData, text)
}
