//! Devices at services against doubles of them.
#![expect(clippy::expect_used, reason = "a failed setup step fails the test")]

mod action_service;
mod interpreter;
