//! A connection that counts what moves on it and ends when nothing does.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// How much a session moved, and how much it may.
#[derive(Debug)]
pub(crate) struct Budget {
    spent: AtomicU64,
    pub(crate) most: u64,
}

impl Budget {
    pub(crate) const fn new(most: u64) -> Self {
        Self {
            spent: AtomicU64::new(0),
            most,
        }
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.spent.load(Ordering::Relaxed) >= self.most
    }

    fn spend(&self, bytes: usize) -> io::Result<()> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        if self.spent.fetch_add(bytes, Ordering::Relaxed) >= self.most {
            return Err(io::Error::other("the session has moved all bytes it may"));
        }
        Ok(())
    }
}

/// A connection with the network.
#[derive(Debug)]
pub(crate) struct Metered {
    stream: TcpStream,
    budget: Arc<Budget>,
    idle: Duration,
    moved: Instant,
    alarm: Pin<Box<Sleep>>,
}

impl Metered {
    pub(crate) fn new(stream: TcpStream, budget: Arc<Budget>, idle: Duration) -> Self {
        Self {
            stream,
            budget,
            idle,
            moved: Instant::now(),
            alarm: Box::pin(sleep(idle)),
        }
    }

    /// Counts what moved, or sees whether nothing did for too long.
    fn note<T>(
        &mut self,
        context: &mut Context<'_>,
        moved: Poll<io::Result<T>>,
        bytes: usize,
    ) -> Poll<io::Result<T>> {
        if moved.is_ready() {
            self.moved = Instant::now();
            if bytes > 0 {
                self.budget.spend(bytes)?;
            }
            return moved;
        }
        while self.alarm.as_mut().poll(context).is_ready() {
            let end = self.moved + self.idle;
            if end <= Instant::now() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            self.alarm.as_mut().reset(end);
        }
        Poll::Pending
    }
}

impl AsyncRead for Metered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let bytes = buffer.filled().len() - before;
        self.note(context, read, bytes)
    }
}

impl AsyncWrite for Metered {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        let count = match &written {
            Poll::Ready(Ok(count)) => *count,
            Poll::Ready(Err(_)) | Poll::Pending => 0,
        };
        self.note(context, written, count)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
