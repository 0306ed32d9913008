//! The suites every device must pass, against a witness of what truly arrived.

pub mod computer;
pub mod shell;
