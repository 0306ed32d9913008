//! Anthropic's Messages API: content blocks, with one tool call per block.
//!
//! `decode_history` decodes requests and responses; `decode_block`, `decode_call` and
//! `decode_result` turn one block into a content. `encode_history` encodes messages,
//! `encode_call` calls and `encode_result` results; `declare` declares tools. A content decoded
//! from this dialect is encoded as the same JSON, unless its neutral values were changed.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a block uses few of the many kinds of JSON values and contents; the rest passes unchanged"
)]

mod chat_api;
mod check;
mod context;
mod declare;
mod decode_action;
mod decode_block;
mod decode_call;
mod decode_history;
mod decode_result;
mod detect;
mod encode_action;
mod encode_call;
mod encode_content;
mod encode_history;
mod encode_result;
mod fixed_texts;
mod hosted_code;
pub(crate) mod image;
mod input;
mod limits;
mod media;
mod models;
pub(crate) mod shell_text;
mod split_calls;
mod stream;
mod tabs;
mod xdotool_keys;

use serde_json::Value;
use telechir_protocol::{AnsweredTurn, ModelTurn, Size};

use crate::chat_api::ChatApi;
use crate::codec::Codec;
use crate::generated_images::ImagesOfModel;
use crate::stream::{SseDecoder, StreamDecoder};
use crate::{
    Declaration, DecodeError, EncodeError, EncodedReply, History, Report, ScreenshotWhen, ToolOffer,
};

/// The dialect's name on the command line and in raw representations.
pub(crate) const DIALECT: &str = "anthropic-messages";

/// Key of the additional properties that only this provider has.
const PROVIDER: &str = "anthropic";

/// The newest tool version: the toolsets.
pub(crate) const NEWEST: models::ToolVersion = models::ToolVersion::Toolset;

/// The newest tool version that Bedrock agents accept.
pub(crate) const JANUARY_2025: models::ToolVersion = models::ToolVersion::January2025;

/// The newest tool version of an API without toolsets.
pub(crate) const NEWEST_WITHOUT_TOOLSETS: models::ToolVersion = models::ToolVersion::November2025;

pub(crate) use chat_api::{AnthropicChat, unbound_thinking};
pub(crate) use declare::{BROWSER_MEMBERS, COMPUTER_MEMBERS, declare};
pub(crate) use decode_history::{decode_history, decode_response};
pub(crate) use encode_content::FORWARDED_PREFIX;
pub(crate) use encode_history::encode_history;
pub(crate) use encode_result::encode_results;
pub(crate) use image::screenshot_size;
pub(crate) use models::{supports_legacy_tools, supports_only_october_2024};
pub(crate) use stream::AnthropicMessageBuilder;

/// Codec of `anthropic-messages`.
pub(crate) struct AnthropicMessages;

impl Codec for AnthropicMessages {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn images_of_model(&self) -> ImagesOfModel {
        ImagesOfModel::Rejected
    }

    fn decode_response(&self, document: Value) -> Result<(ModelTurn, Report), DecodeError> {
        decode_response(&document)
    }

    fn decode_history(&self, document: Value) -> Result<(History, Report), DecodeError> {
        decode_history(document)
    }

    fn encode_results(&self, turn: &AnsweredTurn) -> Result<EncodedReply, EncodeError> {
        encode_results(turn)
    }

    fn encode_history(&self, history: &History) -> Result<(Value, Report), EncodeError> {
        encode_history(history, NEWEST)
    }

    fn declare(&self, offer: &ToolOffer) -> Result<(Declaration, Report), EncodeError> {
        declare(offer, NEWEST)
    }

    fn screenshot_size(&self, model: Option<&str>, size: Size) -> Size {
        screenshot_size(model, size)
    }

    fn max_image_base64(&self) -> usize {
        image::MAX_BASE64_BYTES
    }

    /// An image block's media type is PNG, JPEG, GIF or WebP, also in a `tool_result`.
    fn accepts_webp(&self) -> bool {
        true
    }

    fn screenshot_when(&self) -> ScreenshotWhen {
        ScreenshotWhen::LastOfBatch
    }

    fn stream_decoder(&self) -> Option<Box<dyn StreamDecoder>> {
        Some(Box::new(
            SseDecoder::new(AnthropicMessageBuilder::default()),
        ))
    }

    fn chat_api(&self) -> Option<&'static dyn ChatApi> {
        Some(&AnthropicChat)
    }
}
