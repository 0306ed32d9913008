//! Decodes one step into a message.

use serde_json::{Map, Value};
use telechir_protocol::{
    CallId, Content, ErrorContent, HostedCall, Media, Message, Meta, ReasoningContent, Role,
    json_limits,
};

use super::content;
use super::{DIALECT, content::file};
use crate::google::call::{self, RawCall};
use crate::google::context::GoogleContext;
use crate::google::media::IS_ERROR;
use crate::google::tool_result::{self, FunctionResponse};
use crate::google::{PLACEHOLDER, PROVIDER, others, text};
use crate::json::{hosted_failure, raw, verbatim};

pub(super) type StepFields = Map<String, Value>;

/// The property for fields of a step without a neutral name.
const BESIDE: &str = "step";
/// The property for the form of a function's result, where we would encode another.
pub(super) const FORM: &str = "result_form";

/// Decodes a step. A step that is not understood is kept unchanged.
pub(super) fn read(step: &StepFields, context: &GoogleContext) -> Message {
    let known = match text(step, "type").unwrap_or_default() {
        "user_input" => input_or_output(Role::User, step),
        "model_output" => input_or_output(Role::Assistant, step),
        "thought" => Some(message_of(Role::Assistant, thought(step))),
        "function_call" => {
            function_call(step, context).map(|call| message_of(Role::Assistant, call))
        }
        "function_result" => {
            function_result(step, context).map(|result| message_of(Role::Tool, result))
        }
        "code_execution_call" => code_call(step).map(|call| message_of(Role::Assistant, call)),
        "code_execution_result" => {
            code_result(step).map(|result| message_of(Role::Assistant, result))
        }
        _ => None,
    };
    known.unwrap_or_else(|| message_of(Role::Assistant, verbatim(step, DIALECT)))
}

/// A message with one content, whose meta has the step.
fn message_of(role: Role, content: Content) -> Message {
    Message::new(role, vec![content])
}

/// A meta with the step as raw representation, and its unknown fields.
fn meta(step: &StepFields, known: &[&str]) -> Meta {
    let mut meta = raw(DIALECT, Value::Object(step.clone()));
    let known: Vec<&str> = known.iter().copied().chain(["type"]).collect();
    let beside = others(step, &known);
    if !beside.is_empty() {
        meta.set_property(PROVIDER, BESIDE, beside.into());
    }
    meta
}

/// Restores the unknown fields of a step.
pub(super) fn restore_fields(step: &mut Value, meta: &Meta) {
    let stored = meta.property(PROVIDER, BESIDE).and_then(Value::as_object);
    for (name, value) in stored.into_iter().flatten() {
        if step.get(name).is_none() {
            step[name.as_str()] = value.clone();
        }
    }
}

/// Decodes an input or output step; the message's meta keeps the step around the contents.
fn input_or_output(role: Role, step: &StepFields) -> Option<Message> {
    let contents = match step.get("content") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(contents)) => contents
            .iter()
            .map(|content| Some(content::read(content.as_object()?)))
            .collect::<Option<Vec<Content>>>()?,
        Some(_) => return None,
    };
    let mut around = step.clone();
    if let Some(Value::Array(contents)) = around.get_mut("content") {
        contents.clear();
    }
    let mut message = Message::new(role, contents);
    message
        .contents
        .extend(step.get("error").and_then(Value::as_object).map(failed));
    message.meta = raw(DIALECT, Value::Object(around));
    Some(message)
}

/// The error of an output step.
fn failed(error: &Map<String, Value>) -> Content {
    let mut meta = Meta::default();
    meta.set_property(PROVIDER, "step_error", true.into());
    Content::Error(ErrorContent {
        message: text(error, "message").unwrap_or_default().to_owned(),
        error_code: error.get("code").map(|code| match code {
            Value::String(code) => code.clone(),
            other => other.to_string(),
        }),
        error_details: error.get("details").cloned(),
        meta,
    })
}

fn thought(step: &StepFields) -> Content {
    let summary = step.get("summary").and_then(Value::as_array);
    let texts: Vec<&str> = summary
        .into_iter()
        .flatten()
        .filter_map(|part| part.get("text")?.as_str())
        .collect();
    let mut meta = meta(step, &["signature", "summary"]);
    meta.set_property(PROVIDER, "thought", true.into());
    if let Some(summary) = step.get("summary").filter(|_| !is_plain(step, texts.len())) {
        meta.set_property(PROVIDER, "summary", summary.clone());
    }
    let signature = text(step, "signature").filter(|signature| *signature != PLACEHOLDER);
    Content::Reasoning(ReasoningContent {
        text: (!texts.is_empty()).then(|| texts.join("\n")),
        item_id: None,
        protected_data: signature.map(str::to_owned),
        meta,
    })
}

/// Whether a summary is absent or one plain text.
fn is_plain(step: &StepFields, texts: usize) -> bool {
    let parts = step.get("summary").and_then(Value::as_array);
    let members = |part: &Value| part.as_object().map_or(0, Map::len);
    match parts {
        None => true,
        Some(parts) => {
            parts.len() == 1 && texts == 1 && parts.iter().all(|part| members(part) == 2)
        }
    }
}

fn function_call(step: &StepFields, context: &GoogleContext) -> Option<Content> {
    let id = text(step, "id").filter(|id| !id.is_empty())?;
    let called = RawCall {
        id: CallId::from(id),
        name: text(step, "name").unwrap_or_default(),
        args: step.get("arguments"),
        unfinished: None,
        meta: meta(step, &["id", "name", "arguments"]),
    };
    Some(call::read(called, context))
}

/// Decodes a function's result: a text that may be JSON, images beside it, or an object.
fn function_result(step: &StepFields, context: &GoogleContext) -> Option<Content> {
    let id = CallId::from(text(step, "call_id")?);
    let known = match text(step, "name") {
        Some(name) => context.answered(&id, name),
        None => context.call(&id)?.clone(),
    };
    let mut meta = meta(
        step,
        &[
            "call_id",
            "name",
            "result",
            "is_error",
            tool_result::ACKNOWLEDGED,
        ],
    );
    if let Some(name) = text(step, "name") {
        call::keep_answered_name(&mut meta, context.call(&id), name);
    }
    let mut answer = FunctionResponse {
        is_error: step.get("is_error") == Some(&Value::Bool(true)),
        ..FunctionResponse::default()
    };
    match step.get("result")? {
        Value::Object(response) => {
            answer.response = response.clone();
            meta.set_property(PROVIDER, FORM, "object".into());
        }
        Value::String(string) => {
            answer.response = response_of(string);
            meta.set_property(PROVIDER, FORM, "text".into());
        }
        Value::Array(contents) => read_contents(contents, &mut answer)?,
        _ => return None,
    }
    if step.get("is_error").is_some() && !answer.is_error {
        meta.set_property(PROVIDER, "is_error", false.into());
    }
    if let Some(acknowledged) = step.get(tool_result::ACKNOWLEDGED) {
        let name = tool_result::ACKNOWLEDGED.to_owned();
        answer.response.entry(name).or_insert(acknowledged.clone());
    }
    Some(tool_result::read(&known, id, answer, meta))
}

fn read_contents(contents: &[Value], answer: &mut FunctionResponse) -> Option<()> {
    let mut texts = Vec::new();
    for content in contents {
        let content = content.as_object()?;
        match text(content, "type")? {
            "text" => texts.push(content.get("text")?.as_str()?),
            kind => answer.media.push(file(content, kind)? as Media),
        }
    }
    if !texts.is_empty() {
        answer.response = response_of(&texts.join("\n"));
    }
    Some(())
}

/// A text that is a JSON object is the response; any other text is its output.
fn response_of(string: &str) -> Map<String, Value> {
    match json_limits::parse(string.as_bytes()) {
        Ok(Value::Object(response)) => response,
        _ => Map::from_iter([("output".to_owned(), string.into())]),
    }
}

fn code_call(step: &StepFields) -> Option<Content> {
    let arguments = step.get("arguments")?.as_object()?;
    let mut meta = meta(step, &["id", "arguments"]);
    let beside = others(arguments, &["code"]);
    if !beside.is_empty() {
        meta.set_property(PROVIDER, "arguments", beside.into());
    }
    Some(Content::CommandCall(HostedCall {
        call_id: Some(text(step, "id")?.into()),
        inputs: vec![Content::text(text(arguments, "code")?)],
        meta,
        ..HostedCall::default()
    }))
}

fn code_result(step: &StepFields) -> Option<Content> {
    let mut meta = meta(step, &["call_id", "result"]);
    let results = match step.get("result")? {
        Value::String(string) => vec![Content::text(string.as_str())],
        Value::Array(contents) => {
            meta.set_property(PROVIDER, FORM, "contents".into());
            contents
                .iter()
                .map(|content| Some(content::read(content.as_object()?)))
                .collect::<Option<Vec<Content>>>()?
        }
        _ => return None,
    };
    let is_error = step.get("is_error") == Some(&Value::Bool(true));
    let failure = is_error.then(|| hosted_failure(IS_ERROR, "The code failed."));
    Some(Content::CommandResult(HostedCall {
        call_id: Some(text(step, "call_id")?.into()),
        results: results.into_iter().chain(failure).collect(),
        meta,
        ..HostedCall::default()
    }))
}
