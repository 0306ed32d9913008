//! The JSON of Microsoft Agent Framework's messages and contents.
//!
//! `envelope` finds the messages, `decode` decodes one content, `encode_native` encodes one in the
//! framework's fields, `function_mapping` maps function calls to and from our tools, and `sidecar`
//! stores whatever the framework has no field for, so that every neutral content survives a round
//! trip.

mod codec;
mod decode;
mod encode;
mod encode_native;
mod envelope;
mod function_mapping;
mod sidecar;

pub(crate) use codec::CODEC;

/// The dialect's name on the command line and in raw representations.
const DIALECT: &str = "agent-framework";

/// The name under which contents keep settings that only the framework has.
const PROVIDER: &str = "agent_framework";
