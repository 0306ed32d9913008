//! Encodes a history as contents. Contents from this dialect stay unchanged; others are encoded,
//! with results where the API requires them.

use serde_json::{Map, Value};
use telechir_protocol::{Message, Role};

use super::DIALECT;
use super::encode_part::Parts;
use super::envelope::{ALONE, CANDIDATES, CONTENTS, INSTRUCTIONS, PART, PARTS, put_back};
use crate::google::call_encoder::{CallEncoder, CallForm as _, unchanged};
use crate::google::context::GoogleContext;
use crate::google::turns::{self, AuthoredTurn, TurnAuthor, TurnEntry, own_around};
use crate::google::{PLACEHOLDER, member};
use crate::{Envelope, History, Report};

/// Encodes a history in its envelope, or as a list of contents.
pub(super) fn write_history(history: &History) -> (Value, Report) {
    let envelope = OwnEnvelope::of(&history.envelope);
    let mut report = Report::default();
    let (system, messages) = instructions(history, &envelope);
    let tools = envelope.rest.and_then(|rest| member(rest, "tools"));
    let mut encoder = CallEncoder::new(history, tools);
    let first = history.messages.len() - messages.len();
    let turns = turns::turns(history, first, DIALECT, &mut report);
    let contents = turns.iter().filter_map(|turn| content(turn, &mut encoder));
    let contents = contents.collect();
    report.absorb(encoder.report);
    let document = envelope.close(contents, system, &mut report);
    (document, report)
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
                put_back(&mut rest, CONTENTS, contents);
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
    let mut content = own_around(first, DIALECT)
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let context = GoogleContext::default();
    let mut ignored = Report::default();
    let parts: Vec<Value> = first
        .contents
        .iter()
        .flat_map(|content| {
            unchanged::<Parts>(content, &context).unwrap_or_else(|| {
                Vec::from_iter(Parts::plain(content, "messages[0]", &mut ignored))
            })
        })
        .collect();
    put_back(&mut content, "parts", parts);
    (Some(content.into()), rest)
}

/// The content of a turn; `None` if nothing of it can be encoded.
fn content<'a>(turn: &AuthoredTurn<'a>, encoder: &mut CallEncoder<'a>) -> Option<Value> {
    let mut parts: Vec<Value> = Vec::new();
    let mut has_call = false;
    for entry in &turn.entries {
        let encoded = match entry {
            TurnEntry::Content(content, location) => {
                encoder.see(content);
                match encoder.unchanged::<Parts>(content) {
                    Some(unchanged) => unchanged,
                    None => {
                        let mut encoded = encoder.encode::<Parts>(content, location);
                        if !has_call {
                            sign(&mut encoded);
                        }
                        encoded
                    }
                }
            }
            TurnEntry::Missing(call) => encoder.missing::<Parts>(call),
        };
        has_call |= encoded.iter().any(is_call);
        parts.extend(encoded);
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
    put_back(&mut content, "parts", parts);
    Some(content.into())
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
