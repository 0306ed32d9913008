//! The answer to calls that cannot be decoded or have no meaning.

use telechir_protocol::{Failure, FailureKind};

/// The failure of a call that the dialect could not decode.
pub(super) fn not_understood(exception: &str) -> Failure {
    let message = format!("The call was not understood and nothing was done: {exception}");
    Failure::new(FailureKind::InvalidInput, message)
}
