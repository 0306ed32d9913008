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
mod code_interpreter;
mod converse;
mod detect;
mod event_stream;
mod event_stream_response;
mod media;
mod models;
mod names;
mod path;

pub(crate) use agents::CODEC as AGENTS;
pub(crate) use anthropic_body::{INVOKE_CODEC as INVOKE, MESSAGES_CODEC as MESSAGES};
pub use code_interpreter::{
    InterpreterAnswer, InterpreterCall, InterpreterError, InterpreterTaskState,
};
pub(crate) use converse::{CODEC as CONVERSE, cache_marker, cache_point};

use crate::codec::ScreenshotRules;
use crate::{ScreenshotWhen, anthropic};

/// Maximum size of one image in bytes of base64.
const MAX_IMAGE_BASE64_BYTES: usize = 5 * 1024 * 1024;

/// The screenshots in Anthropic's blocks and in those of Converse.
const SCREENSHOTS: ScreenshotRules = ScreenshotRules {
    size: anthropic::screenshot_size,
    max_base64: MAX_IMAGE_BASE64_BYTES,
    // PNG, JPEG, GIF or WebP, also in a result.
    accepts_webp: true,
    when: ScreenshotWhen::LastOfBatch,
};
