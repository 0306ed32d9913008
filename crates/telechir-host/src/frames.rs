//! Messages on a socket.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::time::Duration;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::Pid;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncWriteExt as _, Interest};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::frame_buffer::{FrameBuffer, encode};

/// Maximum bytes of a control message.
pub(crate) const MAX_CONTROL_BYTES: usize = 1 << 20;
/// Maximum bytes of a message with calls or results, which contain screenshots.
pub(crate) const MAX_CALL_BYTES: usize = 256 << 20;

/// Bytes that are received at once: few for a short message, because room for more has to be zeroed
/// each time, and as many as have arrived of a long one.
const MIN_CHUNK_BYTES: usize = 4 << 10;
const MAX_CHUNK_BYTES: usize = 256 << 10;

/// Timeout for writing to a peer that does not read.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Reads messages from a socket.
#[derive(Debug)]
pub(crate) struct MessageReader {
    socket: OwnedReadHalf,
    buffer: FrameBuffer,
    received: Received,
}

/// The process that sent what was received since the buffer was empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Received {
    Nothing,
    From(Pid),
    /// From several processes, or the socket does not report who sends.
    Unknown,
}

impl Received {
    /// With further bytes of this sender.
    fn and(self, sender: Option<Pid>) -> Self {
        match (self, sender) {
            (Self::Nothing, Some(pid)) => Self::From(pid),
            (Self::From(pid), Some(same)) if pid == same => self,
            _ => Self::Unknown,
        }
    }
}

impl MessageReader {
    pub(crate) fn new(socket: OwnedReadHalf) -> Self {
        Self {
            socket,
            buffer: FrameBuffer::default(),
            received: Received::Nothing,
        }
    }

    /// The next message; none at the end of the stream. Cancel-safe.
    pub(crate) async fn next<T: DeserializeOwned>(&mut self, max: usize) -> io::Result<Option<T>> {
        loop {
            if let Some(message) = self.buffer.next_message(max)? {
                return Ok(Some(message));
            }
            if self.buffer.is_empty() {
                self.received = Received::Nothing;
            }
            if self.receive().await? == 0 {
                return match self.buffer.is_empty() {
                    true => Ok(None),
                    false => Err(io::ErrorKind::UnexpectedEof.into()),
                };
            }
        }
    }

    /// Waits until something has arrived.
    #[cfg(test)]
    pub(crate) async fn readable(&self) -> io::Result<()> {
        self.socket.readable().await
    }

    /// Length of the last message in bytes.
    pub(crate) fn last_length(&self) -> usize {
        self.buffer.last_length
    }

    /// The process that sent the last message; none if that is not known.
    pub(crate) fn sender(&self) -> Option<Pid> {
        match self.received {
            Received::From(pid) => Some(pid),
            Received::Nothing | Received::Unknown => None,
        }
    }

    /// Receives what has arrived, with its sender. Cancel-safe: nothing changes before it arrives.
    async fn receive(&mut self) -> io::Result<usize> {
        let socket: &UnixStream = self.socket.as_ref();
        let buffer = self.buffer.space();
        let arrived = socket.async_io(Interest::READABLE, || receive_into(socket, buffer));
        let (bytes, sender) = arrived.await?;
        self.received = self.received.and(sender);
        Ok(bytes)
    }
}

/// Receives bytes of one sender at the end of a buffer, and who sent them if the socket reports it.
fn receive_into(socket: &UnixStream, buffer: &mut Vec<u8>) -> io::Result<(usize, Option<Pid>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let start = buffer.len();
    let chunk_bytes = start.clamp(MIN_CHUNK_BYTES, MAX_CHUNK_BYTES);
    buffer.resize(start + chunk_bytes, 0);
    let chunk = buffer.get_mut(start..).unwrap_or_default();
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let received = recvmsg(socket, &mut [IoSliceMut::new(chunk)], &mut control, flags);
    let bytes = received.as_ref().map_or(0, |received| received.bytes);
    buffer.truncate(start + bytes);
    received?;
    let sender = control.drain().find_map(|message| {
        let RecvAncillaryMessage::ScmCredentials(sender) = message else {
            return None;
        };
        Some(sender.pid)
    });
    Ok((bytes, sender))
}

/// Writes messages to a socket, one after the other, for any number of senders.
#[derive(Debug)]
pub(crate) struct MessageWriter {
    socket: Mutex<Option<OwnedWriteHalf>>,
}

impl MessageWriter {
    pub(crate) fn new(socket: OwnedWriteHalf) -> Self {
        Self {
            socket: Mutex::new(Some(socket)),
        }
    }

    /// Sends a complete message with one write. After an error, and after this was dropped half
    /// way, the connection is closed: the peer could not tell where the next message begins.
    pub(crate) async fn send(&self, message: &impl Serialize) -> io::Result<()> {
        let bytes = encode(message, MAX_CALL_BYTES)?;
        let mut socket = self.socket.lock().await;
        let Some(mut writing) = socket.take() else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        match timeout(WRITE_TIMEOUT, writing.write_all(&bytes)).await {
            Ok(written) => written?,
            Err(_) => return Err(io::ErrorKind::TimedOut.into()),
        }
        *socket = Some(writing);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::UnixStream;

    fn pair() -> (MessageReader, MessageWriter, UnixStream) {
        let (own, peer) = UnixStream::pair().unwrap();
        let (reader, writer) = own.into_split();
        (MessageReader::new(reader), MessageWriter::new(writer), peer)
    }

    #[tokio::test]
    async fn a_message_has_its_sender_if_the_socket_reports_it() {
        let (mut reader, _writer, peer) = pair();
        let (_, writer) = peer.into_split();
        let writer = MessageWriter::new(writer);
        writer.send(&"unknown").await.unwrap();
        let message: Option<String> = reader.next(MAX_CONTROL_BYTES).await.unwrap();
        assert_eq!(
            (message.as_deref(), reader.sender()),
            (Some("unknown"), None)
        );
        let socket: &UnixStream = reader.socket.as_ref();
        rustix::net::sockopt::set_socket_passcred(socket, true).unwrap();
        for text in ["known", "again"] {
            writer.send(&text).await.unwrap();
            let message: Option<String> = reader.next(MAX_CONTROL_BYTES).await.unwrap();
            assert_eq!(message.as_deref(), Some(text));
            assert_eq!(reader.sender(), Some(rustix::process::getpid()));
        }
    }

    #[test]
    fn a_message_of_two_senders_has_none() {
        let (one, other) = (Pid::from_raw(7), Pid::from_raw(8));
        let known = |pid: Option<Pid>| pid.map_or(Received::Unknown, Received::From);
        assert_eq!(Received::Nothing.and(one), known(one));
        assert_eq!(known(one).and(one), known(one));
        for (before, sender) in [
            (known(one), other),
            (known(one), None),
            (Received::Nothing, None),
            (Received::Unknown, one),
        ] {
            assert_eq!(before.and(sender), Received::Unknown, "{before:?}");
        }
    }

    #[tokio::test]
    async fn messages_arrive_complete_and_in_order() {
        let (mut reader, _writer, peer) = pair();
        let (_, writer) = peer.into_split();
        let writer = MessageWriter::new(writer);
        let long = "x".repeat(200_000);
        writer.send(&"first").await.unwrap();
        let (sent, read) = tokio::join!(writer.send(&long), async {
            let first: Option<String> = reader.next(MAX_CONTROL_BYTES).await.unwrap();
            let second: Option<String> = reader.next(MAX_CONTROL_BYTES).await.unwrap();
            (first, second)
        });
        sent.unwrap();
        assert_eq!(read, (Some("first".to_owned()), Some(long)));
        drop(writer);
        assert_eq!(
            reader.next::<String>(MAX_CONTROL_BYTES).await.unwrap(),
            None
        );
    }

    #[tokio::test]
    async fn a_message_above_the_limit_is_rejected_before_it_is_read() {
        let (mut reader, _writer, mut peer) = pair();
        peer.write_all(&u32::MAX.to_be_bytes()).await.unwrap();
        let error = reader.next::<String>(MAX_CONTROL_BYTES).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[tokio::test]
    async fn half_a_message_is_an_error() {
        let (mut reader, _writer, mut peer) = pair();
        peer.write_all(&[0, 0, 0, 9, b'"']).await.unwrap();
        drop(peer);
        let error = reader.next::<String>(MAX_CONTROL_BYTES).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
