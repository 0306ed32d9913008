//! What is wrong with a request, in the words of the provider it was meant for.

use serde_json::{Map, Value, json};

use super::Provider;

/// What is wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The provider's sort of error.
    pub kind: &'static str,
    /// The sentence, with the place.
    pub message: String,
}

impl Refusal {
    /// A 400: the request is not what the API takes.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self {
            status: 400,
            kind: "invalid_request_error",
            message: message.into(),
        }
    }

    pub(super) fn unauthorized(message: impl Into<String>) -> Self {
        Self {
            status: 401,
            kind: "authentication_error",
            message: message.into(),
        }
    }

    pub(super) fn too_large(bytes: usize) -> Self {
        let message = format!("Request exceeds the maximum size ({bytes} bytes).");
        Self {
            status: 413,
            kind: "request_too_large",
            message,
        }
    }

    pub(super) fn not_found(path: &str) -> Self {
        Self {
            status: 404,
            kind: "not_found_error",
            message: format!("Not found: {path}"),
        }
    }

    /// The error body of a provider.
    pub fn body(&self, provider: Provider) -> Value {
        let error = json!({"type": self.kind, "message": self.message});
        match provider {
            Provider::Anthropic => {
                json!({"type": "error", "error": error, "request_id": "req_recorded"})
            }
            Provider::Google | Provider::GoogleSteps => {
                let status = match self.status {
                    400 => "INVALID_ARGUMENT",
                    401 => "UNAUTHENTICATED",
                    404 => "NOT_FOUND",
                    429 => "RESOURCE_EXHAUSTED",
                    503 => "UNAVAILABLE",
                    _ => "INTERNAL",
                };
                let error = json!({"code": self.status, "message": self.message, "status": status});
                json!({"error": error})
            }
            Provider::MistralChat | Provider::MistralConversations => json!({
                "object": "error", "message": self.message, "type": self.kind,
                "param": null, "code": null,
            }),
            Provider::Openai | Provider::Functions | Provider::FunctionsInline => {
                let error = json!({"message": self.message, "type": self.kind, "param": null, "code": null});
                json!({"error": error})
            }
            // Its sort stands in a header.
            Provider::Converse | Provider::BedrockMessages | Provider::BedrockInvoke => {
                json!({"message": self.message})
            }
        }
    }

    /// The headers that go with the body: where AWS says the sort of an error.
    pub(super) fn headers(&self, provider: Provider) -> Map<String, Value> {
        let is_aws = match provider {
            Provider::Converse | Provider::BedrockMessages | Provider::BedrockInvoke => true,
            Provider::Anthropic
            | Provider::Openai
            | Provider::Google
            | Provider::GoogleSteps
            | Provider::Functions
            | Provider::FunctionsInline
            | Provider::MistralChat
            | Provider::MistralConversations => false,
        };
        let exception = match self.status {
            400 | 413 => "ValidationException",
            401 | 403 => "AccessDeniedException",
            404 => "ResourceNotFoundException",
            429 => "ThrottlingException",
            503 => "ServiceUnavailableException",
            _ => "InternalServerException",
        };
        let kind = format!("{exception}:http://internal.amazon.com/coral/com.amazon.bedrock/");
        let header = is_aws.then(|| ("x-amzn-errortype".to_owned(), kind.into()));
        header.into_iter().collect()
    }
}
