//! Cancels a run from outside.

use tokio::sync::watch;

/// Cancels runs. Dropping it has no effect.
#[derive(Debug)]
pub struct Canceller(watch::Sender<bool>);

/// The receiving end of a [`Canceller`], checked by runs.
#[derive(Clone, Debug)]
pub struct CancelSignal(watch::Receiver<bool>);

impl Canceller {
    /// A canceller and its signal.
    pub fn new() -> (Self, CancelSignal) {
        let (sender, receiver) = watch::channel(false);
        (Self(sender), CancelSignal(receiver))
    }

    /// Cancels the run: its request is dropped, its action is stopped safely.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }
}

impl CancelSignal {
    /// Whether the run is cancelled.
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for the cancellation; forever if the canceller is dropped without it.
    pub async fn cancelled(&mut self) {
        if self.0.wait_for(|cancelled| *cancelled).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
