//! The events of a session as a client receives them.

use telechir_runtime::RecordedEvent;

use crate::HostError;
use crate::connection::Exchange;
use crate::message::{HostReply, HostRequest};

/// Events in order, without gaps. While it is not read, its connection receives nothing else: use a
/// client of its own for it.
#[derive(Debug)]
pub struct EventStream {
    exchange: Exchange,
    next_row: u64,
}

impl EventStream {
    pub(crate) fn new(exchange: Exchange, from: u64) -> Self {
        let next_row = from;
        Self { exchange, next_row }
    }

    /// The next event; none when the session is closed. Cancel-safe.
    ///
    /// # Errors
    /// When the connection is lost. Subscribe again from [`Self::next_row`].
    pub async fn next(&mut self) -> Result<Option<RecordedEvent>, HostError> {
        let context = "subscribe again from the row after the last event";
        let reply = self.exchange.next(context).await?;
        if let HostReply::Event { row, at_ms, event } = reply {
            self.next_row = row + 1;
            return Ok(Some(RecordedEvent { row, at_ms, event }));
        }
        let HostReply::EventsEnded { next } = reply else {
            return Err(self.exchange.unexpected());
        };
        self.next_row = next;
        Ok(None)
    }

    /// The row to subscribe from to miss nothing.
    pub fn next_row(&self) -> u64 {
        self.next_row
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        let id = self.exchange.id;
        let connection = &self.exchange.connection;
        connection.request_later(HostRequest::Unsubscribe { id });
    }
}
