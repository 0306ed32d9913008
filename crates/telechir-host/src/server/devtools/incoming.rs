//! Messages of a program that its connection has not looked at yet: so many, and so many bytes.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Messages that wait at the same time.
const MAX_MESSAGES: usize = 1024;
/// Bytes of those, unless a single one has more.
const MAX_BYTES: u32 = 64 << 20;

/// Where messages arrive.
#[derive(Clone, Debug)]
pub(in crate::server) struct IncomingSender {
    messages: mpsc::Sender<(String, OwnedSemaphorePermit)>,
    room: Arc<Semaphore>,
}

/// Where they are looked at.
#[derive(Debug)]
pub(super) struct IncomingReceiver {
    messages: mpsc::Receiver<(String, OwnedSemaphorePermit)>,
}

/// A queue without messages.
pub(super) fn queue() -> (IncomingSender, IncomingReceiver) {
    let (sender, messages) = mpsc::channel(MAX_MESSAGES);
    let room = Arc::new(Semaphore::new(MAX_BYTES as usize));
    let sender = IncomingSender {
        messages: sender,
        room,
    };
    (sender, IncomingReceiver { messages })
}

impl IncomingSender {
    /// Adds a message; waits for room while earlier ones wait for the policy. False if the connection
    /// has ended.
    pub(in crate::server) async fn send(&self, message: String) -> bool {
        let bytes = u32::try_from(message.len()).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).acquire_many_owned(bytes.min(MAX_BYTES));
        let room = tokio::select! {
            room = room => room,
            () = self.messages.closed() => return false,
        };
        match room {
            Ok(room) => self.messages.send((message, room)).await.is_ok(),
            Err(_) => false,
        }
    }
}

impl IncomingReceiver {
    /// The next message; none once nobody can send one. Cancel-safe.
    pub(super) async fn recv(&mut self) -> Option<String> {
        let next = self.messages.recv().await;
        next.map(|(message, _room)| message)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn messages_wait_for_room_by_their_bytes() {
        let (sender, mut receiver) = queue();
        let large = "x".repeat(MAX_BYTES as usize / 4);
        for _ in 0..4 {
            assert!(sender.send(large.clone()).await);
        }
        let mut next = Box::pin(sender.send("the next".to_owned()));
        assert_eq!((&mut next).now_or_never(), None, "there is no room");
        assert_eq!(receiver.recv().await, Some(large));
        assert!(next.await);
        // One that is larger than all of the room comes alone.
        drop(receiver);
        assert!(!sender.send("x".to_owned()).await);
        let (sender, mut receiver) = queue();
        assert!(sender.send("x".repeat(MAX_BYTES as usize + 1)).await);
        let mut next = Box::pin(sender.send("the next".to_owned()));
        assert_eq!((&mut next).now_or_never(), None, "there is no room");
        assert!(receiver.recv().await.is_some());
        assert!(next.await);
    }

    #[tokio::test]
    async fn whoever_waits_for_room_sees_the_end() {
        let (sender, receiver) = queue();
        assert!(sender.send("x".repeat(MAX_BYTES as usize)).await);
        let mut next = Box::pin(sender.send("the next".to_owned()));
        assert_eq!((&mut next).now_or_never(), None);
        drop(receiver);
        assert!(!next.await);
    }
}
