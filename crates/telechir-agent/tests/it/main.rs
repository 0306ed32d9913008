//! The agent loop with a recorded model over real HTTP and devices that log their actions.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod anthropic;
mod bedrock;
mod devices;
mod functions;
mod google;
mod openai;
mod resume;
mod retries;
mod run;
mod sdk;
mod streams;
mod termination;
mod wire;
