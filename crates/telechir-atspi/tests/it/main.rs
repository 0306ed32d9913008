//! The accessibility of real applications on a real private desktop.
#![expect(
    clippy::unwrap_used,
    reason = "tests end where something is not as it must be"
)]

mod faults;
mod fixture;
mod ocr;
mod programs;
