//! The JSON around contents: a request, a response, a list, or a single content.

use std::collections::VecDeque;

use serde_json::{Map, Value};
use telechir_protocol::{CallId, Content, ErrorContent, Message, Meta, ModelTurn, Role};

use super::decode_part::{self, DATA, own_id};
use super::{DIALECT, stream};
use crate::google::context::{self, GoogleContext};
use crate::google::{self, PROVIDER, generated_id, member, provider_error, split_calls, text};
use crate::history::turns::call_id;
use crate::json::{names_of, raw};
use crate::{DecodeError, Envelope, History, Report};

/// Envelope fields for a document that is one content, a list of parts, or one part.
pub(super) const ALONE: &str = "";
pub(super) const PARTS: &str = "parts";
pub(super) const PART: &str = "part";
pub(super) const CANDIDATES: &str = "candidates";
pub(super) const CONTENTS: &str = "contents";

/// The fields of a request that hold instructions, in both spellings.
pub(super) const INSTRUCTIONS: [&str; 2] = ["systemInstruction", "system_instruction"];

/// Decodes one response: an object, a list of chunks, its content or its parts.
pub(super) fn read_response(document: Value) -> Result<(ModelTurn, Report), DecodeError> {
    let found = find(document)?;
    if found.member == Some(CONTENTS) {
        return Err(wrong(
            "expected a response, found a request with `contents`",
        ));
    }
    let mut reader = ContentsReader::new(&found);
    let mut contents = Vec::new();
    for (at, content) in found.contents.iter().enumerate() {
        contents.extend(reader.content(content, at)?.contents);
    }
    contents.extend(ended(&found.rest));
    contents.extend(
        member(&found.rest, "usageMetadata")
            .and_then(Value::as_object)
            .map(|usage| cost(usage, &found.rest)),
    );
    Ok((ModelTurn::new(contents)?, reader.report))
}

/// Decodes a history: a request, its list of contents, a response, one content or its parts.
pub(super) fn read_history(document: Value) -> Result<(History, Report), DecodeError> {
    let found = find(document)?;
    let mut reader = ContentsReader::new(&found);
    let mut messages = Vec::new();
    if found.member == Some(CONTENTS) {
        let field = INSTRUCTIONS.iter().find_map(|name| found.rest.get(*name));
        messages.extend(field.and_then(instructions));
    }
    for (at, content) in found.contents.iter().enumerate() {
        messages.push(reader.content(content, at)?);
    }
    let envelope = Envelope::of(DIALECT, found.member, found.rest);
    Ok((History { messages, envelope }, reader.report))
}

struct ParsedContents {
    contents: Vec<Value>,
    /// Absent for a list of contents.
    member: Option<&'static str>,
    rest: Map<String, Value>,
}

fn wrong(problem: impl Into<String>) -> DecodeError {
    DecodeError::wrong_shape(DIALECT, problem)
}

fn alone(member: &'static str, content: Value) -> ParsedContents {
    ParsedContents {
        contents: vec![content],
        member: Some(member),
        rest: Map::new(),
    }
}

fn is_part(value: &Value) -> bool {
    let known = |object: &Map<String, Value>| {
        let has = |name: &&str| member(object, name).is_some();
        DATA.iter().any(has)
            || ["toolCall", "toolResponse", "thoughtSignature"]
                .iter()
                .any(has)
    };
    value.as_object().is_some_and(|object| {
        known(object) && !object.contains_key("role") && text(object, "type").is_none()
    })
}

fn parts_alone(parts: Vec<Value>, member: &'static str) -> ParsedContents {
    let answers = parts
        .iter()
        .filter_map(Value::as_object)
        .any(|part| google::member(part, "functionResponse").is_some());
    let role = if answers { "user" } else { "model" };
    let mut content = Map::new();
    content.insert("role".to_owned(), role.into());
    content.insert("parts".to_owned(), parts.into());
    alone(member, content.into())
}

fn find(document: Value) -> Result<ParsedContents, DecodeError> {
    refuse_other(&document)?;
    match document {
        Value::Array(items) => list(items),
        Value::Object(rest) => object(rest),
        _ => Err(wrong("expected an object or a list of contents")),
    }
}

fn list(items: Vec<Value>) -> Result<ParsedContents, DecodeError> {
    let is_chunk = |item: &Value| {
        ["candidates", "usageMetadata", "promptFeedback", "error"]
            .iter()
            .any(|name| item.get(*name).is_some())
    };
    if !items.is_empty() && items.iter().all(is_chunk) {
        let merged = stream::merged(items).map_err(|problem| wrong(problem.to_string()))?;
        return find(merged);
    }
    if !items.is_empty() && items.iter().all(is_part) {
        return Ok(parts_alone(items, PARTS));
    }
    Ok(ParsedContents {
        contents: items,
        member: None,
        rest: Map::new(),
    })
}

fn object(mut rest: Map<String, Value>) -> Result<ParsedContents, DecodeError> {
    if let Some(error) = rest.get("error").and_then(Value::as_object) {
        return Err(provider_error(error));
    }
    if let Some(contents) = rest.get_mut(CONTENTS) {
        let contents = match std::mem::take(contents) {
            Value::Array(list) => {
                *contents = Value::Array(Vec::new());
                list
            }
            // The service reads one content as a list of it.
            one @ Value::Object(_) => {
                *contents = one_alone();
                vec![one]
            }
            _ => return Err(wrong("`contents` is not a list")),
        };
        return Ok(ParsedContents {
            contents,
            member: Some(CONTENTS),
            rest,
        });
    }
    let is_response = [
        CANDIDATES,
        "promptFeedback",
        "usageMetadata",
        "modelVersion",
    ]
    .iter()
    .any(|name| member(&rest, name).is_some());
    if is_response {
        return response(rest);
    }
    if rest.contains_key("parts") || rest.contains_key("role") {
        return Ok(alone(ALONE, rest.into()));
    }
    let names = names_of(&rest);
    let object = Value::Object(rest);
    if is_part(&object) {
        return Ok(parts_alone(vec![object], PART));
    }
    Err(wrong(format!(
        "expected `candidates`, `contents` or `parts`, found {names}"
    )))
}

/// Takes the content of the first candidate; the others stay in the envelope.
fn response(mut rest: Map<String, Value>) -> Result<ParsedContents, DecodeError> {
    let mut contents = Vec::new();
    match rest.get_mut(CANDIDATES) {
        None | Some(Value::Null) => {}
        Some(Value::Array(candidates)) => {
            if let Some(first) = candidates.first_mut() {
                let Some(candidate) = first.as_object_mut() else {
                    return Err(wrong("candidates[0] is not an object"));
                };
                if let Some(content) = candidate.get_mut("content") {
                    check_content(content)?;
                    if has_parts(content) {
                        contents.push(content.take());
                    }
                }
            }
        }
        Some(_) => return Err(wrong("`candidates` is not a list")),
    }
    Ok(ParsedContents {
        contents,
        member: Some(CANDIDATES),
        rest,
    })
}

/// Rejects a content that would be taken for an empty one.
fn check_content(content: &Value) -> Result<(), DecodeError> {
    let problem = match (content, content.get("parts")) {
        (Value::Null, _) | (Value::Object(_), None | Some(Value::Null | Value::Array(_))) => {
            return Ok(());
        }
        (Value::Object(_), Some(_)) => "candidates[0].content.parts is not a list",
        _ => "candidates[0].content is not an object",
    };
    Err(wrong(problem))
}

fn has_parts(content: &Value) -> bool {
    content.get("parts").is_some_and(Value::is_array)
}

/// Rejects documents of other dialects that have fields with the same names.
fn refuse_other(document: &Value) -> Result<(), DecodeError> {
    let first = match document {
        Value::Array(items) => items.first().unwrap_or(&Value::Null),
        other => other,
    };
    let has = |name: &str| first.get(name).is_some();
    let typed = first.get("type").is_some_and(Value::is_string);
    let looks_like = if has("steps") || has("event_type") || has("previous_interaction_id") {
        "google-interactions"
    } else if has("messages") || has("stop_reason") {
        "anthropic-messages"
    } else if has("output") || has("call_id") {
        "openai-responses"
    } else if typed && !has("parts") {
        "google-interactions"
    } else {
        return Ok(());
    };
    Err(DecodeError::WrongShape {
        dialect: DIALECT,
        problem: "expected `contents` with `parts`".to_owned(),
        looks_like: Some(looks_like),
    })
}

/// Whether the instructions have a form that the decoder reads.
pub(crate) fn is_instructions(field: &Value) -> bool {
    instructions(field).is_some()
}

/// The request's instructions as its first message.
fn instructions(field: &Value) -> Option<Message> {
    let field = field.as_object()?;
    let parts = parts_of(field.get("parts")?)?;
    let context = GoogleContext::default();
    let read = |part: &Value| {
        Some(decode_part::read(
            part.as_object()?,
            &CallId::from(""),
            &context,
        ))
    };
    let contents: Option<Vec<Content>> = parts.iter().map(read).collect();
    let mut message = Message::new(Role::System, contents?);
    message.meta = raw(DIALECT, Value::Object(without_parts(field)));
    Some(message)
}

/// A list of parts, or one part, which the service reads as a list of it.
fn parts_of(parts: &Value) -> Option<&[Value]> {
    match parts {
        Value::Array(parts) => Some(parts),
        one @ Value::Object(_) => Some(std::slice::from_ref(one)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn without_parts(content: &Map<String, Value>) -> Map<String, Value> {
    let mut around = content.clone();
    match around.get_mut("parts") {
        Some(Value::Array(parts)) => parts.clear(),
        Some(part @ Value::Object(_)) => *part = one_alone(),
        Some(_) | None => {}
    }
    around
}

/// What stands for an element that is not in a list.
fn one_alone() -> Value {
    Value::Object(Map::new())
}

/// Puts elements in their place: a single one without a list if it came so, and none if there was
/// no list.
pub(super) fn put_back(around: &mut Map<String, Value>, name: &str, mut elements: Vec<Value>) {
    if elements.is_empty() && around.get(name).is_none_or(Value::is_null) {
        return;
    }
    let was_alone = around.get(name).is_some_and(Value::is_object);
    let value = match elements.len() {
        1 if was_alone => elements.remove(0),
        _ => elements.into(),
    };
    around.insert(name.to_owned(), value);
}

/// Decodes contents one after another.
struct ContentsReader {
    context: GoogleContext,
    report: Report,
    /// Part of generated ids: the response's id, or absent for a history.
    id_prefix: Option<String>,
    /// Calls without a result so far, with their function's name and the index of their content.
    open: VecDeque<(CallId, String, usize)>,
    /// The index of the current content.
    at: usize,
}

impl ContentsReader {
    fn new(found: &ParsedContents) -> Self {
        let id_prefix = match found.member {
            Some(CANDIDATES) => Some(text(&found.rest, "responseId").unwrap_or("0").to_owned()),
            _ => None,
        };
        let candidates = found.rest.get(CANDIDATES).and_then(Value::as_array);
        let others = candidates.map_or(0, |all| all.len().saturating_sub(1));
        let mut report = Report::default();
        if others > 0 {
            let why = "a response decodes to one turn";
            report.preserved(
                format!("{others} other candidates"),
                "candidates[1]",
                why,
                "in the envelope",
            );
        }
        Self {
            context: GoogleContext::of_functions(context::declared(member(&found.rest, "tools"))),
            report,
            id_prefix,
            open: VecDeque::new(),
            at: 0,
        }
    }

    fn content(&mut self, value: &Value, at: usize) -> Result<Message, DecodeError> {
        self.at = at;
        let location = format!("contents[{at}]");
        let Some(content) = value.as_object() else {
            return Err(wrong(format!("{location} is not an object")));
        };
        if !content.contains_key("parts") && !content.contains_key("role") {
            return Err(wrong(format!("{location} lacks both `role` and `parts`")));
        }
        if member(content, "role").is_some_and(|role| !role.is_string()) {
            return Err(wrong(format!("{location}.role is not a text")));
        }
        let role = text(content, "role").map(str::to_lowercase);
        let role = match role.as_deref() {
            Some("model") => Role::Assistant,
            // Some proxies leave it out in a response.
            None if self.id_prefix.is_some() => Role::Assistant,
            Some("user") | None => Role::User,
            Some("function") => Role::Tool,
            Some("system") => Role::System,
            Some(odd) => {
                return Err(wrong(format!(
                    "{location} has the role `{odd}`, expected user or model"
                )));
            }
        };
        let parts = match content.get("parts") {
            None | Some(Value::Null) => &[][..],
            Some(parts) => {
                parts_of(parts).ok_or_else(|| wrong(format!("{location}.parts is not a list")))?
            }
        };
        let ids = self.id_prefix.clone().unwrap_or_else(|| at.to_string());
        let mut contents = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let Some(part) = part.as_object() else {
                return Err(wrong(format!("{location}.parts[{index}] is not an object")));
            };
            let content = self.part(part, &generated_id(&ids, index), contents.last());
            contents.push(content);
        }
        let mut message = Message::new(role, split_calls::join(contents));
        for content in &message.contents {
            self.note_joined(content);
        }
        message.meta = raw(DIALECT, Value::Object(without_parts(content)));
        Ok(message)
    }

    fn part(
        &mut self,
        part: &Map<String, Value>,
        generated: &str,
        before: Option<&Content>,
    ) -> Content {
        let payload = |name| member(part, name).and_then(Value::as_object);
        let id = if let Some(answered) = payload("functionResponse") {
            self.answered(text(answered, "name").unwrap_or_default(), own_id(part))
        } else if payload("codeExecutionResult").is_some() {
            // Code and result of older models have no id; they follow each other.
            match before {
                Some(Content::CommandCall(call)) => call.call_id.clone(),
                _ => None,
            }
        } else {
            None
        };
        let id = id.unwrap_or_else(|| CallId::from(generated));
        let content = decode_part::read(part, &id, &self.context);
        if let Some(called) = payload("functionCall") {
            let name = text(called, "name").unwrap_or_default();
            self.context.note(&content, name);
            if let Some(id) = call_id(&content) {
                self.open.push_back((id.clone(), name.to_owned(), self.at));
            }
        }
        content
    }

    /// The call that a response belongs to: the first open call with its id or, without an id, with
    /// its name, in the newest content that has one.
    fn answered(&mut self, name: &str, own: Option<&str>) -> Option<CallId> {
        let fits = |(id, open, _): &(CallId, String, usize)| match own {
            Some(own) => id.as_str() == own,
            None => open == name,
        };
        let newest = self.open.iter().rfind(|open| fits(open))?.2;
        let mut open = self.open.iter();
        let at = open.position(|open| fits(open) && open.2 == newest)?;
        Some(self.open.remove(at)?.0)
    }

    /// Records a call that was joined from parts under its own id, too.
    fn note_joined(&mut self, content: &Content) {
        if let Content::ComputerCall(call) = content
            && self.context.call(&call.call_id).is_none()
        {
            self.context.note(content, "");
        }
    }
}

/// The error of a response that did not end normally.
fn ended(rest: &Map<String, Value>) -> Option<Content> {
    let error = |message: String, code: &str, details: Option<Value>| {
        let mut meta = Meta::default();
        meta.set_property(PROVIDER, "finish_reason", code.into());
        Some(Content::Error(ErrorContent {
            message,
            error_code: Some(code.to_owned()),
            error_details: details,
            meta,
        }))
    };
    if let Some(feedback) = member(rest, "promptFeedback").and_then(Value::as_object)
        && let Some(reason) = text(feedback, "blockReason")
    {
        let detail = text(feedback, "blockReasonMessage").unwrap_or("no message");
        let message = format!("the provider blocked the request: {reason}: {detail}");
        return error(message, reason, Some(feedback.clone().into()));
    }
    let candidate = rest.get(CANDIDATES)?.get(0)?.as_object()?;
    let reason = text(candidate, "finishReason")?;
    if matches!(reason, "STOP" | "FINISH_REASON_UNSPECIFIED") {
        return None;
    }
    let detail = text(candidate, "finishMessage");
    let message = detail.map_or_else(
        || format!("the response ended with {reason}"),
        |detail| format!("the response ended with {reason}: {detail}"),
    );
    error(message, reason, None)
}

/// The tokens of a response, with the model and the response's id.
fn cost(usage: &Map<String, Value>, rest: &Map<String, Value>) -> Content {
    let names = [
        "promptTokenCount",
        "candidatesTokenCount",
        "thoughtsTokenCount",
        "totalTokenCount",
    ];
    let properties = [
        ("model_version", text(rest, "modelVersion")),
        ("response_id", text(rest, "responseId")),
    ];
    google::usage(DIALECT, usage, names, properties)
}
