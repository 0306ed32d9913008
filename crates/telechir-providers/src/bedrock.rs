//! Amazon Bedrock's doors: Converse with AWS's own blocks, Anthropic's bodies behind two others,
//! and agents that hand a call back.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a block has few of the forms that JSON and contents can have; any other is let be"
)]

mod adapt;
mod agents;
mod anthropic_body;
mod anthropic_bridge;
mod converse;
mod detect;
mod event_stream;
mod event_stream_response;
mod media;
mod models;
mod names;
mod path;

pub(crate) use agents::Agents;
pub(crate) use anthropic_body::{Invoke, Messages};
pub(crate) use converse::Converse;

/// Bytes of base64 that one picture may have.
const MAX_IMAGE_BASE64_BYTES: usize = 5 * 1024 * 1024;
