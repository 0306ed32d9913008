//! Test support: checks for real components, the contract of devices, witnesses that record what
//! arrived, a recorded model, and waits with one limit.
//!
//! ```no_run
//! use telechir_testkit::gate::{Component, require};
//!
//! // Fails, instead of skipping the test, if Chromium is not installed.
//! require(Component::Chromium);
//! ```

pub mod closed_port;
pub mod contract;
pub mod desktop_fixture;
pub mod eventually;
pub mod gate;
pub mod gateway;
pub mod page;
pub mod provider;
pub mod remote;
pub mod site;
pub mod witness;
pub mod xvfb;
