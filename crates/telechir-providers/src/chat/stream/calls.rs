//! Assembles calls from deltas, by the rules of [`IncompleteCall`].

use serde_json::{Map, Value, json};
use telechir_protocol::{IncompleteCall, IncompleteCalls};

use super::call_delta;
use crate::StreamError;
use crate::json::{Fields, object, present, some_text};
use crate::stream::{CallDelta, Delta};

/// Maximum number of calls in one message.
const MAX_CALLS: usize = 1024;

/// The partially received calls of one message.
#[derive(Debug, Default)]
pub(super) struct CallsBuilder {
    pieces: IncompleteCalls,
    /// Entry fields other than id, name and arguments, in call order.
    members: Vec<Fields>,
    legacy: Option<IncompleteCall>,
}

impl CallsBuilder {
    /// Adds a delta of a `tool_calls` entry.
    pub(super) fn push(&mut self, value: &Value) -> Result<CallDelta, StreamError> {
        let none = Fields::new();
        let entry = value.as_object().unwrap_or(&none);
        let form = if present(entry, "custom").is_some() {
            "custom"
        } else {
            "function"
        };
        let function = object(entry, form).unwrap_or(&none);
        let arguments = match present(
            function,
            if form == "custom" {
                "input"
            } else {
                "arguments"
            },
        ) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        };
        let id = some_text(entry, "id").filter(|id| *id != "null");
        let index = present(entry, "index").and_then(Value::as_u64);
        let name = some_text(function, "name");
        let incomplete = IncompleteCall {
            index,
            call_id: id.map(Into::into),
            name: self.new_name(index, id, name),
            arguments: arguments.clone(),
        };
        let before = self.pieces.as_slice().len();
        let at = self.position_of(&incomplete).unwrap_or(before);
        self.pieces.push(incomplete)?;
        if before >= MAX_CALLS {
            return Err(StreamError::TooLong { limit: MAX_CALLS });
        }
        self.members
            .resize_with(self.pieces.as_slice().len(), Map::new);
        if let Some(members) = self.members.get_mut(at) {
            let own = |name: &str| matches!(name, "id" | "function" | "custom");
            let fields = entry
                .iter()
                .filter(|(name, value)| !own(name) && !value.is_null());
            members.extend(fields.map(|(name, value)| (name.clone(), value.clone())));
        }
        Ok(call_delta(at, id, name, &arguments))
    }

    /// Omits a repeated name: some servers send the same index for all calls or repeat the name in
    /// every delta.
    fn new_name(&self, index: Option<u64>, id: Option<&str>, name: Option<&str>) -> Option<String> {
        let nameless = IncompleteCall {
            index,
            call_id: id.map(Into::into),
            ..IncompleteCall::default()
        };
        let known = self
            .position_of(&nameless)
            .and_then(|at| self.pieces.as_slice()[at].name.as_deref());
        let is_piece = index.is_some() || id.is_some();
        name.filter(|name| !(is_piece && known == Some(name)))
            .map(str::to_owned)
    }

    /// The call that a delta continues, by the same rule as [`IncompleteCalls::push`].
    fn position_of(&self, call_delta: &IncompleteCall) -> Option<usize> {
        let calls = self.pieces.as_slice();
        let nameless = call_delta.index.is_none() && call_delta.call_id.is_none();
        let candidates = if nameless { 1 } else { calls.len() };
        let newest_first = calls.iter().enumerate().rev().take(candidates);
        newest_first
            .into_iter()
            .find(|(_, call)| call.is_continued_by(call_delta))
            .map(|(at, _)| at)
    }

    /// Adds a delta of the older `function_call`.
    pub(super) fn push_legacy(&mut self, value: &Value) -> Result<CallDelta, StreamError> {
        let none = Fields::new();
        let function = value.as_object().unwrap_or(&none);
        let arguments = some_text(function, "arguments").unwrap_or_default();
        let name = some_text(function, "name");
        let call = self.legacy.get_or_insert_with(IncompleteCall::default);
        call.name = call.name.take().or_else(|| name.map(str::to_owned));
        call.arguments.push_str(arguments);
        Ok(call_delta(0, None, name, arguments))
    }

    /// The deltas that mark all calls as complete.
    pub(super) fn end_deltas(&self) -> Vec<Delta> {
        let count = self.pieces.as_slice().len() + usize::from(self.legacy.is_some());
        let end = |index: usize| Delta::CallEnd {
            index: u64::try_from(index).unwrap_or(u64::MAX),
        };
        (0..count).map(end).collect()
    }

    /// Moves the calls into their message. An incomplete call is kept and answered with an error.
    pub(super) fn finish(self, message: &mut Fields) -> Result<(), StreamError> {
        let mut calls = Vec::new();
        for (call, mut members) in self.pieces.as_slice().iter().zip(self.members) {
            // Some servers send the same index for all calls.
            if let Some(index) = members.get_mut("index") {
                *index = calls.len().into();
            }
            let mut entry = Map::new();
            if let Some(id) = &call.call_id {
                entry.insert("id".to_owned(), id.as_str().into());
            }
            entry.insert("type".to_owned(), "function".into());
            entry.extend(members);
            let name = call.name.as_deref().unwrap_or_default();
            let (form, body) = if entry["type"] == "custom" {
                ("custom", json!({"name": name, "input": call.arguments}))
            } else {
                let body = json!({"name": name, "arguments": call.arguments});
                ("function", body)
            };
            entry.insert(form.to_owned(), body);
            calls.push(Value::Object(entry));
        }
        if !calls.is_empty() {
            message.insert("tool_calls".to_owned(), calls.into());
        }
        if let Some(call) = self.legacy {
            let name = call.name.unwrap_or_default();
            let body = json!({"name": name, "arguments": call.arguments});
            message.insert("function_call".to_owned(), body);
        }
        Ok(())
    }
}
