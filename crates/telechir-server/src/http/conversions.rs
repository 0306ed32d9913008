//! Conversions of documents: a few at a time, and none for a client that has gone.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tokio::sync::Semaphore;

use super::problem::{Problem, ProblemKind};

/// Runs conversions on threads of their own, at most one for each processor.
#[derive(Debug)]
pub(super) struct Conversions {
    permits: Arc<Semaphore>,
}

impl Conversions {
    pub(super) fn new() -> Self {
        let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self::with_max(processors)
    }

    fn with_max(max: usize) -> Self {
        let permits = Arc::new(Semaphore::new(max));
        Self { permits }
    }

    /// Runs a conversion, and keeps `slot` until it has ended. If the future is dropped, a waiting
    /// conversion does not start, and a running one ends at its next step.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        slot: impl Send + 'static,
        conversion: impl FnOnce(&ClientWatch) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let failed = |detail: &str| Problem::new(ProblemKind::Internal, detail);
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.map_err(|_| failed("the server is stopping"))?;
        let watch = ClientWatch::default();
        let _sets_gone = SetsGone(Arc::clone(&watch.is_gone));
        let converted = tokio::task::spawn_blocking(move || {
            let _until_the_end = (slot, permit);
            conversion(&watch)
        });
        let converted = converted.await;
        converted.map_err(|_| failed("the conversion of this document failed"))?
    }
}

/// Whether the client of a conversion still waits for it.
#[derive(Debug, Default)]
pub(super) struct ClientWatch {
    is_gone: Arc<AtomicBool>,
}

impl ClientWatch {
    /// Ends a conversion between two steps.
    ///
    /// # Errors
    /// If the client has gone; nobody reads the problem.
    pub(super) fn check(&self) -> Result<(), Problem> {
        match self.is_gone.load(Ordering::Relaxed) {
            false => Ok(()),
            true => Err(Problem::new(ProblemKind::Internal, "the client has gone")),
        }
    }
}

struct SetsGone(Arc<AtomicBool>);

impl Drop for SetsGone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use telechir_testkit::assert_eventually;

    use super::*;

    /// A conversion that waits for `release` between its steps, and sends the name of each.
    fn steps(
        steps: mpsc::Sender<&'static str>,
        release: mpsc::Receiver<()>,
    ) -> impl FnOnce(&ClientWatch) -> Result<(), Problem> + Send {
        move |client| {
            steps.send("decode").unwrap();
            release.recv().unwrap();
            client.check()?;
            steps.send("encode").unwrap();
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_conversion_without_its_client_ends_at_the_next_step() {
        let conversions = Arc::new(Conversions::with_max(1));
        let (sender, receiver) = mpsc::channel();
        let (release, released) = mpsc::channel();
        let running = Arc::clone(&conversions);
        let client = tokio::spawn(async move { running.run((), steps(sender, released)).await });
        assert_eventually!(receiver.try_recv() == Ok("decode"));
        client.abort();
        assert!(client.await.unwrap_err().is_cancelled());
        release.send(()).unwrap();
        assert_eventually!(conversions.permits.available_permits() == 1);
        assert!(receiver.recv().is_err(), "the document was encoded");
    }

    #[tokio::test]
    async fn a_waiting_conversion_without_its_client_does_not_start() {
        let conversions = Arc::new(Conversions::with_max(1));
        let (sender, receiver) = mpsc::channel();
        let (release, released) = mpsc::channel();
        let first = Arc::clone(&conversions);
        let first = tokio::spawn(async move { first.run((), steps(sender, released)).await });
        assert_eventually!(receiver.try_recv() == Ok("decode"));
        let (sender, waiting) = mpsc::channel();
        let (_never, released) = mpsc::channel();
        let second = Arc::clone(&conversions);
        let second = tokio::spawn(async move { second.run((), steps(sender, released)).await });
        tokio::task::yield_now().await;
        second.abort();
        assert!(second.await.unwrap_err().is_cancelled());
        release.send(()).unwrap();
        assert_eq!(first.await.unwrap(), Ok(()));
        assert_eq!(receiver.recv(), Ok("encode"));
        assert_eventually!(conversions.permits.available_permits() == 1);
        assert!(waiting.recv().is_err(), "the second conversion started");
    }

    #[tokio::test]
    async fn the_slot_is_released_with_the_thread() {
        let conversions = Conversions::with_max(1);
        let slot = Arc::new(());
        let converted = conversions.run(Arc::clone(&slot), |_| Ok(7)).await;
        assert_eq!(converted, Ok(7));
        assert_eventually!(Arc::strong_count(&slot) == 1);
    }
}
