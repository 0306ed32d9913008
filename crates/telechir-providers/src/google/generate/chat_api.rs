//! Conversations with `generateContent`; the provider does not store them.

use serde_json::{Map, Value, json};

use super::DIALECT;
use super::envelope::CANDIDATES;
use crate::chat_api::{ChatApi, Endpoint};
use crate::google::images::ItemImages;
use crate::history::prune;
use crate::json::text_of;
use crate::{Request, RequestOptions, StopReason};

/// The API for conversations with `generateContent`.
pub(super) struct GenerateChat;

impl ChatApi for GenerateChat {
    fn first_message(&self, task: &str) -> Value {
        json!({"role": "user", "parts": [{"text": task}]})
    }

    fn key_header(&self, key: &str) -> (&'static str, String) {
        ("x-goog-api-key", key.to_owned())
    }

    fn request(&self, options: &RequestOptions, contents: &mut Vec<Value>) -> Request {
        prune::prune(&mut ItemImages, contents, options.images);
        let mut body = Map::new();
        if let Some(system) = &options.system {
            let system = json!({"parts": [{"text": system}]});
            body.insert("systemInstruction".into(), system);
        }
        body.insert("contents".into(), contents.to_vec().into());
        if !options.declaration.tools.is_empty() {
            let tools = options.declaration.tools.clone();
            if combines_hosted_tools(&tools) {
                let config = json!({"includeServerSideToolInvocations": true});
                body.insert("toolConfig".into(), config);
            }
            body.insert("tools".into(), tools.into());
        }
        if let Some(max_tokens) = options.max_tokens {
            let config = json!({"maxOutputTokens": max_tokens});
            body.insert("generationConfig".into(), config);
        }
        let model = options.model.trim_start_matches("models/");
        Request {
            path: format!("/models/{model}:generateContent"),
            headers: options.declaration.headers.clone(),
            body: body.into(),
            images: prune::count::<ItemImages>(contents),
        }
    }

    fn stream(&self, request: &mut Request) {
        let path = request.path.trim_end_matches(":generateContent");
        request.path = format!("{path}:streamGenerateContent?alt=sse");
    }

    fn failure(&self, response: &Value) -> Option<StopReason> {
        let feedback = response.get("promptFeedback")?;
        let reason = text_of(feedback, "blockReason");
        if reason.is_empty() {
            return None;
        }
        let detail = text_of(feedback, "blockReasonMessage");
        let parts = [reason, detail].into_iter().filter(|part| !part.is_empty());
        let reason = parts.collect::<Vec<_>>().join(": ");
        Some(StopReason::Refused { reason })
    }

    /// Adds the content unchanged, because its signatures belong to its parts.
    fn push_response(
        &self,
        body: &Value,
        has_calls: bool,
        contents: &mut Vec<Value>,
    ) -> StopReason {
        let none = Value::Null;
        let candidate = body.get(CANDIDATES).and_then(|all| all.get(0));
        let candidate = candidate.unwrap_or(&none);
        let content = candidate.get("content").filter(|content| {
            let parts = content.get("parts").and_then(Value::as_array);
            parts.is_some_and(|parts| !parts.is_empty())
        });
        if let Some(content) = content {
            let mut content = content.clone();
            if content.get("role").is_none() {
                content["role"] = "model".into();
            }
            contents.push(content);
        }
        stop(candidate, content.is_some(), has_calls)
    }

    fn push_results(&self, answers: Vec<Value>, items: &mut Vec<Value>) {
        items.push(json!({"role": "user", "parts": answers}));
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint {
            host: Some("https://generativelanguage.googleapis.com"),
            prefix: "/v1beta",
        }
    }
}

/// Whether hosted tools are combined with calls that we execute, which a request must declare.
pub(crate) fn combines_hosted_tools(tools: &[Value]) -> bool {
    const OWN: [&str; 2] = ["functionDeclarations", "computerUse"];
    let names = || {
        tools
            .iter()
            .filter_map(Value::as_object)
            .flat_map(Map::keys)
    };
    let has_own = names().any(|name| OWN.contains(&name.as_str()));
    let has_hosted = names().any(|name| !OWN.contains(&name.as_str()) && name != "codeExecution");
    has_own && has_hosted
}

fn stop(candidate: &Value, has_content: bool, has_calls: bool) -> StopReason {
    let detail = text_of(candidate, "finishMessage").to_owned();
    let reason = text_of(candidate, "finishReason");
    let refused = || {
        let parts = [reason, &detail]
            .into_iter()
            .filter(|part| !part.is_empty());
        let reason = parts.collect::<Vec<_>>().join(": ");
        StopReason::Refused { reason }
    };
    match reason {
        "MAX_TOKENS" => StopReason::MaxTokens,
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION"
        | "MODEL_ARMOR"
        | "ESCALATION" => refused(),
        _ if has_calls => StopReason::Calls,
        // The content is unusable, so the model is asked again.
        "MALFORMED_FUNCTION_CALL" | "MALFORMED_RESPONSE" if !has_content => StopReason::Continue,
        "CONTINUATION" => StopReason::Continue,
        "STOP" => StopReason::Done,
        "" => StopReason::Incomplete {
            reason: format!("{DIALECT} gave no finish reason"),
        },
        // For example a missing signature or too many calls: not a refusal, and a retry would not
        // help.
        _ => StopReason::Incomplete {
            reason: if detail.is_empty() {
                reason.to_owned()
            } else {
                format!("{reason}: {detail}")
            },
        },
    }
}
