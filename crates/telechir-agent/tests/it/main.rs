//! The loop against a recorded model over real HTTP, with devices that write down what they do.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod anthropic;
mod bedrock;
mod devices;
mod functions;
mod google;
mod openai;
mod retries;
mod run;
mod sdk;
mod termination;
mod wire;
