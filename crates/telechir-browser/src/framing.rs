//! Messages to and from a browser: JSON, on a pipe each ended by a zero byte, or on a WebSocket.

use std::io;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;

use crate::socket::Socket;

/// No honest message is longer; a picture of a large screen is a tenth of it.
pub(crate) const LONGEST: usize = 256 << 20;

/// Takes messages out of the bytes that arrive.
#[derive(Debug, Default)]
pub(crate) struct Splitter {
    buffer: Vec<u8>,
    searched: usize,
}

impl Splitter {
    /// Takes bytes as they come.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole message, without its zero byte.
    pub(crate) fn next_message(&mut self) -> Option<Vec<u8>> {
        let Some(offset) = self.buffer[self.searched..]
            .iter()
            .position(|byte| *byte == 0)
        else {
            self.searched = self.buffer.len();
            return None;
        };
        let rest = self.buffer.split_off(self.searched + offset + 1);
        let mut message = std::mem::replace(&mut self.buffer, rest);
        message.pop();
        self.searched = 0;
        Some(message)
    }

    fn is_too_long(&self) -> bool {
        self.buffer.len() > LONGEST
    }
}

/// Hands every message to `each` until the pipe ends; says why it ended.
pub(crate) async fn read_all(mut pipe: Receiver, mut each: impl FnMut(Value)) -> String {
    let mut splitter = Splitter::default();
    let mut chunk = vec![0; 1 << 16];
    loop {
        match pipe.read(&mut chunk).await {
            Ok(0) => return "it closed its end of the pipe".to_owned(),
            Ok(count) => splitter.push(&chunk[..count]),
            Err(error) => return format!("reading its pipe failed: {error}"),
        }
        while let Some(message) = splitter.next_message() {
            match serde_json::from_slice(&message) {
                Ok(value) => each(value),
                Err(error) => return format!("it sent what is no JSON: {error}"),
            }
        }
        if splitter.is_too_long() {
            return "it sent a message without an end".to_owned();
        }
    }
}

/// Writes what arrives on the channel until it is closed or the pipe is.
pub(crate) async fn write_all(
    mut pipe: Sender,
    mut queue: mpsc::Receiver<String>,
) -> io::Result<()> {
    while let Some(message) = queue.recv().await {
        let mut bytes = message.into_bytes();
        bytes.push(0);
        pipe.write_all(&bytes).await?;
    }
    Ok(())
}

/// The same of a socket.
pub(crate) async fn hear_all(
    mut socket: SplitStream<Socket>,
    mut each: impl FnMut(Value),
) -> String {
    while let Some(message) = socket.next().await {
        let value = match message {
            Ok(Message::Text(text)) => serde_json::from_str(&text),
            Ok(Message::Binary(bytes)) => serde_json::from_slice(&bytes),
            Ok(Message::Close(_)) => break,
            Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => continue,
            Err(error) => return format!("its connection failed: {error}"),
        };
        match value {
            Ok(value) => each(value),
            Err(error) => return format!("it sent what is no JSON: {error}"),
        }
    }
    "it ended the connection".to_owned()
}

/// The same to a socket.
pub(crate) async fn say_all(
    mut socket: SplitSink<Socket, Message>,
    mut queue: mpsc::Receiver<String>,
) -> io::Result<()> {
    while let Some(message) = queue.recv().await {
        let sent = socket.send(Message::text(message)).await;
        sent.map_err(io::Error::other)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_messages_however_the_bytes_are_cut() {
        let bytes = b"{\"a\":1}\0{}\0[\"\xc3\xa9\"]\0";
        for size in 1..bytes.len() {
            let mut splitter = Splitter::default();
            let mut messages = Vec::new();
            for chunk in bytes.chunks(size) {
                splitter.push(chunk);
                while let Some(message) = splitter.next_message() {
                    messages.push(String::from_utf8(message).unwrap());
                }
            }
            assert_eq!(
                messages,
                ["{\"a\":1}", "{}", "[\"é\"]"],
                "in chunks of {size}"
            );
        }
    }
}
