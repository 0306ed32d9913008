//! The client's end of a connection: any number of requests at once, told apart by their numbers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::task::{AbortHandle, spawn};

use crate::HostError;
use crate::error::HostErrorKind;
use crate::frames::{MAX_CALL_BYTES, MessageReader, MessageWriter};
use crate::message::{HostReply, HostRequest, Reply, Request};

/// Maximum number of replies to one request that wait to be read. With one more the request ends with
/// an error; the replies to others are never delayed.
const MAX_UNREAD: usize = 64;

/// A connection that passed the version check.
#[derive(Debug)]
pub(crate) struct Connection {
    name: String,
    writer: MessageWriter,
    routes: Arc<Mutex<Routes>>,
    next_id: AtomicU64,
    reading: AbortHandle,
}

/// Who waits for which reply.
#[derive(Debug, Default)]
struct Routes {
    senders: HashMap<u64, mpsc::Sender<HostReply>>,
    /// Why no reply comes any more.
    lost: Option<String>,
}

impl Connection {
    pub(crate) fn new(name: String, reader: MessageReader, writer: MessageWriter) -> Arc<Self> {
        let routes = Arc::<Mutex<Routes>>::default();
        let reading = spawn(dispatch(reader, Arc::clone(&routes))).abort_handle();
        Arc::new(Self {
            name,
            writer,
            routes,
            next_id: AtomicU64::new(1),
            reading,
        })
    }

    /// Sends a request.
    pub(crate) async fn request(
        self: &Arc<Self>,
        request: HostRequest,
    ) -> Result<Exchange, HostError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, replies) = mpsc::channel(MAX_UNREAD);
        {
            let mut routes = lock(&self.routes);
            if let Some(reason) = &routes.lost {
                return Err(self.lost(reason, "nothing was executed"));
            }
            routes.senders.insert(id, sender);
        }
        let exchange = Exchange {
            id,
            replies,
            connection: Arc::clone(self),
        };
        let sent = self.writer.send(&Request { id, request }).await;
        sent.map_err(|e| self.lost(&e.to_string(), "the request was not sent"))?;
        Ok(exchange)
    }

    /// Whether the session host still replies.
    pub(crate) fn is_open(&self) -> bool {
        lock(&self.routes).lost.is_none()
    }

    /// Sends a request from where nothing can wait; its reply is ignored.
    pub(crate) fn request_later(self: &Arc<Self>, request: HostRequest) {
        let connection = Arc::clone(self);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                // With the connection the session host ends what the request is about.
                let _lost = connection.request(request).await;
            });
        }
    }

    fn lost(&self, reason: &str, context: &str) -> HostError {
        let message = format!(
            "lost the session host of {} ({reason}); {context}",
            self.name
        );
        HostError::of(HostErrorKind::Lost, message)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

/// Passes replies on until the connection ends.
async fn dispatch(mut reader: MessageReader, routes: Arc<Mutex<Routes>>) {
    let reason = loop {
        match reader.next::<Reply>(MAX_CALL_BYTES).await {
            Ok(Some(Reply { id, reply })) => {
                let mut routes = lock(&routes);
                // The receiver may have lost interest.
                if let Some(sender) = routes.senders.get(&id)
                    && let Err(TrySendError::Full(_)) = sender.try_send(reply)
                {
                    routes.senders.remove(&id);
                }
            }
            Ok(None) => break "it exited".to_owned(),
            Err(error) => break error.to_string(),
        }
    };
    let mut routes = lock(&routes);
    routes.lost = Some(reason);
    routes.senders.clear();
}

fn lock(routes: &Mutex<Routes>) -> MutexGuard<'_, Routes> {
    routes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request and its replies.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) id: u64,
    replies: mpsc::Receiver<HostReply>,
    pub(crate) connection: Arc<Connection>,
}

impl Exchange {
    /// The next reply. Cancel-safe. An error of a lost connection ends with `context`.
    pub(crate) async fn next(&mut self, context: &str) -> Result<HostReply, HostError> {
        match self.replies.recv().await {
            Some(HostReply::Failed { message, kind }) => Err(HostError::of(kind, message)),
            Some(reply) => Ok(reply),
            None => {
                let reason = lock(&self.connection.routes).lost.clone();
                Err(match reason {
                    Some(reason) => self.connection.lost(&reason, context),
                    None => HostError::new(format!(
                        "more than {MAX_UNREAD} replies of the session host of {} were not read; {context}",
                        self.connection.name
                    )),
                })
            }
        }
    }

    pub(crate) fn unexpected(&self) -> HostError {
        HostError::new(format!(
            "the session host of {} sent an unexpected message",
            self.connection.name
        ))
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        lock(&self.connection.routes).senders.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::UnixStream;

    use super::*;

    #[tokio::test]
    async fn replies_that_are_not_read_delay_no_others() {
        let (own, host) = UnixStream::pair().unwrap();
        let (reader, writer) = own.into_split();
        let (_requests, host) = host.into_split();
        let host = MessageWriter::new(host);
        let reader = MessageReader::new(reader);
        let connection = Connection::new("a".to_owned(), reader, MessageWriter::new(writer));
        let mut unread = connection.request(HostRequest::Describe).await.unwrap();
        let mut read = connection.request(HostRequest::Describe).await.unwrap();
        for _ in 0..=MAX_UNREAD {
            let reply = HostReply::Started;
            host.send(&Reply {
                id: unread.id,
                reply,
            })
            .await
            .unwrap();
        }
        let reply = HostReply::Done;
        host.send(&Reply { id: read.id, reply }).await.unwrap();
        let reply = read.next("").await.unwrap();
        assert!(matches!(reply, HostReply::Done));
        for _ in 0..MAX_UNREAD {
            let reply = unread.next("").await.unwrap();
            assert!(matches!(reply, HostReply::Started));
        }
        let error = unread.next("send it again").await.unwrap_err();
        assert!(
            error.to_string().contains("were not read; send it again"),
            "{error}"
        );
        assert!(connection.is_open());
    }
}
