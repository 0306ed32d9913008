//! A connection that counts its bytes and ends when it is idle for too long.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// Bytes that a session has transferred, and their limit.
#[derive(Debug)]
pub(crate) struct Budget {
    spent: AtomicU64,
    pub(crate) max_bytes: u64,
}

impl Budget {
    pub(crate) const fn new(max_bytes: u64) -> Self {
        Self {
            spent: AtomicU64::new(0),
            max_bytes,
        }
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.spent.load(Ordering::Relaxed) >= self.max_bytes
    }

    fn spend(&self, bytes: usize) -> io::Result<()> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        if self.spent.fetch_add(bytes, Ordering::Relaxed) >= self.max_bytes {
            return Err(io::Error::other("the session's byte limit is exceeded"));
        }
        Ok(())
    }
}

/// A connection to the network.
#[derive(Debug)]
pub(crate) struct Metered {
    stream: TcpStream,
    budget: Arc<Budget>,
    idle: Duration,
    last_activity: Instant,
    idle_timer: Pin<Box<Sleep>>,
}

impl Metered {
    pub(crate) fn new(stream: TcpStream, budget: Arc<Budget>, idle: Duration) -> Self {
        Self {
            stream,
            budget,
            idle,
            last_activity: Instant::now(),
            idle_timer: Box::pin(sleep(idle)),
        }
    }

    /// Counts transferred bytes, or checks the idle timeout.
    fn record<T>(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
        bytes: usize,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.last_activity = Instant::now();
            if bytes > 0 {
                self.budget.spend(bytes)?;
            }
            return polled;
        }
        while self.idle_timer.as_mut().poll(context).is_ready() {
            let end = self.last_activity + self.idle;
            if end <= Instant::now() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            self.idle_timer.as_mut().reset(end);
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
        self.record(context, read, bytes)
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
        self.record(context, written, count)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpListener;
    use tokio::time::{advance, pause};

    use super::*;

    /// A metered connection and its other end.
    async fn pair(max_bytes: u64, idle: Duration) -> (Metered, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stream, other) = tokio::join!(TcpStream::connect(address), listener.accept());
        let budget = Arc::new(Budget::new(max_bytes));
        (
            Metered::new(stream.unwrap(), budget, idle),
            other.unwrap().0,
        )
    }

    #[tokio::test]
    async fn only_activity_delays_the_end_of_an_idle_connection() {
        let seconds = Duration::from_secs;
        let (mut metered, _other) = pair(9, seconds(10)).await;
        pause();
        let mut record = |polled: Poll<io::Result<()>>| {
            let mut context = Context::from_waker(std::task::Waker::noop());
            metered.record(&mut context, polled, 0)
        };
        assert!(record(Poll::Ready(Ok(()))).is_ready());
        advance(seconds(6)).await;
        assert!(record(Poll::Ready(Ok(()))).is_ready());
        advance(seconds(6)).await;
        assert!(record(Poll::Pending).is_pending(), "6 of 10 seconds idle");
        advance(seconds(3)).await;
        assert!(record(Poll::Pending).is_pending(), "9 of 10 seconds idle");
        advance(seconds(2)).await;
        let Poll::Ready(Err(error)) = record(Poll::Pending) else {
            panic!("still open after 11 idle seconds")
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn only_new_bytes_of_a_buffer_are_counted() {
        let (mut metered, mut other) = pair(100, Duration::from_secs(60)).await;
        other.write_all(b"abcd").await.unwrap();
        let mut bytes = [0; 64];
        let mut buffer = ReadBuf::new(&mut bytes);
        buffer.put_slice(&[7; 40]);
        poll_fn(|context| Pin::new(&mut metered).poll_read(context, &mut buffer))
            .await
            .unwrap();
        assert!(buffer.filled().ends_with(b"abcd"));
        assert_eq!(metered.budget.spent.load(Ordering::Relaxed), 4);
    }
}
