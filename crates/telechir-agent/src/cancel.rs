//! Stopping a run from outside.

use tokio::sync::watch;

/// Stops a run. Dropping it without a word stops nothing.
#[derive(Debug)]
pub struct Canceller(watch::Sender<bool>);

/// What a run looks at.
#[derive(Clone, Debug)]
pub struct CancelSignal(watch::Receiver<bool>);

impl Canceller {
    /// A canceller with its signal.
    pub fn new() -> (Self, CancelSignal) {
        let (sender, receiver) = watch::channel(false);
        (Self(sender), CancelSignal(receiver))
    }

    /// Stops the run: a request is given up, an action is stopped safely.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }
}

impl CancelSignal {
    /// Whether the run is to stop.
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when the run is to stop; never, when that is never said.
    pub async fn cancelled(&mut self) {
        if self.0.wait_for(|cancelled| *cancelled).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
