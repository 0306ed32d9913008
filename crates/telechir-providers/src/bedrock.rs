//! Amazon Bedrock's doors: Converse with AWS's own blocks, Anthropic's bodies behind two others,
//! and agents that hand a call back.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a block has few of the forms that JSON and contents can have; any other is let be"
)]

mod converse;
mod fit;
mod frame;
mod framed;
mod names;
mod own;
mod shape;

pub(crate) use converse::Converse;
