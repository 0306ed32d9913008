//! Accessibility of real applications on a real private desktop.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails on the first unexpected result"
)]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "long runs are requested by a variable and print a row of their table"
)]

mod faults;
mod fixture;
mod ocr;
mod programs;
mod reading;
mod unusual;
