//! Encodes the results of calls that an agent returned control for, and histories.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use telechir_protocol::{AnsweredTurn, Content, Message, Meta, ModelTurn, Role, ToolResult};

use super::decode::SINGLE_DOCUMENT;
use super::results::{self, InvocationResultEncoder};
use super::{CONFIRMATION, DIALECT, MAX_CALLS, PROVIDER, decode, ids, parameters};
use crate::anthropic;
use crate::bedrock::{adapt, detect};
use crate::history::split_ids::{self, PartId};
use crate::history::turns::pair_id;
use crate::json::text_of;
use crate::{EncodeError, EncodedReply, Envelope, History, Report};

pub(super) fn missing(problem: impl Into<String>) -> EncodeError {
    EncodeError::missing(DIALECT, problem)
}

/// Encodes the results of a turn: the entries of `returnControlInvocationResults`.
pub(super) fn encode_results(turn: &AnsweredTurn) -> Result<EncodedReply, EncodeError> {
    let mut report = Report::default();
    let turn = adapt::adapt_results(turn, adapt::S3Support::Supported, DIALECT, &mut report)?;
    let reply = anthropic::encode_results(&turn_to_anthropic(&turn))
        .map_err(|error| detect::encode_error_as(error, DIALECT))?;
    report.absorb(reply.report);
    let mut items = Vec::new();
    for (call, result) in turn.pairs() {
        let (call, result) = (call.into_content(), result.clone().into_content());
        let encoder = InvocationResultEncoder {
            call: call.meta(),
            result: result.meta(),
            name: results::name_of(&call),
            confirmation: results::confirmation(&call, &result),
        };
        let id = pair_id(&call).map(ToString::to_string).unwrap_or_default();
        for block in blocks_of(&reply.items, &id) {
            items.push(encoder.encode(block, &mut report)?);
        }
    }
    // An approval request without an answer is denied.
    let requests = turn
        .turn()
        .contents()
        .iter()
        .filter_map(|content| match content {
            Content::ApprovalRequest(request) => Some(request),
            _ => None,
        });
    for request in requests {
        report.preserved(
            format!("approval request {}", request.id),
            "the turn",
            "the results have no answer to it",
            "as denied",
        );
        items.push(results::decision(&request.meta, false));
    }
    if items.len() > MAX_CALLS {
        let count = items.len();
        return Err(missing(format!(
            "expected at most {MAX_CALLS} results, found {count}"
        )));
    }
    Ok(EncodedReply { items, report })
}

/// The same calls as Anthropic's dialect decodes them, for its encoders.
fn turn_to_anthropic(turn: &AnsweredTurn) -> AnsweredTurn {
    let contents = turn
        .turn()
        .contents()
        .iter()
        .map(content_to_anthropic)
        .collect();
    let mut results = turn.results().to_vec();
    for result in &mut results {
        // Encoded as `confirmationState`.
        if let ToolResult::Computer(result) = result {
            let own_property = &mut result.acknowledged_safety_checks;
            own_property.retain(|check| check.code.as_deref() != Some(CONFIRMATION));
        }
    }
    let again = ModelTurn::new(contents).ok();
    let again = again.and_then(|again| again.answer(results).ok());
    again.unwrap_or_else(|| turn.clone())
}

fn content_to_anthropic(content: &Content) -> Content {
    let raw = content
        .meta()
        .and_then(|meta| meta.raw_representation.as_ref());
    let own = raw
        .filter(|raw| raw.dialect == DIALECT)
        .map(|raw| raw.json());
    let read = own
        .zip(pair_id(content).map(ToString::to_string))
        .and_then(|(json, id)| {
            let inputs = match json {
                Value::Array(run) => run.as_slice(),
                one => std::slice::from_ref(one),
            };
            let count = inputs.len();
            let part = |number| split_ids::part_id(&id, number, count);
            let ids: Vec<String> = (1..=count).map(part).collect();
            let blocks = decode::blocks_of(inputs, &ids)?;
            let message = json!([{"role": "assistant", "content": blocks}]);
            let (history, _) = anthropic::decode_history(message).ok()?;
            history
                .messages
                .into_iter()
                .next()?
                .contents
                .into_iter()
                .next()
        });
    read.unwrap_or_else(|| {
        let mut bare = content.clone();
        if let Some(meta) = bare.meta_mut() {
            strip_own_meta(meta);
        }
        bare
    })
}

/// The result blocks of a call's parts.
fn blocks_of<'a>(blocks: &'a [Value], id: &'a str) -> impl Iterator<Item = &'a Value> {
    blocks
        .iter()
        .filter(move |block| base_of(text_of(block, "tool_use_id")) == id)
}

/// A call's id without the suffix of a part.
fn base_of(id: &str) -> &str {
    PartId::parse(id).map_or(id, |part| part.base)
}

fn strip_own_meta(meta: &mut Meta) {
    if meta
        .raw_representation
        .as_ref()
        .is_some_and(|raw| raw.dialect == DIALECT)
    {
        meta.raw_representation = None;
    }
    meta.additional_properties.shift_remove(PROVIDER);
}

/// Encodes a history: alternating responses and requests. Unchanged messages keep their raw
/// documents.
pub(super) fn encode_history(history: &History) -> Result<(Value, Report), EncodeError> {
    let mut report = Report::default();
    let mut items: Vec<Value> = Vec::new();
    let known = unchanged_documents(&history.messages);
    let mut at = 0;
    while at < history.messages.len() {
        if let Some(Some(raw)) = known.get(at) {
            match raw {
                // Results that were decoded without a request.
                Value::Array(run) if run.iter().all(is_result) => items.extend(run.iter().cloned()),
                one => items.push(one.clone()),
            }
            at += 1;
            continue;
        }
        // A changed result is encoded together with its calls, which are already in `items`.
        let is_user = history.messages[at].role != Role::Assistant;
        let start = if at > 0 && is_user && known[at - 1].is_some() {
            at - 1
        } else {
            at
        };
        let end = (at..history.messages.len())
            .find(|location| known[*location].is_some())
            .unwrap_or(history.messages.len());
        let written = encode_changed(&history.messages[start..end], &mut report)?;
        items.extend(written.into_iter().skip(usize::from(start < at)));
        at = end;
    }
    for item in &items {
        results::check(item)?;
    }
    let value = match &history.envelope {
        Envelope::Object {
            dialect: DIALECT,
            member: SINGLE_DOCUMENT,
            ..
        } if items.len() == 1 => items.remove(0),
        Envelope::Object { .. } | Envelope::List => {
            history.envelope.report_foreign(DIALECT, &mut report);
            items.into()
        }
    };
    Ok((value, report))
}

fn is_result(item: &Value) -> bool {
    item.get("functionResult").is_some() || item.get("apiResult").is_some()
}

/// The raw document of each message that is unchanged since it was decoded.
fn unchanged_documents(messages: &[Message]) -> Vec<Option<Value>> {
    let raws: Vec<Option<&Value>> = messages
        .iter()
        .map(|message| {
            let raw = message.meta.raw_representation.as_ref();
            raw.filter(|raw| raw.dialect == DIALECT)
                .map(|raw| raw.json())
        })
        .collect();
    let list = raws.iter().flatten().flat_map(|raw| match raw {
        Value::Array(run) if run.iter().all(is_result) => run.clone(),
        one => vec![(*one).clone()],
    });
    let list: Vec<Value> = list.collect();
    // A single document may itself be a list of events.
    let document = match list.as_slice() {
        [only] => only.clone(),
        _ => Value::from(list),
    };
    let Ok((again, _)) = decode::decode_history(&document) else {
        return vec![None; messages.len()];
    };
    let mut again = again.messages.into_iter();
    let same = |(message, raw): (&Message, Option<&Value>)| {
        let raw = raw?;
        (again.next().as_ref() == Some(message)).then(|| raw.clone())
    };
    messages.iter().zip(raws).map(same).collect()
}

/// Encodes changed or foreign messages.
fn encode_changed(messages: &[Message], report: &mut Report) -> Result<Vec<Value>, EncodeError> {
    let mut own: Vec<(String, Meta)> = Vec::new();
    let mut bare = messages.to_vec();
    for (at, message) in bare.iter_mut().enumerate() {
        message.meta.raw_representation = None;
        adapt::adapt_contents(
            &mut message.contents,
            (
                adapt::ToolsetSupport::Unsupported,
                adapt::S3Support::Supported,
            ),
            &format!("messages[{at}]"),
            report,
        );
        for content in &mut message.contents {
            if let Some(id) = pair_id(content).map(ToString::to_string)
                && let Some(meta) = content.meta()
                && meta.additional_properties.contains_key(PROVIDER)
            {
                own.push((id, meta.clone()));
            }
            if let Some(meta) = content.meta_mut() {
                strip_own_meta(meta);
            }
            crate::bedrock::anthropic_bridge::wrap_unknown(content, "bedrock_");
        }
    }
    let bare = History {
        messages: bare,
        envelope: Envelope::List,
    };
    let (written, noted) = anthropic::encode_history(&bare, anthropic::JANUARY_2025)
        .map_err(|error| detect::encode_error_as(error, DIALECT))?;
    report.absorb(noted);
    let mut encode_changed = AgentsItemEncoder {
        own,
        open: Vec::new(),
        items: Vec::new(),
        report,
    };
    let messages = written.as_array().cloned().unwrap_or_default();
    for (at, message) in messages.iter().enumerate() {
        encode_changed.message(message, &format!("messages[{at}]"))?;
    }
    Ok(encode_changed.items)
}

/// Converts Anthropic messages to items.
struct AgentsItemEncoder<'a> {
    /// Metadata of calls and results with this provider's properties, by id.
    own: Vec<(String, Meta)>,
    /// Calls without a result so far.
    open: Vec<Value>,
    items: Vec<Value>,
    report: &'a mut Report,
}

impl AgentsItemEncoder<'_> {
    fn message(&mut self, message: &Value, location: &str) -> Result<(), EncodeError> {
        let text = message.get("content").and_then(Value::as_str);
        let text = text.map(|text| vec![json!({"type": "text", "text": text})]);
        let blocks = message.get("content").and_then(Value::as_array).cloned();
        let blocks = text.or(blocks).unwrap_or_default();
        match text_of(message, "role") {
            "assistant" => self.response(&blocks, location),
            "user" => self.request(&blocks, location),
            _ => {
                let why = "instructions are part of the agent's definition";
                let role = text_of(message, "role");
                let what = format!("text content of the {role} instructions");
                self.report.lost(what, location, why);
                Ok(())
            }
        }
    }

    fn meta(&self, id: &str) -> Option<&Meta> {
        let found = self.own.iter().find(|(own, _)| own == base_of(id));
        found.map(|(_, meta)| meta)
    }

    fn report_lost_block(&mut self, block: &Value, location: &str) {
        let what = format!("a block of type {}", text_of(block, "type"));
        self.report
            .lost(what, location, "an agent's history has no field for it");
    }

    fn response(&mut self, blocks: &[Value], location: &str) -> Result<(), EncodeError> {
        let mut events = Vec::new();
        self.open.clear();
        for block in blocks {
            match text_of(block, "type") {
                "text" => {
                    let bytes = STANDARD.encode(text_of(block, "text"));
                    events.push(json!({"chunk": {"bytes": bytes}}));
                }
                "tool_use" => self.open.push(block.clone()),
                kind if kind
                    .trim_start_matches(anthropic::FORWARDED_PREFIX)
                    .starts_with("bedrock_") =>
                {
                    let mut event = block.as_object().cloned().unwrap_or_default();
                    event.shift_remove("type");
                    events.push(Value::Object(event));
                }
                _ => self.report_lost_block(block, location),
            }
        }
        if self.open.len() > MAX_CALLS {
            let count = self.open.len();
            return Err(missing(format!(
                "{location} has {count} calls; expected at most {MAX_CALLS}"
            )));
        }
        if !self.open.is_empty() {
            let inputs: Vec<Value> = self.open.iter().map(|call| self.input(call)).collect();
            let payload = json!({"invocationId": self.invocation(), "invocationInputs": inputs});
            events.push(json!({"returnControl": payload}));
        }
        if !events.is_empty() {
            self.items.push(json!({"completion": events}));
        }
        Ok(())
    }

    fn invocation(&self) -> String {
        let ids: Vec<String> = self
            .open
            .iter()
            .map(|call| text_of(call, "id").to_owned())
            .collect();
        let own = ids.first().and_then(|id| self.meta(id));
        let own = own.and_then(|meta| meta.property(PROVIDER, "invocationId")?.as_str());
        own.filter(|own| ids::of_invocation(own, ids.len()) == ids)
            .map_or_else(|| ids::invocation(&ids), str::to_owned)
    }

    fn input(&self, call: &Value) -> Value {
        let meta = self.meta(text_of(call, "id"));
        let name = text_of(call, "name");
        let none = Map::new();
        let input = call
            .get("input")
            .and_then(Value::as_object)
            .unwrap_or(&none);
        let own_property =
            |name: &str| meta.and_then(|meta| meta.property(PROVIDER, name)).cloned();
        let mut own = Map::new();
        own.insert(
            "actionGroup".to_owned(),
            own_property("actionGroup").unwrap_or_else(|| results::group(name).into()),
        );
        for name in ["actionInvocationType", "agentId", "collaboratorName"] {
            own.extend(own_property(name).map(|value| (name.to_owned(), value)));
        }
        if let (Some(method), Some(path)) = (own_property("httpMethod"), own_property("apiPath")) {
            own.insert("httpMethod".to_owned(), method);
            own.insert("apiPath".to_owned(), path);
            own.extend(input.clone());
            return json!({"apiInvocationInput": own});
        }
        own.insert("function".to_owned(), name.into());
        own.insert(
            "parameters".to_owned(),
            parameters::parameters(input).into(),
        );
        json!({"functionInvocationInput": own})
    }

    fn request(&mut self, blocks: &[Value], location: &str) -> Result<(), EncodeError> {
        let mut results = Vec::new();
        let mut text = Vec::new();
        for block in blocks {
            match text_of(block, "type") {
                "text" => text.push(text_of(block, "text").to_owned()),
                "tool_result" => {
                    let id = text_of(block, "tool_use_id");
                    let call = self.open.iter().find(|call| text_of(call, "id") == id);
                    let mut metas = self.own.iter().filter(|(own, _)| own == base_of(id));
                    let (call_meta, result_meta) = (metas.next(), metas.next());
                    let encoder = InvocationResultEncoder {
                        call: call_meta.map(|(_, meta)| meta),
                        result: result_meta.map(|(_, meta)| meta),
                        name: call.map_or("", |call| text_of(call, "name")).to_owned(),
                        confirmation: None,
                    };
                    results.push(encoder.encode(block, self.report)?);
                }
                _ => self.report_lost_block(block, location),
            }
        }
        if !results.is_empty() {
            let state = json!({"invocationId": self.invocation(), "returnControlInvocationResults": results});
            self.items.push(json!({"sessionState": state}));
        }
        if !text.is_empty() {
            self.items.push(json!({"inputText": text.join("\n")}));
        }
        Ok(())
    }
}
