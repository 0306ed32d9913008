//! The error that ends a command: one message for the operator, and the exit code.

use std::error::Error;
use std::process::ExitCode;

pub(crate) use telechir_host::error_chain as chain;

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

    /// The reader of stdout has closed it, because it needs no more. Exit code 141 without a message,
    /// as of a program that `SIGPIPE` ends.
    pub(crate) fn closed_output() -> Self {
        Self {
            message: String::new(),
            code: 128 + 13,
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

    /// Prints the message on stderr, if there is one, and returns the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        if !self.message.is_empty() {
            crate::log::print_note(&self.message);
        }
        ExitCode::from(self.code)
    }
}

impl<E: Error> From<E> for CliError {
    fn from(error: E) -> Self {
        Self::new(&error)
    }
}
