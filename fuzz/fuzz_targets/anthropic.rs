//! Anthropic's Messages, by its own door and Bedrock's two.
#![no_main]

telechir_fuzz::fuzz!(ANTHROPIC);
