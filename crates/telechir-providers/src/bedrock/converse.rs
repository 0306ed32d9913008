//! Bedrock's Converse API: AWS's content blocks for the models of many vendors.
//!
//! Its blocks are decoded and encoded by the codec of Anthropic's Messages: `decode_block` converts
//! a block to Anthropic's format and `encode_block` converts it back. A content retains the
//! original block.

mod chat_api;
mod codec;
mod declare;
mod decode;
mod decode_block;
mod encode;
mod encode_block;
mod rules;
mod stream;

use serde_json::{Map, Value};

pub(crate) use codec::CODEC;
pub(crate) use decode_block::marker as cache_marker;
pub(crate) use encode_block::cache_point;

/// The dialect's name on the command line and in raw representations.
const DIALECT: &str = "bedrock-converse";

/// Key of the additional properties that only this provider has.
const PROVIDER: &str = "bedrock";

/// Field of an Anthropic block for what only this provider has.
const EXTRA: &str = "bedrock";

/// Field of [`EXTRA`] for the members of a block that are null.
const NULLS: &str = "nulls";

/// Prefix of the type of a block that passes unchanged.
const OPAQUE_PREFIX: &str = "bedrock_";

type JsonObject = Map<String, Value>;
