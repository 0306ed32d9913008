//! The fuzz targets: the input of each and its properties.

use serde_json::Value;
use telechir_host::message_properties;
use telechir_providers::Dialect;

use crate::change::{self, Dice};
use crate::{HEAD, check, command, framing, greetings, messages, neutral, patches, policy_files};

/// A fuzz program for one kind of input.
pub struct Target {
    /// Name of the fuzz program.
    pub name: &'static str,
    /// Dialects of its documents or streams; empty for other inputs.
    pub(crate) dialects: &'static [Dialect],
    /// Panics if a property is violated.
    pub(crate) check: fn(&[Dialect], [u8; HEAD], &[u8]),
    /// Mutates an input so that it stays partly valid.
    pub(crate) damage: fn(&mut Vec<u8>, &mut Dice),
}

/// All fuzz targets of the project.
pub const TARGETS: [&Target; 19] = [
    &ANTHROPIC,
    &OPENAI,
    &GOOGLE,
    &BEDROCK,
    &CHAT,
    &MISTRAL,
    &AGENT_FRAMEWORK,
    &SSE,
    &FRAMES,
    &PIECES,
    &NEUTRAL,
    &ENVELOPE,
    &ENVELOPE_STREAM,
    &SHELL,
    &PATCH,
    &POLICY_FILE,
    &GREETING,
    &CDP,
    &HOST,
];

/// Anthropic's Messages, on its own endpoint and Bedrock's two.
pub const ANTHROPIC: Target = documents(
    "anthropic",
    &[
        Dialect::AnthropicMessages,
        Dialect::BedrockMessages,
        Dialect::BedrockInvoke,
    ],
);

/// OpenAI's Responses.
pub const OPENAI: Target = documents("openai", &[Dialect::OpenaiResponses]);

/// Google's generateContent and Interactions.
pub const GOOGLE: Target = documents(
    "google",
    &[Dialect::GoogleGenerateContent, Dialect::GoogleInteractions],
);

/// Bedrock's Converse and its agents.
pub const BEDROCK: Target = documents(
    "bedrock",
    &[Dialect::BedrockConverse, Dialect::BedrockAgents],
);

/// Chat completions, generic and Mistral's.
pub const CHAT: Target = documents(
    "chat",
    &[
        Dialect::Functions,
        Dialect::FunctionsInline,
        Dialect::MistralChat,
    ],
);

/// Mistral's conversations.
pub const MISTRAL: Target = documents("mistral", &[Dialect::MistralConversations]);

/// Agent Framework's messages, and neutral contents as a dialect.
pub const AGENT_FRAMEWORK: Target = documents(
    "agent_framework",
    &[Dialect::AgentFramework, Dialect::Neutral],
);

/// Whole requests and responses, translated, and their values followed.
pub const ENVELOPE: Target = Target {
    name: "envelope",
    dialects: &Dialect::ALL,
    check: |dialects, [which, other], bytes| {
        check::envelope(of(dialects, which), of(dialects, other), bytes);
    },
    damage: document,
};

/// Whole streams, translated.
pub const ENVELOPE_STREAM: Target = Target {
    name: "envelope_stream",
    dialects: STREAMED,
    check: |dialects, [which, other], bytes| {
        let piece = usize::from(other) + 1;
        check::envelope_stream(of(dialects, which), of(dialects, other), bytes, piece);
    },
    damage: framing::stream,
};

/// The dialects that the target for whole streams reads and writes.
const STREAMED: &[Dialect] = &[
    Dialect::AnthropicMessages,
    Dialect::OpenaiResponses,
    Dialect::BedrockConverse,
    Dialect::BedrockInvoke,
    Dialect::GoogleGenerateContent,
    Dialect::GoogleInteractions,
    Dialect::Functions,
    Dialect::MistralChat,
    Dialect::MistralConversations,
];

/// Server-sent events of every dialect that streams them.
pub const SSE: Target = streams(
    "sse",
    &[
        Dialect::AnthropicMessages,
        Dialect::OpenaiResponses,
        Dialect::BedrockMessages,
        Dialect::GoogleInteractions,
        Dialect::Functions,
        Dialect::MistralChat,
        Dialect::MistralConversations,
    ],
);

/// Event-stream frames of Bedrock.
pub const FRAMES: Target = streams(
    "frames",
    &[
        Dialect::BedrockConverse,
        Dialect::BedrockInvoke,
        Dialect::BedrockAgents,
    ],
);

/// Chunks of Google's generateContent streams, as a list or as events.
pub const PIECES: Target = streams("pieces", &[Dialect::GoogleGenerateContent]);

/// Neutral JSON documents.
pub const NEUTRAL: Target = Target {
    name: "neutral",
    dialects: &[],
    check: |_, [which, _], bytes| {
        neutral::check(which, bytes);
    },
    damage: document,
};

/// Commands for a shell, as the policy reads them.
pub const SHELL: Target = Target {
    name: "shell",
    dialects: &[],
    check: |_, [which, _], bytes| command::check(which, bytes),
    damage: change::bytes,
};

/// Diffs, with the file they are for.
pub const PATCH: Target = Target {
    name: "patch",
    dialects: &[],
    check: |_, _, bytes| patches::check(bytes),
    damage: patches::damage,
};

/// Policy files, and judgements under them.
pub const POLICY_FILE: Target = Target {
    name: "policy_file",
    dialects: &[],
    check: |_, _, bytes| policy_files::check(bytes),
    damage: change::bytes,
};

/// The first bytes of a tunnel: TLS or HTTP.
pub const GREETING: Target = Target {
    name: "greeting",
    dialects: &[],
    check: |_, _, bytes| greetings::check(bytes),
    damage: change::bytes,
};

/// The bytes of a CDP pipe, in chunks.
pub const CDP: Target = Target {
    name: "cdp",
    dialects: &[],
    check: |_, [_, piece], bytes| messages::check(bytes, usize::from(piece)),
    damage: change::bytes,
};

/// The bytes of a session host's socket, in chunks.
pub const HOST: Target = Target {
    name: "host",
    dialects: &[],
    check: |_, [_, piece], bytes| message_properties::check(bytes, usize::from(piece)),
    damage: change::bytes,
};

const fn documents(name: &'static str, dialects: &'static [Dialect]) -> Target {
    Target {
        name,
        dialects,
        check: |dialects, [which, other], bytes| {
            let other = Dialect::ALL[usize::from(other) % Dialect::ALL.len()];
            check::document(of(dialects, which), other, bytes);
        },
        damage: document,
    }
}

const fn streams(name: &'static str, dialects: &'static [Dialect]) -> Target {
    Target {
        name,
        dialects,
        check: |dialects, [which, piece], bytes| {
            check::stream(of(dialects, which), bytes, usize::from(piece));
        },
        damage: framing::stream,
    }
}

fn of(dialects: &[Dialect], which: u8) -> Dialect {
    dialects[usize::from(which) % dialects.len()]
}

fn document(bytes: &mut Vec<u8>, dice: &mut Dice) {
    match serde_json::from_slice::<Value>(bytes) {
        Ok(mut value) => {
            change::document(&mut value, dice);
            *bytes = value.to_string().into_bytes();
        }
        Err(_) => change::bytes(bytes, dice),
    }
}
