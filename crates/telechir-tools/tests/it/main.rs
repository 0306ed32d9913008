//! Calls of the tools, executed by a computer that records its actions.
#![expect(clippy::expect_used, reason = "a failed setup step fails the test")]

mod device_texts;
mod handle;
