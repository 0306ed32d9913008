//! Accessibility of real applications on a real private desktop.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails on the first unexpected result"
)]

mod faults;
mod fixture;
mod ocr;
mod programs;
