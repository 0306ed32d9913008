//! Decides how a document of each kind is checked.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::Vector;
use super::streams::{StreamVector, bytes_of};
use crate::Dialect;

/// One value of a document, with the checks that apply to it.
pub(super) enum CheckTarget {
    /// A history in any envelope: decode, encode, compare.
    History(Value),
    /// A response: decode as a turn or as the provider's error, then check as a history.
    Response(Value),
    /// Tools in the provider's JSON: declare unchanged.
    Tools(Vec<Value>),
    /// An error of the provider: recognize as one.
    Error(Value),
    /// A stream: decode however it is split.
    Stream(StreamVector),
}

/// Kinds that this crate does not decode, with the reason.
const UNCHECKED: [(&str, &str); 13] = [
    ("sdk:", "a document for the vendor's SDK types only"),
    ("shape:", "a part of a request, for the vendor's SDK types"),
    ("list:", "parts of a request, for the vendor's SDK types"),
    (
        "input:",
        "an administrative call, for the vendor's SDK types",
    ),
    (
        "output:",
        "an administrative reply, for the vendor's SDK types",
    ),
    ("image_sizing", "a table of image sizes"),
    ("tool_choice", "a choice among tools, part of a request"),
    ("ws_", "a WebSocket event"),
    ("agent", "an agent's configuration"),
    ("file", "file metadata"),
    ("signed_url", "a file's URL"),
    ("conversation", "conversation metadata"),
    (
        "conv_restart",
        "a request that restarts a conversation at an entry",
    ),
];

/// Shapes of Bedrock's services that are documents by themselves: the name, the dialect, and the
/// field of a block that holds them. A `list:` of shapes is one document.
const BEDROCK_SHAPES: [(&str, Dialect, Option<&str>); 6] = [
    (
        "bedrock-runtime:ContentBlock",
        Dialect::BedrockConverse,
        None,
    ),
    (
        "bedrock-runtime:ToolUseBlock",
        Dialect::BedrockConverse,
        Some("toolUse"),
    ),
    (
        "bedrock-runtime:ToolResultBlock",
        Dialect::BedrockConverse,
        Some("toolResult"),
    ),
    (
        "bedrock-runtime:ImageBlock",
        Dialect::BedrockConverse,
        Some("image"),
    ),
    (STATE, Dialect::BedrockAgents, None),
    (PAYLOAD, Dialect::BedrockAgents, None),
];
const STATE: &str = "bedrock-agent-runtime:SessionState";
/// What an agent returns: a response, whereas the other shapes are parts of a history.
const PAYLOAD: &str = "bedrock-agent-runtime:ReturnControlPayload";

/// Operations of Bedrock with the dialect of their bodies.
const BEDROCK_OPERATIONS: [(&str, Dialect); 6] = [
    ("Converse", Dialect::BedrockConverse),
    ("ConverseStream", Dialect::BedrockConverse),
    ("InvokeModel", Dialect::BedrockInvoke),
    ("InvokeModelWithResponseStream", Dialect::BedrockInvoke),
    ("InvokeAgent", Dialect::BedrockAgents),
    ("InvokeInlineAgent", Dialect::BedrockAgents),
];

/// The dialect of a recorded HTTP message that names its operation, or why it has none; `None` if
/// the manifest names the dialect.
pub(super) fn dialect_of(vector: &Vector, bytes: &[u8]) -> Option<Result<Dialect, String>> {
    let kind = vector.kind.as_str();
    if let Some((_, dialect, _)) = shape(kind) {
        return Some(Ok(*dialect));
    }
    if let Some((_, why)) = UNCHECKED.iter().find(|(start, _)| kind.starts_with(start)) {
        return Some(Err((*why).to_owned()));
    }
    if !matches!(kind, "wire_request" | "wire_response" | "eventstream") {
        return None;
    }
    let document: Value = serde_json::from_slice(bytes).ok()?;
    let (service, operation) = (document.get("service")?, document.get("operation")?);
    let known = BEDROCK_OPERATIONS
        .iter()
        .find(|(name, _)| operation == name);
    let why = || format!("no dialect for the operation {operation} of {service}");
    Some(known.map(|(_, dialect)| *dialect).ok_or_else(why))
}

fn shape(kind: &str) -> Option<&'static (&'static str, Dialect, Option<&'static str>)> {
    let name = ["shape:", "list:"]
        .iter()
        .find_map(|start| kind.strip_prefix(start))?;
    BEDROCK_SHAPES.iter().find(|(shape, ..)| *shape == name)
}

/// How to check a shape or a list of shapes.
fn shape_targets(
    kind: &str,
    name: &str,
    member: Option<&str>,
    document: Value,
) -> Result<CheckTargets, String> {
    let block = |document: Value| match member {
        Some(member) => json!({ member: document }),
        None => document,
    };
    if !kind.starts_with("list:") {
        let target = match name {
            PAYLOAD => CheckTarget::Response(document),
            // A session state is not a block; it stands alone.
            STATE => CheckTarget::History(document),
            _ => CheckTarget::History(json!([block(document)])),
        };
        return Ok(vec![(String::new(), target)]);
    }
    let documents = list_of(kind, document)?.into_iter();
    if name == PAYLOAD {
        let indexed = |(at, document)| (format!("[{at}]"), CheckTarget::Response(document));
        return Ok(documents.enumerate().map(indexed).collect());
    }
    let blocks: Value = documents.map(block).collect();
    Ok(vec![(String::new(), CheckTarget::History(blocks))])
}

/// Values to check, with their paths in the document.
type CheckTargets = Vec<(String, CheckTarget)>;

/// The values to check in a document. A kind that ends in `[]` is a list of documents.
pub(super) fn targets(vector: &Vector, bytes: &[u8]) -> Result<CheckTargets, String> {
    let kind = vector.kind.as_str();
    if is_raw(&vector.file) {
        return Ok(vec![(
            String::new(),
            CheckTarget::Stream(StreamVector::complete(bytes.to_vec())),
        )]);
    }
    let document: Value =
        serde_json::from_slice(bytes).map_err(|error| format!("the file is not JSON: {error}"))?;
    if let Some((name, _, member)) = shape(kind) {
        return shape_targets(kind, name, *member, document);
    }
    let list = match kind.strip_suffix("[]") {
        // Events and items are checked together.
        Some("event" | "input_item" | "output_item") | None => {
            return Ok(vec![(String::new(), target(kind, document)?)]);
        }
        Some(of) => (of, document),
    };
    let (of, documents) = list;
    let each = list_of(kind, documents)?.into_iter().enumerate();
    each.map(|(at, document)| Ok((format!("[{at}]"), target(of, document)?)))
        .collect()
}

fn is_raw(file: &str) -> bool {
    [".sse", ".txt", ".bin"]
        .iter()
        .any(|end| file.ends_with(end))
}

fn target(kind: &str, document: Value) -> Result<CheckTarget, String> {
    // Prefixes for betas and services do not change how a document is checked.
    let plain = ["beta_", "gc_", "ix_", "conv_", "chat_", "responses_"]
        .iter()
        .find_map(|start| kind.strip_prefix(start))
        .unwrap_or(kind);
    Ok(match plain {
        "request"
        | "agent_request"
        | "stream_request"
        | "history"
        | "messages"
        | "content"
        | "items"
        | "answers"
        | "append"
        | "input_item"
        | "input_item[]"
        | "output_item"
        | "output_item[]"
        | "step"
        | "entry"
        | "part"
        | "computer_blocks"
        | "browser_blocks"
        | "tool_results"
        | "content_blocks"
        | "content_block_params"
        | "invoke_model_body"
        | "converse_anthropic"
        | "converse_anthropic_stream" => CheckTarget::History(body(document)),
        "function_call" => CheckTarget::History(google("model", json!({"functionCall": document}))),
        "function_response" => {
            CheckTarget::History(google("user", json!({"functionResponse": document})))
        }
        "function_declaration" => {
            CheckTarget::Tools(vec![json!({"functionDeclarations": [document]})])
        }
        "exchange" => CheckTarget::History(json!([
            {"role": "assistant", "content": document["assistant"]},
            {"role": "user", "content": document["user"]},
        ])),
        "legacy_calls" => CheckTarget::History(document["blocks"].clone()),
        "shell_calls" => CheckTarget::History(each(&document, |call| call["block"].clone())?),
        "cu_calls" => {
            let parts = each(&document["calls"], |call| json!({"functionCall": call}))?;
            CheckTarget::History(json!([{"role": "model", "parts": parts}]))
        }
        "action" | "action_param" => CheckTarget::History(
            json!([{"type": "computer_call", "call_id": "call_1", "actions": [document]}]),
        ),
        "response" | "message" => CheckTarget::Response(document),
        "tool" => CheckTarget::Tools(vec![document]),
        "tools" => CheckTarget::Tools(list_of("tools", document)?),
        "error" | "http_error" => CheckTarget::Error(error_body(document)),
        "errors" if document.is_array() => CheckTarget::Error(document),
        "event" if document.is_object() => {
            CheckTarget::Stream(bytes_of(json!([document]))?.allow_truncated())
        }
        "event[]" if document.is_array() => {
            CheckTarget::Stream(bytes_of(document)?.allow_truncated())
        }
        "stream" | "sse" | "eventstream" => CheckTarget::Stream(bytes_of(document)?),
        "wire_request" => CheckTarget::History(document["http"]["body"].clone()),
        "wire_response" => wire_response(&document)?,
        _ => {
            return Err(format!(
                "unknown kind `{kind}`; docs/conform.md lists the kinds, and `sdk:…` marks documents for the vendor's SDK types only"
            ));
        }
    })
}

/// A Google part in its own message.
fn google(role: &str, part: Value) -> Value {
    json!([{"role": role, "parts": [part]}])
}

fn list_of(kind: &str, document: Value) -> Result<Vec<Value>, String> {
    let Value::Array(documents) = document else {
        return Err(format!("expected a list for the kind `{kind}`"));
    };
    Ok(documents)
}

/// The `body` of a document that also has `headers`.
fn body(mut document: Value) -> Value {
    let has_headers = document.get("headers").is_some();
    match document.get_mut("body") {
        Some(body) if has_headers => body.take(),
        _ => document,
    }
}

/// The `body` of a document that also has a `status`.
fn error_body(mut document: Value) -> Value {
    let has_status = document.get("status").is_some_and(Value::is_number);
    match document.get_mut("body") {
        Some(body) if has_status => body.take(),
        _ => document,
    }
}

/// The error bodies of a list.
pub(super) fn errors(document: Value) -> Vec<Value> {
    let Value::Array(errors) = document else {
        return vec![document];
    };
    errors.into_iter().map(error_body).collect()
}

fn each(list: &Value, change: impl Fn(&Value) -> Value) -> Result<Value, String> {
    let list = list.as_array().ok_or("expected a list of calls")?;
    Ok(list.iter().map(change).collect())
}

/// The body of a recorded HTTP response, which is JSON or base64.
fn wire_response(document: &Value) -> Result<CheckTarget, String> {
    let http = &document["http"];
    let body = match http["body"]["$base64"].as_str() {
        Some(text) => {
            let bytes = STANDARD
                .decode(text)
                .map_err(|error| format!("`http.body` is not base64: {error}"))?;
            serde_json::from_slice(&bytes)
                .map_err(|error| format!("`http.body` is not JSON: {error}"))?
        }
        None => http["body"].clone(),
    };
    let is_error = http["status"].as_u64().is_some_and(|status| status >= 300);
    Ok(if is_error {
        CheckTarget::Error(body)
    } else {
        CheckTarget::Response(body)
    })
}
