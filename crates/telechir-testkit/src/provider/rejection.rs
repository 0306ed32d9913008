//! A rejected request and the provider's error response for it.

use serde_json::{Map, Value, json};

use super::Provider;

/// The reason for rejecting a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The HTTP status code.
    pub status: u16,
    /// The provider's error type.
    pub kind: &'static str,
    /// The error message, with the location in the request.
    pub message: String,
}

impl Rejection {
    /// Status 400: the request does not conform to the API.
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

    /// The error body in the provider's format.
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
            // AWS sends the error type in a header.
            Provider::Converse | Provider::BedrockMessages | Provider::BedrockInvoke => {
                json!({"message": self.message})
            }
        }
    }

    /// Headers of the error response: AWS sends the error type there.
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
