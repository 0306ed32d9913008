//! Encodes a history as contents. Contents from this dialect stay unchanged; others are encoded,
//! with results where the API requires them.

use std::collections::HashMap;

use serde_json::{Map, Value};
use telechir_protocol::{CallId, Content, Message, Role, SafetyCheck, Size, ToolResult};

use super::DIALECT;
use super::encode_part::{call_parts, called, plain, response, responses, unchanged};
use super::envelope::{ALONE, CANDIDATES, CONTENTS, INSTRUCTIONS, PART, PARTS};
use crate::google::context::{self, GoogleContext};
use crate::google::encode_action::GoogleActionEncoder;
use crate::google::encode_call::{self, EncodedFunctionCall, FunctionCallEncoder};
use crate::google::encoded_calls::EncodedCalls;
use crate::google::functions::FunctionVocabulary;
use crate::google::tool_result;
use crate::google::turns::{self, AuthoredTurn, TurnAuthor, TurnEntry};
use crate::google::{PLACEHOLDER, member};
use crate::history::turns::{call_id, result_of, results};
use crate::{EncodeError, Envelope, History, Report};

/// Encodes a history in its envelope, or as a list of contents.
pub(super) fn write_history(history: &History) -> Result<(Value, Report), EncodeError> {
    let envelope = OwnEnvelope::of(&history.envelope);
    let mut report = Report::default();
    let (system, messages) = instructions(history, &envelope);
    let tools = envelope.rest.and_then(|rest| member(rest, "tools"));
    let mut writer = ContentsWriter {
        context: GoogleContext::of_functions(context::declared(tools)),
        results: results(&history.messages),
        calls: EncodedCalls::default(),
        image: None,
        report: Report::default(),
    };
    turns::report_foreign_envelope(&history.envelope, DIALECT, &mut report);
    let first = history.messages.len() - messages.len();
    turns::report_instructions(messages, first, &mut report);
    let turns = turns::turns(messages, first, own_around, &mut report);
    let mut contents = Vec::new();
    for turn in &turns {
        contents.extend(writer.turn(turn));
    }
    report.absorb(writer.report);
    let document = envelope.close(contents, system, &mut report);
    Ok((document, report))
}

fn own_around(message: &Message) -> Option<&Value> {
    let raw = message.meta.raw_representation.as_ref()?;
    (raw.dialect == DIALECT && raw.json().is_object()).then_some(raw.json())
}

/// The history's envelope, if it is of this dialect.
struct OwnEnvelope<'a> {
    member: Option<&'static str>,
    rest: Option<&'a Map<String, Value>>,
}

impl<'a> OwnEnvelope<'a> {
    fn of(envelope: &'a Envelope) -> Self {
        let own = envelope.own(DIALECT);
        Self {
            member: own.map(|(member, _)| member),
            rest: own.map(|(_, rest)| rest),
        }
    }

    fn close(&self, mut contents: Vec<Value>, system: Option<Value>, report: &mut Report) -> Value {
        let only = |contents: &[Value]| contents.len() == 1;
        let mut rest = self.rest.cloned().unwrap_or_default();
        match self.member {
            Some(ALONE) if only(&contents) => contents.remove(0),
            Some(PARTS) if only(&contents) => contents[0]["parts"].take(),
            Some(PART) if only(&contents) && contents[0]["parts"].get(1).is_none() => {
                contents[0]["parts"][0].take()
            }
            Some(CANDIDATES) if contents.len() < 2 => {
                let candidate = rest
                    .get_mut(CANDIDATES)
                    .and_then(|candidates| candidates.get_mut(0))
                    .and_then(Value::as_object_mut);
                if let (Some(content), Some(candidate)) = (contents.pop(), candidate) {
                    candidate.insert("content".to_owned(), content);
                }
                rest.into()
            }
            Some(CONTENTS) => {
                rest.insert(CONTENTS.to_owned(), contents.into());
                if let Some(system) = system {
                    let name = INSTRUCTIONS.iter().find(|name| rest.contains_key(**name));
                    let name = name.copied().unwrap_or(INSTRUCTIONS[0]);
                    rest.insert(name.to_owned(), system);
                }
                rest.into()
            }
            Some(CANDIDATES) => {
                let why = "a response has one content, but the history has several";
                report.lost("the fields around the content", "candidates", why);
                contents.into()
            }
            Some(_) | None => contents.into(),
        }
    }
}

/// The instructions for the request's field, and the remaining messages.
fn instructions<'a>(
    history: &'a History,
    around: &OwnEnvelope<'_>,
) -> (Option<Value>, &'a [Message]) {
    let messages = history.messages.as_slice();
    let Some((first, rest)) = messages.split_first() else {
        return (None, messages);
    };
    let is_system = matches!(first.role, Role::System | Role::Developer);
    if around.member != Some(CONTENTS) || !is_system {
        return (None, messages);
    }
    let mut content = own_around(first)
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let context = GoogleContext::default();
    let mut ignored = Report::default();
    let parts: Vec<Value> = first
        .contents
        .iter()
        .flat_map(|content| {
            unchanged(content, &context).unwrap_or_else(|| {
                plain(content, "messages[0]", &mut ignored)
                    .into_iter()
                    .collect()
            })
        })
        .collect();
    content.insert("parts".to_owned(), parts.into());
    (Some(content.into()), rest)
}

struct ContentsWriter<'a> {
    context: GoogleContext,
    results: HashMap<&'a CallId, &'a Content>,
    /// How each call was encoded.
    calls: EncodedCalls,
    /// The size of the newest image.
    image: Option<Size>,
    report: Report,
}

impl ContentsWriter<'_> {
    fn turn(&mut self, turn: &AuthoredTurn<'_>) -> Option<Value> {
        let mut parts: Vec<Value> = Vec::new();
        for entry in &turn.entries {
            match entry {
                TurnEntry::Content(content, location) => {
                    let is_first = !parts.iter().any(is_call);
                    let unchanged_parts = self.unchanged_parts(content);
                    let is_made_here = unchanged_parts.is_none();
                    let mut encoded =
                        unchanged_parts.unwrap_or_else(|| self.content(content, location));
                    if is_first && is_made_here {
                        sign(&mut encoded);
                    }
                    parts.append(&mut encoded);
                }
                TurnEntry::Missing(call) => parts.extend(self.missing(call)),
            }
        }
        let mut content = match turn.around {
            Some(Value::Object(around)) => around.clone(),
            _ if parts.is_empty() => return None,
            _ => {
                let role = if turn.author == TurnAuthor::Model {
                    "model"
                } else {
                    "user"
                };
                Map::from_iter([("role".to_owned(), Value::from(role))])
            }
        };
        content.insert("parts".to_owned(), parts.into());
        Some(content.into())
    }

    fn unchanged_parts(&mut self, content: &Content) -> Option<Vec<Value>> {
        self.see(content);
        let parts = unchanged(content, &self.context)?;
        if call_id(content).is_some() {
            self.note(content, called(&parts, content));
        }
        Some(parts)
    }

    fn content(&mut self, content: &Content, location: &str) -> Vec<Value> {
        if call_id(content).is_some() || matches!(content, Content::FunctionCall(_)) {
            return self.call(content, location);
        }
        if let Some(result) = result_of(content) {
            return self.result(&result, location);
        }
        plain(content, location, &mut self.report)
            .into_iter()
            .collect()
    }

    fn call(&mut self, content: &Content, location: &str) -> Vec<Value> {
        let result = call_id(content).and_then(|id| self.results.get(&id).copied());
        let acknowledged: &[SafetyCheck] = match result {
            Some(Content::ComputerResult(result)) => &result.acknowledged_safety_checks,
            _ => &[],
        };
        let coming = || result.and_then(turns::image_size);
        let action_encoder = GoogleActionEncoder {
            vocabulary: FunctionVocabulary::Current,
            image: self.image.or_else(coming),
        };
        let mut encoder = FunctionCallEncoder {
            action_encoder,
            acknowledged,
            report: &mut self.report,
        };
        let encoded = encode_call::write(content, &mut encoder, location);
        let parts = call_parts(content, &encoded);
        self.note(content, encoded);
        parts
    }

    fn note(&mut self, content: &Content, encoded: Vec<EncodedFunctionCall>) {
        self.context.note_encoded(content, &encoded);
        self.calls.note(content, encoded);
    }

    fn result(&mut self, result: &ToolResult, location: &str) -> Vec<Value> {
        let encoded = self
            .calls
            .calls_of_result(result, location, &mut self.report);
        if encoded.is_empty() {
            return Vec::new();
        }
        responses(&encoded, result, &mut self.report)
    }

    /// Encodes an error response for a call without a result.
    fn missing(&mut self, call: &Content) -> Vec<Value> {
        let encoded = self.calls.calls_without_result(call, &mut self.report);
        encoded
            .iter()
            .map(|encoded| response(encoded, tool_result::unknown(call), &mut self.report))
            .collect()
    }

    /// Records the size of the newest image, which pixels refer to.
    fn see(&mut self, content: &Content) {
        self.image = turns::image_size(content).or(self.image);
    }
}

fn is_call(part: &Value) -> bool {
    part.as_object()
        .is_some_and(|part| member(part, "functionCall").is_some())
}

/// The first call of a turn needs a signature; a call that no Google model made gets the
/// placeholder.
fn sign(parts: &mut [Value]) {
    let first = parts.iter_mut().find(|part| is_call(part));
    if let Some(first) = first.filter(|first| first.get("thoughtSignature").is_none()) {
        first["thoughtSignature"] = PLACEHOLDER.into();
    }
}
