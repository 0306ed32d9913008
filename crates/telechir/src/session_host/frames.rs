//! Messages on a socket: four bytes of length, then JSON. Nothing longer than its bound is read.

use std::io;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;

/// Bytes of a message that only arranges things.
pub(super) const SMALL: usize = 1 << 20;
/// Bytes of a message with calls or results, with pictures in them.
pub(super) const LARGE: usize = 256 << 20;

/// A reader that does not take its bytes any more is given up after so long.
const UNREAD: Duration = Duration::from_secs(30);

/// Reads messages.
#[derive(Debug)]
pub(super) struct Reader {
    socket: OwnedReadHalf,
    buffer: Vec<u8>,
}

impl Reader {
    pub(super) fn new(socket: OwnedReadHalf) -> Self {
        let buffer = Vec::new();
        Self { socket, buffer }
    }

    /// The next message; none when the other side is gone. Can be dropped and called again.
    pub(super) async fn next<T: DeserializeOwned>(&mut self, max: usize) -> io::Result<Option<T>> {
        loop {
            if let Some(message) = self.whole(max)? {
                return Ok(Some(message));
            }
            self.buffer.reserve(64 << 10);
            if self.socket.read_buf(&mut self.buffer).await? == 0 {
                return match self.buffer.is_empty() {
                    true => Ok(None),
                    false => Err(io::ErrorKind::UnexpectedEof.into()),
                };
            }
        }
    }

    /// The first message of the buffer, when all of it is there.
    fn whole<T: DeserializeOwned>(&mut self, max: usize) -> io::Result<Option<T>> {
        let Some((length, rest)) = self.buffer.split_first_chunk::<4>() else {
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
        self.buffer.drain(..4 + length);
        Ok(Some(message?))
    }
}

/// Writes messages.
#[derive(Debug)]
pub(super) struct Writer(OwnedWriteHalf);

impl Writer {
    pub(super) fn new(socket: OwnedWriteHalf) -> Self {
        Self(socket)
    }

    /// Sends a message whole. When this is dropped half way, nothing more can be sent.
    pub(super) async fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        let mut bytes = vec![0; 4];
        serde_json::to_writer(&mut bytes, message)?;
        let length = bytes.len() - 4;
        if length > LARGE {
            return Err(too_long(length, LARGE));
        }
        let length = u32::try_from(length).map_err(io::Error::other)?;
        bytes[..4].copy_from_slice(&length.to_be_bytes());
        match timeout(UNREAD, self.0.write_all(&bytes)).await {
            Ok(written) => written,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// Says that nothing more will be sent.
    pub(super) async fn finish(&mut self) {
        // The other side may be gone already.
        let _best_effort = self.0.shutdown().await;
    }
}

fn too_long(length: usize, max: usize) -> io::Error {
    let text = format!("a message of {length} bytes, where {max} are the most");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::UnixStream;

    fn pair() -> (Reader, Writer, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (reader, writer) = ours.into_split();
        (Reader::new(reader), Writer::new(writer), theirs)
    }

    #[tokio::test]
    async fn messages_arrive_whole_and_in_order() {
        let (mut reader, _writer, theirs) = pair();
        let (_, writer) = theirs.into_split();
        let mut writer = Writer::new(writer);
        let long = "x".repeat(200_000);
        writer.send(&"first").await.unwrap();
        let (sent, read) = tokio::join!(writer.send(&long), async {
            let first: Option<String> = reader.next(SMALL).await.unwrap();
            let second: Option<String> = reader.next(SMALL).await.unwrap();
            (first, second)
        });
        sent.unwrap();
        assert_eq!(read, (Some("first".to_owned()), Some(long)));
        drop(writer);
        assert_eq!(reader.next::<String>(SMALL).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_message_past_the_bound_is_refused_before_it_is_read() {
        let (mut reader, _writer, mut theirs) = pair();
        theirs.write_all(&u32::MAX.to_be_bytes()).await.unwrap();
        let error = reader.next::<String>(SMALL).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[tokio::test]
    async fn half_a_message_is_an_error() {
        let (mut reader, _writer, mut theirs) = pair();
        theirs.write_all(&[0, 0, 0, 9, b'"']).await.unwrap();
        drop(theirs);
        let error = reader.next::<String>(SMALL).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
