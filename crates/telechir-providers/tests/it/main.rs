//! Integration tests of every dialect with documents as providers write them.
#![expect(clippy::unwrap_used, reason = "a test stops at the first error")]

mod agent_framework;
mod anthropic;
mod bad_input;
mod bare;
mod bedrock;
mod bombs;
mod conform;
mod desktop;
mod differences;
mod documents;
mod functions;
mod google;
mod images;
mod jobs;
mod live;
mod matrix;
mod mistral;
mod mutations;
mod openai;
mod orders;
mod pages;
mod recordings;
mod repeated_ids;
mod rounded;
mod sdk;
mod slots;
mod streams;
