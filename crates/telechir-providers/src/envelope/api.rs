//! The forms of requests and responses: dialects whose envelopes are alike share one.

use serde_json::{Map, Value};

use crate::Dialect;
use crate::provider_error::ProviderError;

/// The form of a dialect's requests and responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Api {
    Anthropic,
    /// Anthropic's bodies for InvokeModel, with the model in the path.
    Invoke,
    Responses,
    Converse,
    Generate,
    Interactions,
    Chat,
    Mistral,
    Conversations,
    Framework,
    Agents,
}

/// What a document is.
pub(super) enum DocumentKind {
    Request,
    Response,
    Error(ProviderError),
    /// A list of messages, or one message, with nothing around it.
    Messages,
}

impl Api {
    pub(super) fn of(dialect: Dialect) -> Self {
        match dialect {
            Dialect::AnthropicMessages | Dialect::BedrockMessages => Self::Anthropic,
            Dialect::BedrockInvoke => Self::Invoke,
            Dialect::OpenaiResponses => Self::Responses,
            Dialect::BedrockConverse => Self::Converse,
            Dialect::BedrockAgents => Self::Agents,
            Dialect::GoogleGenerateContent => Self::Generate,
            Dialect::GoogleInteractions => Self::Interactions,
            // Only the messages of neutral documents are translated.
            Dialect::AgentFramework | Dialect::Neutral => Self::Framework,
            Dialect::Functions | Dialect::FunctionsInline => Self::Chat,
            Dialect::MistralChat => Self::Mistral,
            Dialect::MistralConversations => Self::Conversations,
        }
    }

    /// The member of a request that holds its messages.
    pub(super) fn messages_member(self) -> &'static str {
        match self {
            Self::Anthropic
            | Self::Invoke
            | Self::Converse
            | Self::Chat
            | Self::Mistral
            | Self::Framework => "messages",
            Self::Responses | Self::Interactions => "input",
            Self::Generate => "contents",
            Self::Conversations => "inputs",
            Self::Agents => "",
        }
    }

    /// The member of a request that holds its instructions; none if they are a message.
    pub(super) fn system_member(self) -> Option<&'static str> {
        match self {
            Self::Anthropic | Self::Invoke | Self::Converse => Some("system"),
            Self::Responses | Self::Conversations => Some("instructions"),
            Self::Generate => Some("systemInstruction"),
            Self::Interactions => Some("system_instruction"),
            Self::Chat | Self::Mistral | Self::Framework | Self::Agents => None,
        }
    }

    /// Where the instructions of a request stand.
    pub(super) fn instructions_pointer(self) -> String {
        let name = self
            .system_member()
            .unwrap_or_else(|| self.messages_member());
        format!("/{name}")
    }

    /// The member in which tools are declared.
    pub(super) fn tools_pointer(self) -> &'static str {
        match self {
            Self::Converse => "/toolConfig/tools",
            Self::Framework => "/options/tools",
            Self::Agents => "/actionGroups",
            _ => "/tools",
        }
    }

    /// The key of this provider's own settings.
    pub(super) fn provider(self) -> &'static str {
        match self {
            Self::Anthropic | Self::Invoke => "anthropic",
            Self::Converse | Self::Agents => "bedrock",
            Self::Responses | Self::Framework => "openai",
            Self::Generate | Self::Interactions => "google",
            Self::Chat => "functions",
            Self::Mistral | Self::Conversations => "mistral",
        }
    }

    /// Whether the model is in the request's path instead of its body.
    pub(super) fn has_model_in_path(self) -> bool {
        matches!(
            self,
            Self::Invoke | Self::Converse | Self::Generate | Self::Agents
        )
    }

    /// The path of a request for a model that is not in the body.
    pub(super) fn path(self, model: &str, is_stream: bool) -> Option<String> {
        let suffix = |complete: &str, stream: &str| {
            let operation = if is_stream { stream } else { complete };
            format!("/model/{model}/{operation}")
        };
        match self {
            Self::Invoke => Some(suffix("invoke", "invoke-with-response-stream")),
            Self::Converse => Some(suffix("converse", "converse-stream")),
            Self::Generate if is_stream => {
                Some(format!("/models/{model}:streamGenerateContent?alt=sse"))
            }
            Self::Generate => Some(format!("/models/{model}:generateContent")),
            _ => None,
        }
    }

    pub(super) fn kind_of(self, document: &Value) -> DocumentKind {
        let Some(members) = document.as_object() else {
            return match self {
                Self::Agents if is_completion(document) => DocumentKind::Response,
                Self::Generate if is_chunk_list(document) => DocumentKind::Response,
                _ => DocumentKind::Messages,
            };
        };
        if let Some(error) = self.error(document, members) {
            return DocumentKind::Error(error);
        }
        let has = |name: &str| members.contains_key(name);
        let is_response = match self {
            Self::Anthropic | Self::Invoke => has("content") && is_assistant(members),
            Self::Responses => has("output") && !is_item(members),
            Self::Converse => has("output"),
            Self::Generate => has("candidates") || has("promptFeedback"),
            Self::Interactions => has("steps") || (has("status") && has("id") && !is_item(members)),
            Self::Chat | Self::Mistral => has("choices"),
            Self::Conversations => has("outputs"),
            Self::Framework => {
                has("messages")
                    && ["finish_reason", "usage_details", "response_id"]
                        .iter()
                        .any(|name| has(name))
            }
            Self::Agents => has("completion") || has("returnControl") || has("invocationInputs"),
        };
        if is_response {
            return DocumentKind::Response;
        }
        let is_request = match self {
            Self::Agents => has("inputText") || has("sessionState"),
            // A stored prompt may be all the input.
            Self::Responses => (has("input") || has("prompt")) && !is_item(members),
            Self::Interactions => has("input") && !is_item(members),
            _ => has(self.messages_member()),
        };
        match is_request {
            true => DocumentKind::Request,
            false => DocumentKind::Messages,
        }
    }

    /// The error of an error body, or of a response that failed.
    fn error(self, document: &Value, members: &Map<String, Value>) -> Option<ProviderError> {
        const CONTENT: [&str; 9] = [
            "content",
            "messages",
            "input",
            "inputs",
            "contents",
            "candidates",
            "choices",
            "outputs",
            "completion",
        ];
        let has = |name: &str| members.contains_key(name);
        let status = members.get("status").and_then(Value::as_str);
        let has_failed = matches!(status, Some("failed" | "cancelled")) && !is_item(members);
        if !has_failed && (CONTENT.iter().any(|name| has(name)) || has("output") || has("steps")) {
            return None;
        }
        let first = members.get("errors").and_then(|errors| errors.get(0));
        let listed = first.map(|error| serde_json::json!({"error": error}));
        let found = ProviderError::from_value(listed.as_ref().unwrap_or(document));
        let is_aws = matches!(
            self,
            Self::Converse | Self::Agents | Self::Invoke | Self::Anthropic
        );
        let found = found.or_else(|| is_aws.then(|| ProviderError::from_aws(document)).flatten());
        found.or_else(|| {
            has_failed.then(|| ProviderError {
                kind: String::new(),
                message: "the response failed without an error message".to_owned(),
            })
        })
    }
}

fn is_item(members: &Map<String, Value>) -> bool {
    members.get("type").is_some_and(Value::is_string)
}

/// Whether an object with `content` is a response rather than a message of a history.
fn is_assistant(members: &Map<String, Value>) -> bool {
    ["stop_reason", "usage", "id"]
        .iter()
        .any(|name| members.contains_key(*name))
}

fn is_completion(document: &Value) -> bool {
    let events = document.as_array().map(Vec::as_slice).unwrap_or_default();
    let is_event = |event: &Value| event.get("chunk").is_some() || event.get("trace").is_some();
    !events.is_empty() && events.iter().any(is_event)
}

fn is_chunk_list(document: &Value) -> bool {
    let chunks = document.as_array().map(Vec::as_slice).unwrap_or_default();
    !chunks.is_empty() && chunks.iter().all(|chunk| chunk.get("candidates").is_some())
}
