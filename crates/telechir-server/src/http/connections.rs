//! The open connections of a server: how many there are, and which one makes room for another.
//!
//! A connection is in use while a request of a known principal is answered on it, and only the limits of
//! the principals bound these. Every other one is closed for a new connection once there are too many:
//! whoever opens connections and sends nothing keeps nobody out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::{Notify, oneshot};

/// Connections at the same time.
pub(super) const MAX_CONNECTIONS: usize = 1024;

/// The open connections.
#[derive(Debug)]
pub(super) struct ConnectionTable {
    max: usize,
    open: Mutex<OpenConnections>,
    /// A connection ended, or is not in use any more. Only the listener waits for it.
    changed: Notify,
}

#[derive(Debug, Default)]
struct OpenConnections {
    /// Counts what happens, as the order of connections and of their last uses.
    clock: u64,
    by_id: HashMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    /// Requests that are answered on it.
    requests: usize,
    /// When it was opened, or was last in use.
    idle_since: u64,
    /// Closes it; absent once it is being closed.
    close: Option<oneshot::Sender<()>>,
}

/// One of the open connections; dropping it makes room.
#[derive(Debug)]
pub(super) struct Connection {
    id: u64,
    table: Arc<ConnectionTable>,
    closed: oneshot::Receiver<()>,
}

/// Marks a connection as in use. The default one is of no listener.
#[derive(Clone, Debug, Default)]
pub(super) struct ConnectionUse {
    id: u64,
    table: Weak<ConnectionTable>,
}

/// A connection is in use until this is dropped.
#[derive(Debug)]
pub(super) struct InUse(ConnectionUse);

impl ConnectionTable {
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self {
            max,
            open: Mutex::default(),
            changed: Notify::new(),
        })
    }

    /// Adds a connection. If there are too many, the one that is not in use for the longest time is
    /// closed; if all are in use, this waits. Cancel-safe.
    pub(super) async fn admit(self: &Arc<Self>) -> Connection {
        loop {
            if let Some(connection) = self.try_admit() {
                return connection;
            }
            // A change before this is remembered.
            self.changed.notified().await;
        }
    }

    fn try_admit(self: &Arc<Self>) -> Option<Connection> {
        let mut open = self.lock();
        if open.by_id.len() >= self.max {
            open.close_one();
            return None;
        }
        let id = open.tick();
        let (close, closed) = oneshot::channel();
        let entry = Entry {
            requests: 0,
            idle_since: id,
            close: Some(close),
        };
        open.by_id.insert(id, entry);
        drop(open);
        let table = Arc::clone(self);
        Some(Connection { id, table, closed })
    }

    fn lock(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenConnections {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Closes the connection that is not in use for the longest time, unless one is being closed.
    fn close_one(&mut self) {
        if self.by_id.values().any(|entry| entry.close.is_none()) {
            return;
        }
        let idle = self.by_id.values_mut().filter(|entry| entry.requests == 0);
        let longest = idle.min_by_key(|entry| entry.idle_since);
        if let Some(close) = longest.and_then(|entry| entry.close.take()) {
            let _or_it_ends_anyway = close.send(());
        }
    }
}

impl Connection {
    /// For the requests of this connection.
    pub(super) fn usage(&self) -> ConnectionUse {
        ConnectionUse {
            id: self.id,
            table: Arc::downgrade(&self.table),
        }
    }

    /// Ends when this connection makes room for another. Cancel-safe.
    pub(super) async fn closed(&mut self) {
        if (&mut self.closed).await.is_err() {
            std::future::pending().await
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.table.lock().by_id.remove(&self.id);
        self.table.changed.notify_one();
    }
}

impl ConnectionUse {
    /// Begins a request of a known principal.
    pub(super) fn begin(&self) -> InUse {
        if let Some(table) = self.table.upgrade()
            && let Some(entry) = table.lock().by_id.get_mut(&self.id)
        {
            entry.requests += 1;
        }
        InUse(self.clone())
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        let Some(table) = self.0.table.upgrade() else {
            return;
        };
        let mut open = table.lock();
        let now = open.tick();
        if let Some(entry) = open.by_id.get_mut(&self.0.id) {
            entry.requests = entry.requests.saturating_sub(1);
            entry.idle_since = now;
        }
        drop(open);
        table.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// What a future is right now.
    fn poll<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Poll<T> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    fn is_closed(connection: &mut Connection) -> bool {
        poll(pin!(connection.closed())).is_ready()
    }

    #[tokio::test]
    async fn the_connection_without_a_request_for_the_longest_time_makes_room() {
        let table = ConnectionTable::new(3);
        let mut first = table.admit().await;
        let mut second = table.admit().await;
        let mut third = table.admit().await;
        let in_use = first.usage().begin();
        // The second was in use later than the third.
        drop(second.usage().begin());
        let mut another = pin!(table.admit());
        assert!(
            poll(another.as_mut()).is_pending(),
            "the third is closed first"
        );
        let closed = [&mut first, &mut second, &mut third].map(is_closed);
        assert_eq!(closed, [false, false, true]);
        drop(third);
        let mut fourth = another.await;
        // Both that are left were in use or are new; the older use counts.
        let mut another = pin!(table.admit());
        assert!(poll(another.as_mut()).is_pending());
        assert_eq!(
            [&mut first, &mut second, &mut fourth].map(is_closed),
            [false, true, false]
        );
        drop((second, in_use));
        another.await;
    }

    #[tokio::test]
    async fn connections_in_use_are_waited_for() {
        let table = ConnectionTable::new(1);
        let mut only = table.admit().await;
        let (one, two) = (only.usage().begin(), only.usage().begin());
        let mut another = pin!(table.admit());
        assert!(poll(another.as_mut()).is_pending());
        drop(one);
        assert!(poll(another.as_mut()).is_pending());
        assert!(!is_closed(&mut only));
        drop(two);
        assert!(poll(another.as_mut()).is_pending(), "it is closed first");
        assert!(is_closed(&mut only));
        drop(only);
        assert!(poll(another.as_mut()).is_ready());
    }
}
