//! Encodes contents as parts, and the results of a turn.

use serde_json::{Map, Value, json};
use telechir_protocol::{
    AnsweredTurn, CallId, Content, HostedCall, Media, ReasoningContent, ToolCall, ToolResult,
    UnknownContent,
};

use super::DIALECT;
use super::decode_part::{self, WRAPPED, restore_fields};
use crate::data_url::base64_of;
use crate::google::encode_call::{self, EncodedFunctionCall};
use crate::google::media::hosted_text;
use crate::google::tool_result::{self, FunctionResponse};
use crate::google::{GENERATED_ID_PREFIX, PROVIDER, context::GoogleContext, split_calls};
use crate::history::turns;
use crate::history::turns::meta_of;
use crate::{EncodeError, EncodedReply, Report};

/// Encodes the results of a turn as the parts of the next content, in the order of the calls.
pub(super) fn write_answers(turn: &AnsweredTurn) -> Result<EncodedReply, EncodeError> {
    let mut reply = EncodedReply::default();
    for (call, result) in turn.pairs() {
        let content = content_of(&call);
        let encoded = function_calls(&content, result);
        reply
            .items
            .extend(responses(&encoded, result, &mut reply.report));
    }
    tool_result::note_unacknowledged(turn, &mut reply.report);
    Ok(reply)
}

pub(in crate::google) fn content_of(call: &ToolCall) -> Content {
    match call {
        ToolCall::Computer(call) => Content::ComputerCall(call.clone()),
        ToolCall::Shell(call) => Content::ShellCall(call.clone()),
        ToolCall::Edit(call) => Content::EditCall(call.clone()),
        ToolCall::Function(call) => Content::FunctionCall(call.clone()),
    }
}

/// The function calls of the model; for a call of another dialect, the ones it would be encoded as.
fn function_calls(content: &Content, result: &ToolResult) -> Vec<EncodedFunctionCall> {
    if let Some(parts) = unchanged(content, &GoogleContext::default()) {
        return called(&parts, content);
    }
    encode_call::write_again(content, result)
}

/// The function calls in unchanged parts.
pub(super) fn called(parts: &[Value], content: &Content) -> Vec<EncodedFunctionCall> {
    let count = parts.len();
    let id = turns::call_id(content).cloned();
    let id = id.unwrap_or_else(|| CallId::from(""));
    let call = |(at, part): (usize, &Value)| {
        let part = part.as_object()?;
        let call = crate::google::member(part, "functionCall")?.as_object()?;
        let own = crate::google::text(call, "id").filter(|id| !id.is_empty());
        Some(EncodedFunctionCall {
            id: own.map_or_else(|| split_calls::part_id(&id, at + 1, count), CallId::from),
            name: crate::google::text(call, "name")
                .unwrap_or_default()
                .to_owned(),
            args: Value::Null,
            action: (count > 1).then_some(at),
        })
    };
    parts.iter().enumerate().filter_map(call).collect()
}

/// The original parts of a content, if it still means the same.
pub(super) fn unchanged(content: &Content, context: &GoogleContext) -> Option<Vec<Value>> {
    if let Content::Other(other) = content {
        return passed_on(other).map(|part| vec![Value::Object(part.clone())]);
    }
    let raw = content
        .meta()?
        .raw_representation
        .as_ref()
        .filter(|raw| raw.dialect == DIALECT)?;
    let id = id_of(content).cloned().unwrap_or_else(|| CallId::from(""));
    match raw.json() {
        Value::Object(json) => {
            (decode_part::read(json, &id, context) == *content).then(|| vec![raw.json().clone()])
        }
        Value::Array(parts) => {
            let count = parts.len();
            let read = |(at, part): (usize, &Value)| {
                let id = split_calls::part_id(&id, at + 1, count);
                Some(decode_part::read(part.as_object()?, &id, context))
            };
            let read: Option<Vec<Content>> = parts.iter().enumerate().map(read).collect();
            (split_calls::join(read?).as_slice() == std::slice::from_ref(content))
                .then(|| parts.clone())
        }
        _ => None,
    }
}

/// The id that connects a content with another one.
fn id_of(content: &Content) -> Option<&CallId> {
    match content {
        Content::CommandCall(call) | Content::CommandResult(call) => call.call_id.as_ref(),
        content => turns::pair_id(content),
    }
}

fn passed_on(other: &UnknownContent) -> Option<&Map<String, Value>> {
    (other.kind.as_deref() == Some(WRAPPED))
        .then(|| other.json.get("part")?.as_object())
        .flatten()
}

/// Encodes a call as parts.
pub(super) fn call_parts(content: &Content, encoded: &[EncodedFunctionCall]) -> Vec<Value> {
    let write = |encoded: &EncodedFunctionCall| {
        let mut call = Map::new();
        put_id(&mut call, &encoded.id);
        call.insert("name".to_owned(), encoded.name.as_str().into());
        call.insert("args".to_owned(), encoded.args.clone());
        let mut part = json!({"functionCall": call});
        if let Some(meta) = content.meta() {
            restore_fields(&mut part, "functionCall", meta);
        }
        part
    };
    let mut parts: Vec<Value> = encoded.iter().map(write).collect();
    // A signature belongs to one call only.
    for part in parts.iter_mut().skip(1).filter_map(Value::as_object_mut) {
        part.shift_remove("thoughtSignature");
    }
    parts
}

/// Generated ids are not sent.
fn put_id(object: &mut Map<String, Value>, id: &CallId) {
    if !id.as_str().is_empty() && !id.as_str().starts_with(GENERATED_ID_PREFIX) {
        object.insert("id".to_owned(), id.as_str().into());
    }
}

/// Encodes the responses to these function calls.
pub(super) fn responses(
    encoded: &[EncodedFunctionCall],
    result: &ToolResult,
    report: &mut Report,
) -> Vec<Value> {
    let answers = tool_result::write(encoded, result, report);
    let meta = meta_of(result);
    let write = |(encoded, answer): (&EncodedFunctionCall, FunctionResponse)| {
        let mut part = response(encoded, answer, report);
        restore_fields(&mut part, "functionResponse", meta);
        part
    };
    encoded.iter().zip(answers).map(write).collect()
}

pub(super) fn response(
    encoded: &EncodedFunctionCall,
    answer: FunctionResponse,
    report: &mut Report,
) -> Value {
    let mut response = Map::new();
    put_id(&mut response, &encoded.id);
    response.insert("name".to_owned(), encoded.name.as_str().into());
    response.insert("response".to_owned(), answer.response.into());
    let location = format!("result {}", encoded.id);
    let parts: Vec<Value> = answer
        .media
        .iter()
        .filter_map(|media| media_part(media, &location, report))
        .collect();
    if !parts.is_empty() {
        response.insert("parts".to_owned(), parts.into());
    }
    json!({"functionResponse": response})
}

/// Encodes an image or file; `None` if that is impossible, which is reported.
fn media_part(media: &Media, location: &str, report: &mut Report) -> Option<Value> {
    match media {
        Media::Data(data) => {
            let Some(bytes) = base64_of(data) else {
                report.lost(
                    "a file with unreadable data",
                    location,
                    "files must be base64",
                );
                return None;
            };
            let kind = data.media_type().unwrap_or("application/octet-stream");
            let mut payload = json!({"mimeType": kind, "data": bytes});
            if let Some(name) = &data.name {
                payload["displayName"] = name.as_str().into();
            }
            Some(json!({"inlineData": payload}))
        }
        Media::Uri(uri) => {
            let mut payload = json!({"fileUri": uri.uri});
            if let Some(kind) = &uri.media_type {
                payload["mimeType"] = kind.as_str().into();
            }
            if let Some(name) = uri.meta.property(PROVIDER, "display_name") {
                payload["displayName"] = name.clone();
            }
            Some(json!({"fileData": payload}))
        }
        Media::HostedFile(file) => {
            let what = format!("file {}", file.file_id);
            report.lost(what, location, "another provider stores it");
            None
        }
    }
}

/// Encodes a content that is neither a call nor a result; `None` if it cannot be encoded, which is
/// reported, or is not part of a conversation.
pub(super) fn plain(content: &Content, location: &str, report: &mut Report) -> Option<Value> {
    let mut part = match content {
        Content::Text(text) => {
            if !text.meta.annotations.is_empty() {
                let what = format!("{} annotations", text.meta.annotations.len());
                report.lost(what, location, "they belong to a response, not to a part");
            }
            json!({"text": text.text})
        }
        Content::Reasoning(reasoning) => thought(reasoning, location, report)?,
        Content::CommandCall(call) => executable(call, location, report),
        Content::CommandResult(result) => executed(result, location, report),
        Content::Data(_) | Content::Uri(_) | Content::HostedFile(_) => {
            let media = crate::json::media(content)?;
            media_part(&media, location, report)?
        }
        // Usage and finish reasons are not part of a conversation.
        Content::Usage(_) => return None,
        Content::Error(error) if error.meta.property(PROVIDER, "finish_reason").is_some() => {
            return None;
        }
        other => {
            report.lost(name(other), location, "there is no such part");
            return None;
        }
    };
    let payload = ["executableCode", "codeExecutionResult"];
    let payload = payload.into_iter().find(|name| part.get(*name).is_some());
    if let Some(meta) = content.meta() {
        restore_fields(&mut part, payload.unwrap_or_default(), meta);
    }
    Some(part)
}

fn name(content: &Content) -> String {
    match content {
        Content::Error(error) => format!("error {:?}", error.message),
        Content::ImageGenerationCall(_) => "an image generation call".to_owned(),
        Content::ImageGenerationResult(_) => "a generated image".to_owned(),
        Content::ApprovalRequest(request) => format!("approval request {}", request.id),
        Content::ApprovalResponse(response) => format!("approval response {}", response.id),
        Content::Other(other) => format!(
            "content of type {:?}",
            other.kind.as_deref().unwrap_or_default()
        ),
        _ => "a call inside a result".to_owned(),
    }
}

/// Reasoning is only accepted by the provider that created it.
fn thought(reasoning: &ReasoningContent, location: &str, report: &mut Report) -> Option<Value> {
    if reasoning.meta.property(PROVIDER, "thought").is_none() {
        let why = "the provider accepts only its own reasoning";
        report.lost("reasoning", location, why);
        return None;
    }
    let mut part = json!({"text": reasoning.text.as_deref().unwrap_or_default(), "thought": true});
    if let Some(signature) = &reasoning.protected_data {
        part["thoughtSignature"] = signature.as_str().into();
    }
    Some(part)
}

fn executable(call: &HostedCall, location: &str, report: &mut Report) -> Value {
    let own = call.meta.property(PROVIDER, "language");
    let is_bash = call.meta.property("anthropic", "name") == Some(&"bash_code_execution".into());
    let default = if is_bash {
        "LANGUAGE_UNSPECIFIED"
    } else {
        "PYTHON"
    };
    let arguments = call.meta.property(PROVIDER, "arguments");
    let of_step = arguments.and_then(|arguments| arguments.get("language")?.as_str());
    let of_step = of_step.map(|language| match language {
        "python" => "PYTHON",
        other => {
            let why = "the API knows only Python";
            report.lost(format!("language {other}"), location, why);
            "LANGUAGE_UNSPECIFIED"
        }
    });
    let language = own
        .cloned()
        .unwrap_or_else(|| of_step.unwrap_or(default).into());
    let code = hosted_text(call, location, report).unwrap_or_default();
    let mut payload = Map::new();
    if let Some(id) = &call.call_id {
        put_id(&mut payload, id);
    }
    payload.insert("language".to_owned(), language);
    payload.insert("code".to_owned(), code.into());
    json!({"executableCode": payload})
}

fn executed(result: &HostedCall, location: &str, report: &mut Report) -> Value {
    let failed = result
        .results
        .iter()
        .any(|content| matches!(content, Content::Error(_)));
    let own = result.status.as_deref();
    let own = own.filter(|status| status.starts_with("OUTCOME_"));
    let is_late = |content: &Content| matches!(content, Content::Error(error) if error.error_code.as_deref() == Some("execution_time_exceeded"));
    let default = match failed {
        true if result.results.iter().any(is_late) => "OUTCOME_DEADLINE_EXCEEDED",
        true => "OUTCOME_FAILED",
        false => "OUTCOME_OK",
    };
    let mut payload = Map::new();
    if let Some(id) = &result.call_id {
        put_id(&mut payload, id);
    }
    payload.insert("outcome".to_owned(), own.unwrap_or(default).into());
    if let Some(output) = hosted_text(result, location, report) {
        payload.insert("output".to_owned(), output.into());
    }
    json!({"codeExecutionResult": payload})
}
