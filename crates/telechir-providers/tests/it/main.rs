//! Integration tests of every dialect with documents as providers write them.
#![expect(clippy::unwrap_used, reason = "a test stops at the first error")]

mod agent_framework;
mod anthropic;
mod bad_input;
mod bedrock;
mod conform;
mod consecutive_turns;
mod desktop;
mod differences;
mod documents;
mod duplicate_ids;
mod envelopes;
mod foreign_contents;
mod envelope;
mod functions;
mod generated_images;
mod google;
mod hosted_failures;
mod images;
mod job_input;
mod live;
mod matrix;
mod mistral;
mod mutations;
mod neutral;
mod neutral_tools;
mod openai;
mod pages;
mod passed_images;
mod payload_limits;
mod precision;
mod recordings;
mod result_order;
mod sdk;
mod streams;
mod without_raw;
