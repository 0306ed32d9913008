//! An optional ability of a computer: the user can stop it with a kill switch.

use std::future::Future;
use std::pin::Pin;

/// Completes with the reason when the kill switch stops a computer; otherwise never.
pub type UntilStopped = Pin<Box<dyn Future<Output = &'static str> + Send>>;

/// The state of a computer's kill switch.
pub trait StopSignal {
    /// Why the kill switch stopped this computer; none if it did not. After that every action fails
    /// with [`DeviceError::Stopped`](crate::DeviceError::Stopped).
    fn stopped(&self) -> Option<&'static str>;

    /// Waits until the kill switch stops this computer, concurrently with other work.
    fn until_stopped(&self) -> UntilStopped;
}
