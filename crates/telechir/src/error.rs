//! The error that ends a command: one message for the operator, and the exit code.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct CliError {
    message: String,
    code: u8,
}

impl CliError {
    /// A failure with exit code 1. `error`'s text reads after "failed to".
    pub(crate) fn new(error: &dyn Error) -> Self {
        Self {
            message: format!("failed to {}", chain(error)),
            code: 1,
        }
    }

    /// A failure without an error type: exit code 1.
    pub(crate) fn message(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: 1,
        }
    }

    /// Invalid or contradictory arguments: exit code 2.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: 2,
        }
    }

    /// A loss in strict mode: exit code 3.
    pub(crate) fn loss(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: 3,
        }
    }

    /// A signal stopped the command: exit code 128 plus the signal's number.
    pub(crate) fn signal(number: u8) -> Self {
        Self {
            message: "stopped by a signal; keys were released and processes ended".to_owned(),
            code: 128 + number,
        }
    }

    /// A signal stopped a call; its session continues. Exit code 128 plus the signal's number.
    pub(crate) fn stopped(number: u8, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: 128 + number,
        }
    }

    /// The message, without the prefix `telechir:`.
    pub(crate) fn text(&self) -> &str {
        &self.message
    }

    /// Prints the message on stderr and returns the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        let _best_effort = writeln!(std::io::stderr(), "telechir: {}", self.message);
        ExitCode::from(self.code)
    }
}

/// An error with all its causes on one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        cause = error.source();
    }
    text
}

impl<E: Error> From<E> for CliError {
    fn from(error: E) -> Self {
        Self::new(&error)
    }
}
