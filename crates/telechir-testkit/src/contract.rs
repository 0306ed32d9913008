//! Test suites that every device must pass, against a witness of the input that arrives.

pub mod computer;
pub mod shell;
