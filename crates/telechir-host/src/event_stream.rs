//! The events of a session as a client receives them.

use telechir_runtime::RecordedEvent;

use crate::HostError;
use crate::connection::Exchange;
use crate::message::{HostReply, HostRequest};

/// Events in order, without gaps. While it is not read, the session host sends no more of them; other
/// requests of the connection are answered all the same.
#[derive(Debug)]
pub struct EventStream {
    exchange: Exchange,
    next_row: u64,
    /// Events that were read and not reported to the session host.
    unreported: u32,
}

impl EventStream {
    /// Maximum number of events under way.
    pub(crate) const WINDOW: u32 = 32;

    pub(crate) fn new(exchange: Exchange, from: u64) -> Self {
        Self {
            exchange,
            next_row: from,
            unreported: 0,
        }
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
            self.report_read();
            return Ok(Some(RecordedEvent { row, at_ms, event }));
        }
        let HostReply::EventsEnded { next } = reply else {
            return Err(self.exchange.unexpected());
        };
        self.next_row = next;
        Ok(None)
    }

    /// Makes room for more events, half a window at once.
    fn report_read(&mut self) {
        self.unreported += 1;
        if self.unreported >= Self::WINDOW / 2 {
            let count = std::mem::take(&mut self.unreported);
            let id = self.exchange.id;
            let connection = &self.exchange.connection;
            connection.request_later(HostRequest::EventsRead { id, count });
        }
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
