//! Framing of CDP messages: terminated by a zero byte on a pipe, or WebSocket messages.

mod message_splitter;

use std::io;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;

use crate::socket::CdpSocket;

pub(crate) use message_splitter::MAX_MESSAGE_BYTES;
use message_splitter::MessageSplitter;

/// Passes every message to `on_message` until the pipe ends; returns why it ended.
pub(crate) async fn read_pipe(mut pipe: Receiver, mut on_message: impl FnMut(Value)) -> String {
    let mut splitter = MessageSplitter::default();
    let mut chunk = vec![0; 1 << 16];
    loop {
        match pipe.read(&mut chunk).await {
            Ok(0) => return "it closed its end of the pipe".to_owned(),
            Ok(count) => splitter.push(&chunk[..count]),
            Err(error) => return format!("reading its pipe failed: {error}"),
        }
        while let Some(message) = splitter.next_message() {
            match serde_json::from_slice(&message) {
                Ok(value) => on_message(value),
                Err(error) => return format!("it sent invalid JSON: {error}"),
            }
        }
        if splitter.is_too_long() {
            return "it sent a message that exceeds the size limit".to_owned();
        }
    }
}

/// Writes queued messages until the queue or the pipe is closed.
pub(crate) async fn write_pipe(
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

/// As `read_pipe`, for a WebSocket.
pub(crate) async fn read_socket(
    mut socket: SplitStream<CdpSocket>,
    mut on_message: impl FnMut(Value),
) -> String {
    while let Some(message) = socket.next().await {
        let value = match message {
            Ok(Message::Text(text)) => serde_json::from_str(&text),
            Ok(Message::Binary(bytes)) => serde_json::from_slice(&bytes),
            Ok(Message::Close(Some(close))) => {
                // Its text may repeat a token.
                return format!("it closed the connection with code {}", close.code);
            }
            Ok(Message::Close(None)) => break,
            Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => continue,
            Err(error) => return format!("its connection failed: {error}"),
        };
        match value {
            Ok(value) => on_message(value),
            Err(error) => return format!("it sent invalid JSON: {error}"),
        }
    }
    "it closed the connection".to_owned()
}

/// As `write_pipe`, for a WebSocket.
pub(crate) async fn write_socket(
    mut socket: SplitSink<CdpSocket, Message>,
    mut queue: mpsc::Receiver<String>,
) -> io::Result<()> {
    while let Some(message) = queue.recv().await {
        let sent = socket.send(Message::text(message)).await;
        sent.map_err(io::Error::other)?;
    }
    Ok(())
}
