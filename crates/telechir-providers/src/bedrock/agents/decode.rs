//! Decodes agent responses with their events, payloads that return control, and the requests with
//! their results.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use telechir_protocol::{
    ApprovalRequest, Content, DataContent, Message, Meta, ModelTurn, Raw, Role, SafetyCheck,
    SafetySource, TextContent, UnknownContent,
};

use super::{CONFIRMATION, DIALECT, MAX_CALLS, PROVIDER, ids, parameters};
use crate::anthropic;
use crate::bedrock::{anthropic_bridge, detect, media};
use crate::history::turns::pair_id;
use crate::json::text_of;
use crate::{DecodeError, Envelope, History, Report};

/// Member of an envelope that contains a single document.
pub(super) const SINGLE_DOCUMENT: &str = "";

/// Decodes one response.
pub(super) fn decode_response(document: &Value) -> Result<(ModelTurn, Report), DecodeError> {
    detect::reject_error_body(document)?;
    let Some(events) = events(document) else {
        let problem = "expected `returnControl`, `invocationInputs` or a `completion` of events";
        return Err(detect::wrong_shape(DIALECT, problem, document));
    };
    let (message, report) = AgentsHistoryDecoder::new(document).response(document, &events)?;
    Ok((ModelTurn::new(message.contents)?, report))
}

/// Decodes a history: alternating responses and requests, or one of them.
pub(super) fn decode_history(document: &Value) -> Result<(History, Report), DecodeError> {
    detect::reject_error_body(document)?;
    let mut decoder = AgentsHistoryDecoder::new(document);
    let is_event = |item: &Value| item.get("chunk").is_some() || item.get("trace").is_some();
    let (items, envelope) = match document {
        Value::Array(items) if !items.iter().any(is_event) => (items.as_slice(), Envelope::List),
        _ => (std::slice::from_ref(document), alone()),
    };
    let mut messages = Vec::new();
    let mut at = 0;
    while let Some(item) = items.get(at) {
        let bare = items[at..]
            .iter()
            .take_while(|item| is_result(item))
            .count();
        if bare > 0 {
            let run = Value::from(items[at..at + bare].to_vec());
            messages.push(decoder.results(&run, &items[at..at + bare], None)?);
            at += bare;
            continue;
        }
        messages.push(decoder.item(item, at)?);
        at += 1;
    }
    Ok((History { messages, envelope }, decoder.report))
}

fn alone() -> Envelope {
    Envelope::Object {
        dialect: DIALECT,
        member: SINGLE_DOCUMENT,
        rest: Map::new(),
    }
}

fn is_result(item: &Value) -> bool {
    item.get("functionResult").is_some() || item.get("apiResult").is_some()
}

/// The events of a response in any of its forms; none if it is not a response.
fn events(document: &Value) -> Option<Vec<Value>> {
    let is_event = |item: &Value| {
        ["chunk", "trace", "files", "returnControl"]
            .iter()
            .any(|name| item.get(name).is_some())
    };
    match document {
        Value::Array(items) if !items.is_empty() && items.iter().all(is_event) => {
            Some(items.clone())
        }
        Value::Object(all) if all.contains_key("completion") => {
            all["completion"].as_array().cloned()
        }
        Value::Object(all) if all.contains_key("invocationInputs") => {
            Some(vec![json!({"returnControl": document})])
        }
        Value::Object(_) if is_event(document) => Some(vec![document.clone()]),
        _ => None,
    }
}

/// Decodes a history.
struct AgentsHistoryDecoder<'a> {
    document: &'a Value,
    report: Report,
    /// The calls so far, as `tool_use` blocks.
    calls: Vec<Value>,
    /// Ids of the calls in the pending invocation.
    open: Vec<String>,
}

impl<'a> AgentsHistoryDecoder<'a> {
    fn new(document: &'a Value) -> Self {
        Self {
            document,
            report: Report::default(),
            calls: Vec::new(),
            open: Vec::new(),
        }
    }

    fn wrong(&self, problem: impl Into<String>) -> DecodeError {
        detect::wrong_shape(DIALECT, problem, self.document)
    }

    fn item(&mut self, item: &Value, at: usize) -> Result<Message, DecodeError> {
        if let Some(events) = events(item) {
            return self.events(item, &events);
        }
        let state = ["sessionState", "inlineSessionState"]
            .into_iter()
            .find_map(|name| item.get(name));
        let state = state.or_else(|| {
            item.get("returnControlInvocationResults")
                .is_some()
                .then_some(item)
        });
        let results =
            state.and_then(|state| state.get("returnControlInvocationResults")?.as_array());
        if let (Some(state), Some(results)) = (state, results) {
            let invocation = state.get("invocationId").and_then(Value::as_str);
            return self.results(item, results, invocation);
        }
        match item.get("inputText") {
            Some(Value::String(text)) => Ok(message(Role::User, vec![Content::text(text)], item)),
            None if item.get("sessionState").is_some() => Ok(message(Role::User, Vec::new(), item)),
            _ => Err(self.wrong(format!(
                "item {at} is neither an agent's response nor a request to an agent"
            ))),
        }
    }

    /// Decodes a single response.
    fn response(
        mut self,
        item: &Value,
        events: &[Value],
    ) -> Result<(Message, Report), DecodeError> {
        let message = self.events(item, events)?;
        Ok((message, self.report))
    }

    fn events(&mut self, item: &Value, events: &[Value]) -> Result<Message, DecodeError> {
        self.check_answerable(events)?;
        let mut contents = Vec::new();
        let mut text: Vec<u8> = Vec::new();
        for event in events {
            let Some((name, body)) = event.as_object().and_then(|event| event.iter().next()) else {
                return Err(self.wrong("`completion` must contain events with one field each"));
            };
            if name != "chunk" {
                contents.extend(text_content(&mut text));
            }
            match name.as_str() {
                "chunk" => text.extend(bytes(body).map_err(|problem| self.wrong(problem))?),
                "returnControl" => contents.extend(self.payload(body)?),
                "files" => contents.extend(files(body)),
                _ if name.ends_with("Exception") => {
                    let message = format!("{name}: {}", text_of(body, "message"));
                    return Err(DecodeError::ProviderError { message });
                }
                _ => contents.push(unknown_event(name, event)),
            }
        }
        contents.extend(text_content(&mut text));
        Ok(message(Role::Assistant, contents, item))
    }

    /// Checks that a single request can contain the results of all calls.
    fn check_answerable(&self, events: &[Value]) -> Result<(), DecodeError> {
        let payloads = events.iter().filter_map(|event| event.get("returnControl"));
        let calls = |payload: &Value| payload.get("invocationInputs")?.as_array().map(Vec::len);
        match payloads.clone().count() {
            0 | 1 => {}
            count => {
                return Err(self.wrong(format!(
                    "the response has {count} `returnControl`, but a request can answer only one"
                )));
            }
        }
        match payloads.filter_map(calls).find(|count| *count > MAX_CALLS) {
            Some(count) => Err(self.wrong(format!(
                "`invocationInputs` has {count} calls, but a request has at most {MAX_CALLS} results"
            ))),
            None => Ok(()),
        }
    }

    /// Decodes the calls of a payload.
    fn payload(&mut self, payload: &Value) -> Result<Vec<Content>, DecodeError> {
        let inputs = payload.get("invocationInputs").and_then(Value::as_array);
        let inputs = inputs.ok_or_else(|| self.wrong("`invocationInputs` must be a list"))?;
        let invocation = text_of(payload, "invocationId");
        self.open = ids::of_invocation(invocation, inputs.len());
        let blocks = blocks_of(inputs, &self.open)
            .ok_or_else(|| self.wrong("`invocationInputs` must contain objects with one field"))?;
        self.calls.extend(blocks.iter().cloned());
        let mut contents = self.read(json!([{"role": "assistant", "content": blocks}]))?;
        let mut inputs = inputs.iter();
        for content in &mut contents {
            restore_own_fields(content, &mut inputs, invocation);
        }
        Ok(contents.into_iter().map(with_confirmation).collect())
    }

    /// Decodes Anthropic messages; returns the contents of the last one.
    fn read(&mut self, messages: Value) -> Result<Vec<Content>, DecodeError> {
        let (history, report) = anthropic::decode_history(messages)
            .map_err(|error| detect::decode_error_as(error, DIALECT))?;
        self.report.absorb(report);
        let last = history.messages.into_iter().next_back();
        Ok(last.map(|message| message.contents).unwrap_or_default())
    }

    fn results(
        &mut self,
        item: &Value,
        results: &[Value],
        invocation: Option<&str>,
    ) -> Result<Message, DecodeError> {
        let ids = match invocation {
            _ if self.open.len() == results.len() => std::mem::take(&mut self.open),
            Some(invocation) => ids::of_invocation(invocation, results.len()),
            None => ids::of_invocation("result", results.len()),
        };
        let mut blocks = Vec::new();
        for (result, id) in results.iter().zip(&ids) {
            let member = result.as_object().and_then(|result| result.values().next());
            let member = member.ok_or_else(|| {
                self.wrong("`returnControlInvocationResults` must contain objects with one field")
            })?;
            blocks.push(result_block(member, id));
        }
        let is_answered = |block: &&Value| ids.iter().any(|id| text_of(block, "id") == id);
        let calls: Vec<Value> = self.calls.iter().filter(is_answered).cloned().collect();
        let mut contents = self.read(json!([
            {"role": "assistant", "content": calls},
            {"role": "user", "content": blocks},
        ]))?;
        let mut results = results.iter();
        for content in &mut contents {
            restore_own_fields(content, &mut results, invocation.unwrap_or_default());
        }
        Ok(message(Role::User, contents, item))
    }
}

/// Converts invocation inputs to `tool_use` blocks; none if one is not a call.
pub(super) fn blocks_of(inputs: &[Value], ids: &[String]) -> Option<Vec<Value>> {
    let block = |(input, id): (&Value, &String)| {
        let (kind, call) = input.as_object()?.iter().next()?;
        Some(match kind.as_str() {
            "functionInvocationInput" => function_block(call, id),
            _ => api_block(call, id),
        })
    };
    inputs.iter().zip(ids).map(block).collect()
}

/// A message with the complete document as raw representation.
fn message(role: Role, contents: Vec<Content>, item: &Value) -> Message {
    let mut message = Message::new(role, contents);
    message.meta.raw_representation = Some(raw(item.clone()));
    message
}

fn raw(json: Value) -> Raw {
    Raw::new(DIALECT, json)
}

fn unknown_event(name: &str, event: &Value) -> Content {
    let kind = format!("bedrock_{name}");
    let mut json = Map::from_iter([("type".to_owned(), kind.as_str().into())]);
    json.extend(event.as_object().cloned().unwrap_or_default());
    Content::Other(UnknownContent::new(DIALECT, json))
}

fn bytes(chunk: &Value) -> Result<Vec<u8>, String> {
    let bytes = STANDARD.decode(text_of(chunk, "bytes"));
    bytes.map_err(|error| format!("`chunk.bytes` is not base64: {error}"))
}

fn text_content(text: &mut Vec<u8>) -> Option<Content> {
    let text = std::mem::take(text);
    let text = String::from_utf8_lossy(&text).into_owned();
    (!text.is_empty()).then(|| Content::Text(TextContent::new(text)))
}

fn files(body: &Value) -> Vec<Content> {
    let files = body.get("files").and_then(Value::as_array);
    let file = |file: &Value| {
        let name = file.get("name").and_then(Value::as_str);
        let data = DataContent::from_base64(text_of(file, "type"), text_of(file, "bytes"));
        Content::Data(DataContent {
            name: name.map(str::to_owned),
            ..data
        })
    };
    files.into_iter().flatten().map(file).collect()
}

fn function_block(call: &Value, id: &str) -> Value {
    let group = text_of(call, "actionGroup");
    let name = Some(text_of(call, "function")).filter(|name| !name.is_empty());
    let name = name.unwrap_or(group);
    let parameters = call.get("parameters").and_then(Value::as_array);
    let parameters = parameters.map_or(&[][..], Vec::as_slice);
    let input = parameters::input(name, parameters);
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

/// Converts a call of an API: its name is the method and the path.
fn api_block(call: &Value, id: &str) -> Value {
    let name = format!(
        "{} {}",
        text_of(call, "httpMethod"),
        text_of(call, "apiPath")
    );
    let mut input = Map::new();
    for name in ["parameters", "requestBody"] {
        input.extend(call.get(name).map(|value| (name.to_owned(), value.clone())));
    }
    json!({"type": "tool_use", "id": id, "name": name.trim(), "input": input})
}

fn result_block(result: &Value, id: &str) -> Value {
    let mut parts = Vec::new();
    let bodies = result.get("responseBody").and_then(Value::as_object);
    for body in bodies.into_iter().flatten().map(|(_, body)| body) {
        let text = body.get("body").and_then(Value::as_str);
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            parts.push(json!({"type": "text", "text": text}));
        }
        let images = body.get("images").and_then(Value::as_array);
        for image in images.into_iter().flatten() {
            let kind = media::image_type(text_of(image, "format")).unwrap_or("image/png");
            let data = image.get("source").and_then(|source| source.get("bytes"));
            let source = json!({"type": "base64", "media_type": kind, "data": data});
            parts.push(json!({"type": "image", "source": source}));
        }
    }
    let mut block = json!({"type": "tool_result", "tool_use_id": id, "content": parts});
    let is_denied = text_of(result, "confirmationState") == "DENY";
    if result.get("responseState").is_some() || is_denied {
        block["is_error"] = true.into();
    }
    block
}

/// Fields of a call or result without a neutral form.
const OWN: [&str; 9] = [
    "actionGroup",
    "actionInvocationType",
    "agentId",
    "collaboratorName",
    "confirmationState",
    "responseState",
    "httpMethod",
    "apiPath",
    "httpStatusCode",
];

/// Restores a content's own JSON and the fields that its result repeats.
fn restore_own_fields<'a>(
    content: &mut Content,
    members: &mut impl Iterator<Item = &'a Value>,
    invocation: &str,
) {
    let raws = content
        .meta()
        .and_then(|meta| meta.raw_representation.as_ref());
    let count = raws.map_or(1, |raw| raw.json().as_array().map_or(1, Vec::len));
    let own: Vec<Value> = members.take(count).cloned().collect();
    anthropic_bridge::each_meta(content, &mut |meta| meta.raw_representation = None);
    let Some(meta) = content.meta_mut() else {
        return;
    };
    let first = own.first().and_then(|own| own.as_object()?.values().next());
    meta.set_property(PROVIDER, "invocationId", invocation.into());
    for name in OWN {
        if let Some(value) = first.and_then(|first| first.get(name)) {
            meta.set_property(PROVIDER, name, value.clone());
        }
    }
    meta.raw_representation = Some(raw(match <[Value; 1]>::try_from(own) {
        Ok([only]) => only,
        Err(run) => run.into(),
    }));
}

/// Adds a pending safety check to a call that the user has to confirm. A call that the agent
/// executes itself after the confirmation becomes an approval request.
fn with_confirmation(mut content: Content) -> Content {
    let id = pair_id(&content)
        .map(ToString::to_string)
        .unwrap_or_default();
    let kind = content
        .meta()
        .and_then(|meta| meta.property(PROVIDER, "actionInvocationType")?.as_str())
        .unwrap_or_default()
        .to_owned();
    let kind = kind.as_str();
    let check = || SafetyCheck {
        id: id.clone(),
        code: Some(CONFIRMATION.to_owned()),
        message: Some("The agent asks the user to confirm this call.".to_owned()),
        source: SafetySource::Bedrock,
    };
    match (kind, &mut content) {
        ("USER_CONFIRMATION", _) => Content::ApprovalRequest(ApprovalRequest {
            id: id.clone(),
            safety_checks: vec![check()],
            reason: None,
            digest: None,
            meta: Meta {
                raw_representation: content
                    .meta()
                    .and_then(|meta| meta.raw_representation.clone()),
                additional_properties: content
                    .meta()
                    .map(|meta| meta.additional_properties.clone())
                    .unwrap_or_default(),
                ..Meta::default()
            },
            call: Box::new(content),
        }),
        ("USER_CONFIRMATION_AND_RESULT", Content::ComputerCall(call)) => {
            call.pending_safety_checks.push(check());
            content
        }
        _ => content,
    }
}
