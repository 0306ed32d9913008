//! Decodes one part into a neutral content.

use serde_json::{Map, Value};
use telechir_protocol::{
    CallId, Content, DataContent, HostedCall, Media, Meta, ReasoningContent, TextContent,
    UnknownContent, UriContent,
};

use super::DIALECT;
use crate::google::call::{self, RawCall};
use crate::google::context::GoogleContext;
use crate::google::media::{RESOLUTION, media_resolution, resolution, standard};
use crate::google::tool_result::{self, FunctionResponse};
use crate::google::{PLACEHOLDER, PROVIDER, SIGNATURE, member, others, text};
use crate::json::{hosted_failure, raw};

pub(super) type PartFields = Map<String, Value>;

/// The property in which a content keeps unknown fields of the part.
const BESIDE: &str = "part";
/// The property in which a content keeps unknown fields inside the part's data.
const WITHIN: &str = "members";

/// The type of a content that carries a part unchanged.
pub(super) const WRAPPED: &str = "google_part";

/// The data fields of a part, of which a part has one.
pub(super) const DATA: [&str; 7] = [
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
];

/// The id that a call or a response has in its part.
pub(super) fn own_id(part: &PartFields) -> Option<&str> {
    let payload = [
        "functionCall",
        "functionResponse",
        "executableCode",
        "codeExecutionResult",
    ]
    .into_iter()
    .find_map(|name| member(part, name))?;
    text(payload.as_object()?, "id").filter(|id| !id.is_empty())
}

/// Decodes a part. `id` is used for a call or response without an id. A part that is not understood
/// is kept unchanged.
pub(super) fn read(part: &PartFields, id: &CallId, context: &GoogleContext) -> Content {
    let id = own_id(part).map_or_else(|| id.clone(), CallId::from);
    let payload = |name| member(part, name).and_then(Value::as_object);
    let known = if let Some(content_text) = text(part, "text") {
        Some(decode_text(part, content_text))
    } else if let Some(data) = payload("inlineData") {
        inline(data).map(|media| of_media(part, media))
    } else if let Some(file) = payload("fileData") {
        filed(file).map(|media| of_media(part, media))
    } else if let Some(called) = payload("functionCall") {
        Some(function_call(part, called, id, context))
    } else if let Some(answered) = payload("functionResponse") {
        function_response(part, answered, id, context)
    } else if let Some(code) = payload("executableCode") {
        executable_code(part, code, id)
    } else if let Some(result) = payload("codeExecutionResult") {
        code_execution_result(part, result, id)
    } else {
        None
    };
    known.unwrap_or_else(|| other(part))
}

fn other(part: &PartFields) -> Content {
    let mut json = Map::new();
    json.insert("type".to_owned(), WRAPPED.into());
    json.insert("part".to_owned(), Value::Object(part.clone()));
    Content::Other(UnknownContent::new(DIALECT, json))
}

/// A meta with the part as raw representation, its signature and its unknown fields. The
/// placeholder does not count as a signature.
fn meta(part: &PartFields, payload: &[&str]) -> Meta {
    let mut meta = raw(DIALECT, Value::Object(part.clone()));
    if let Some(signature) =
        text(part, "thoughtSignature").filter(|signature| *signature != PLACEHOLDER)
    {
        meta.set_property(PROVIDER, SIGNATURE, signature.into());
    }
    let mut known: Vec<&str> = payload.to_vec();
    known.push("thoughtSignature");
    if let Some(level) = resolution(part) {
        meta.set_property(PROVIDER, RESOLUTION, level.into());
        known.push("mediaResolution");
    }
    let beside = others(part, &known);
    if !beside.is_empty() {
        meta.set_property(PROVIDER, BESIDE, beside.into());
    }
    meta
}

fn keep_within(meta: &mut Meta, payload: &Map<String, Value>, known: &[&str]) {
    let within = others(payload, known);
    if !within.is_empty() {
        meta.set_property(PROVIDER, WITHIN, within.into());
    }
}

fn decode_text(part: &PartFields, content_text: &str) -> Content {
    let content_text = content_text.to_owned();
    if part.get("thought") != Some(&Value::Bool(true)) {
        let meta = meta(part, &["text"]);
        return Content::Text(TextContent {
            text: content_text,
            meta,
        });
    }
    let mut meta = meta(part, &["text", "thought"]);
    meta.set_property(PROVIDER, "thought", true.into());
    let signature = text(part, "thoughtSignature").map(str::to_owned);
    Content::Reasoning(ReasoningContent {
        text: Some(content_text),
        item_id: None,
        protected_data: signature,
        meta,
    })
}

/// The inline data of a part or a response.
fn inline(data: &Map<String, Value>) -> Option<Media> {
    let kind = text(data, "mimeType")?;
    let content = DataContent::from_base64(kind, &standard(text(data, "data")?));
    Some(Media::Data(DataContent {
        name: text(data, "displayName").map(str::to_owned),
        ..content
    }))
}

fn filed(file: &Map<String, Value>) -> Option<Media> {
    let mut meta = Meta::default();
    if let Some(name) = text(file, "displayName") {
        meta.set_property(PROVIDER, "display_name", name.into());
    }
    Some(Media::Uri(UriContent {
        uri: text(file, "fileUri")?.to_owned(),
        media_type: text(file, "mimeType").map(str::to_owned),
        meta,
    }))
}

fn of_media(part: &PartFields, media: Media) -> Content {
    let around = meta(part, &["inlineData", "fileData"]);
    let join = |own: Meta| {
        let mut meta = around;
        if let Some(name) = own.property(PROVIDER, "display_name") {
            meta.set_property(PROVIDER, "display_name", name.clone());
        }
        meta
    };
    match media {
        Media::Data(data) => Content::Data(DataContent {
            meta: join(data.meta.clone()),
            ..data
        }),
        Media::Uri(uri) => Content::Uri(UriContent {
            meta: join(uri.meta.clone()),
            ..uri
        }),
        Media::HostedFile(file) => Content::HostedFile(file),
    }
}

fn function_call(
    part: &PartFields,
    called: &Map<String, Value>,
    id: CallId,
    context: &GoogleContext,
) -> Content {
    let mut meta = meta(part, &["functionCall"]);
    keep_within(&mut meta, called, &["id", "name", "args"]);
    let is_open = member(called, "willContinue") == Some(&Value::Bool(true))
        || member(called, "partialArgs").is_some();
    let name = text(called, "name").unwrap_or_default();
    let unfinished = format!("`{name}`: the model did not complete the call.");
    call::read(
        RawCall {
            id,
            name,
            args: called.get("args"),
            unfinished: is_open.then_some(unfinished),
            meta,
        },
        context,
    )
}

/// Decodes a response by the type of its call. A response with unreadable images is kept unchanged.
fn function_response(
    part: &PartFields,
    answered: &Map<String, Value>,
    id: CallId,
    context: &GoogleContext,
) -> Option<Content> {
    let name = text(answered, "name")?;
    let response = match answered.get("response") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(response)) => response.clone(),
        // Not as the service documents it, but a result.
        Some(odd) => Map::from_iter([("output".to_owned(), odd.clone())]),
    };
    let parts = member(answered, "parts").and_then(Value::as_array);
    let media = parts
        .into_iter()
        .flatten()
        .map(answer_media)
        .collect::<Option<Vec<Media>>>()?;
    let mut meta = meta(part, &["functionResponse"]);
    keep_within(&mut meta, answered, &["id", "name", "response", "parts"]);
    let known = context.answered(&id, name);
    call::keep_answered_name(&mut meta, context.call(&id), name);
    let is_error = false;
    let answer = FunctionResponse {
        response,
        media,
        is_error,
    };
    Some(tool_result::read(&known, id, answer, meta))
}

fn answer_media(part: &Value) -> Option<Media> {
    let part = part.as_object()?;
    let payload = |name| member(part, name).and_then(Value::as_object);
    payload("inlineData")
        .and_then(inline)
        .or_else(|| payload("fileData").and_then(filed))
}

fn executable_code(part: &PartFields, code: &Map<String, Value>, id: CallId) -> Option<Content> {
    let mut meta = meta(part, &["executableCode"]);
    if let Some(language) = text(code, "language") {
        meta.set_property(PROVIDER, "language", language.into());
    }
    keep_within(&mut meta, code, &["id", "code", "language"]);
    Some(Content::CommandCall(HostedCall {
        call_id: Some(id),
        inputs: vec![Content::text(text(code, "code")?)],
        meta,
        ..HostedCall::default()
    }))
}

fn code_execution_result(
    part: &PartFields,
    result: &Map<String, Value>,
    id: CallId,
) -> Option<Content> {
    let mut meta = meta(part, &["codeExecutionResult"]);
    keep_within(&mut meta, result, &["id", "outcome", "output"]);
    let outcome = text(result, "outcome")?;
    let failure = match outcome {
        "OUTCOME_OK" | "OUTCOME_UNSPECIFIED" => None,
        "OUTCOME_DEADLINE_EXCEEDED" => Some("The code did not end in time."),
        _ => Some("The code failed."),
    };
    let output = text(result, "output").map(Content::text);
    let failure = failure.map(|failure| hosted_failure(outcome, failure));
    Some(Content::CommandResult(HostedCall {
        call_id: Some(id),
        results: output.into_iter().chain(failure).collect(),
        status: Some(outcome.to_owned()),
        meta,
        ..HostedCall::default()
    }))
}

/// Restores the unknown fields of a part and of its data.
pub(super) fn restore_fields(part: &mut Value, payload: &str, meta: &Meta) {
    if let Some(signature) = meta.property(PROVIDER, SIGNATURE) {
        part["thoughtSignature"] = signature.clone();
    }
    if let Some(Value::String(level)) = meta.property(PROVIDER, RESOLUTION) {
        part["mediaResolution"] = media_resolution(level);
    }
    let put = |object: &mut Value, name: &str| {
        let stored = meta.property(PROVIDER, name).and_then(Value::as_object);
        for (name, value) in stored.into_iter().flatten() {
            if object.get(name).is_none() {
                object[name.as_str()] = value.clone();
            }
        }
    };
    put(part, BESIDE);
    if let Some(payload) = part.get_mut(payload) {
        put(payload, WITHIN);
    }
}
