//! Which SDK of a provider has types for the documents of a dialect.

use crate::Dialect;

/// The dialects with the SDK whose types validate their documents, and the prefix of the kinds of
/// documents there.
const TYPES: [(Dialect, &str, &str); 13] = [
    (Dialect::AnthropicMessages, "anthropic", ""),
    (Dialect::BedrockMessages, "anthropic", ""),
    (Dialect::BedrockInvoke, "anthropic", "invoke."),
    (Dialect::OpenaiResponses, "openai", ""),
    (Dialect::Functions, "openai", "chat."),
    (Dialect::FunctionsInline, "openai", "inline."),
    (Dialect::GoogleGenerateContent, "google", ""),
    (Dialect::GoogleInteractions, "google", "steps."),
    (Dialect::BedrockConverse, "bedrock", ""),
    (Dialect::BedrockAgents, "bedrock", "agents."),
    (Dialect::MistralConversations, "mistral", ""),
    (Dialect::MistralChat, "mistral", "chat."),
    (Dialect::AgentFramework, "agent_framework", ""),
];

/// The types of an SDK for one dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SdkTypes {
    /// The SDK: the name of a module of `tests/sdk`, without `sdk_`.
    pub sdk: &'static str,
    /// Precedes the kind of a document, such as `history` or `response`.
    pub prefix: &'static str,
}

/// The types of the provider's SDK; `None` for neutral documents, which have a schema instead.
pub fn sdk_types(dialect: Dialect) -> Option<SdkTypes> {
    let (_, sdk, prefix) = TYPES.iter().find(|(of, ..)| *of == dialect)?;
    Some(SdkTypes { sdk, prefix })
}
