//! Encodes contents as parts.

use serde_json::{Map, Value, json};
use telechir_protocol::{
    CallId, Content, HostedCall, Media, Meta, ReasoningContent, UnknownContent,
};

use super::DIALECT;
use super::decode_part::{self, WRAPPED, restore_fields};
use crate::Report;
use crate::data_url::base64_of;
use crate::google::call_encoder::{CallForm, is_own_reasoning, label};
use crate::google::context::GoogleContext;
use crate::google::encode_call::EncodedFunctionCall;
use crate::google::media::hosted_text;
use crate::google::tool_result::FunctionResponse;
use crate::google::{GENERATED_ID_PREFIX, PROVIDER, member, text};

/// The parts of contents.
pub(super) struct Parts;

impl CallForm for Parts {
    const DIALECT: &'static str = DIALECT;

    fn passed_on(other: &UnknownContent) -> Option<&Map<String, Value>> {
        let is_wrapped = other.kind.as_deref() == Some(WRAPPED);
        is_wrapped.then(|| other.json.get("part")?.as_object())?
    }

    fn read(json: &Map<String, Value>, id: &CallId, context: &GoogleContext) -> Option<Content> {
        Some(decode_part::read(json, id, context))
    }

    fn function_call(json: &Map<String, Value>) -> Option<(Option<&str>, &str)> {
        let call = member(json, "functionCall")?.as_object()?;
        let id = text(call, "id").filter(|id| !id.is_empty());
        Some((id, text(call, "name").unwrap_or_default()))
    }

    fn calls(content: &Content, encoded: &[EncodedFunctionCall]) -> Vec<Value> {
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

    fn result(
        encoded: &EncodedFunctionCall,
        response: FunctionResponse,
        meta: &Meta,
        report: &mut Report,
    ) -> Value {
        let mut payload = Map::new();
        put_id(&mut payload, &encoded.id);
        payload.insert("name".to_owned(), encoded.name.as_str().into());
        payload.insert("response".to_owned(), response.response.into());
        let location = format!("result {}", encoded.id);
        let media = response.media.iter();
        let parts: Vec<Value> = media
            .filter_map(|media| media_part(media, &location, report))
            .collect();
        if !parts.is_empty() {
            payload.insert("parts".to_owned(), parts.into());
        }
        let mut part = json!({"functionResponse": payload});
        restore_fields(&mut part, "functionResponse", meta);
        part
    }

    fn plain(content: &Content, location: &str, report: &mut Report) -> Option<Value> {
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
                report.lost(label(other), location, "there is no such part");
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
}

/// Generated ids are not sent.
fn put_id(object: &mut Map<String, Value>, id: &CallId) {
    if !id.as_str().is_empty() && !id.as_str().starts_with(GENERATED_ID_PREFIX) {
        object.insert("id".to_owned(), id.as_str().into());
    }
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

fn thought(reasoning: &ReasoningContent, location: &str, report: &mut Report) -> Option<Value> {
    if !is_own_reasoning(reasoning, location, report) {
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
