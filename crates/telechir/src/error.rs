//! What ends a command early: one message for a person, and the exit code.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

/// Why a command could not do what it was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    code: u8,
}

impl Failure {
    /// Something went wrong: exit code 1. `error`'s text reads after "failed to".
    pub(crate) fn new(error: &dyn Error) -> Self {
        Self {
            message: format!("failed to {}", chain(error)),
            code: 1,
        }
    }

    /// Something went wrong that no error type says: exit code 1.
    pub(crate) fn message(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: 1,
        }
    }

    /// The command line asks for something that does not go: exit code 2.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: 2,
        }
    }

    /// Strict mode met a loss: exit code 3.
    pub(crate) fn loss(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: 3,
        }
    }

    /// A signal ended it; exit code 128 and its number.
    pub(crate) fn signal(number: u8) -> Self {
        Self {
            message: "stopped by a signal; keys are released and processes ended".to_owned(),
            code: 128 + number,
        }
    }

    /// A signal stopped a call whose session goes on; exit code 128 and its number.
    pub(crate) fn stopped(number: u8, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: 128 + number,
        }
    }

    /// What happened, in one message.
    pub(crate) fn text(&self) -> &str {
        &self.message
    }

    /// Says it on standard error and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        let _best_effort = writeln!(std::io::stderr(), "telechir: {}", self.message);
        ExitCode::from(self.code)
    }
}

/// An error with all its causes in one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = error.source();
    }
    text
}

impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(&error)
    }
}
