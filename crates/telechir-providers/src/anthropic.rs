//! Anthropic's Messages API: content blocks, with one tool call per block.
//!
//! `decode` decodes requests and responses; `decode_block`, `decode_call` and
//! `decode_result` turn one block into a content. `encode` encodes messages,
//! `encode_call` calls and `results` results; `declare` declares tools. A content decoded
//! from this dialect is encoded as the same JSON, unless its neutral values were changed.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a block uses few of the many kinds of JSON values and contents; the rest passes unchanged"
)]

mod chat_api;
mod codec;
mod context;
mod declare;
mod decode;
mod decode_action;
mod decode_block;
mod decode_call;
mod decode_result;
mod detect;
mod encode;
mod encode_action;
mod encode_call;
mod encode_content;
mod fixed_texts;
mod hosted_code;
mod image;
mod input;
mod limits;
mod media;
mod models;
mod results;
mod rules;
mod split_calls;
mod stream;
mod tabs;
mod tool_spec;
mod xdotool_keys;

pub(crate) use chat_api::{AnthropicChat, unbound_thinking};
pub(crate) use codec::CODEC;
pub(crate) use declare::{BROWSER_MEMBERS, COMPUTER_MEMBERS, declare};
pub(crate) use decode::{decode_history, decode_response};
pub(crate) use encode::encode_history;
pub(crate) use encode_content::FORWARDED_PREFIX;
pub(crate) use image::screenshot_size;
pub(crate) use models::{
    computer_beta, generation, supports_legacy_tools, supports_only_october_2024,
};
pub(crate) use results::encode_results;
pub(crate) use stream::AnthropicMessageBuilder;
pub use tool_spec::{
    AnthropicToolSpec, UnknownToolVersion, anthropic_beta_header, anthropic_tool_spec,
};

/// The dialect's name on the command line and in raw representations.
pub(crate) const DIALECT: &str = "anthropic-messages";

/// Key of the additional properties that only this provider has.
pub(crate) const PROVIDER: &str = "anthropic";

/// The newest tool version: the toolsets.
pub(crate) const NEWEST: models::ToolVersion = models::ToolVersion::Toolset;

/// The newest tool version that Bedrock agents accept.
pub(crate) const JANUARY_2025: models::ToolVersion = models::ToolVersion::January2025;

/// The newest tool version of an API without toolsets.
pub(crate) const NEWEST_WITHOUT_TOOLSETS: models::ToolVersion = models::ToolVersion::November2025;
