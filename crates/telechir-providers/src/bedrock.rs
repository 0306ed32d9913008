//! Amazon Bedrock's APIs: Converse with AWS's content blocks, the Messages API and InvokeModel
//! with Anthropic's request bodies, and agents that return control for a call.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a block uses few of the many kinds of JSON values and contents; the rest passes unchanged"
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

pub(crate) use agents::BedrockAgents;
pub(crate) use anthropic_body::AnthropicBody;
pub(crate) use converse::{BedrockConverse, cache_marker, cache_point};

/// Maximum size of one image in bytes of base64.
const MAX_IMAGE_BASE64_BYTES: usize = 5 * 1024 * 1024;
