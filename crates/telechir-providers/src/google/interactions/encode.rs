//! Encodes a history as steps. Contents from this dialect stay unchanged; others are encoded, with
//! results where the API requires them.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use telechir_protocol::{CallId, Content, Message, Role, SafetyCheck, Size, ToolResult};

use super::DIALECT;
use super::content;
use super::encode_step::{call_steps, called, plain, result_step, results, unchanged};
use super::envelope::{ALONE, INPUT, INSTRUCTIONS, STEPS, input_form};
use crate::google::context::{self, GoogleContext};
use crate::google::encode_action::GoogleActionEncoder;
use crate::google::encode_call::{self, EncodedFunctionCall, FunctionCallEncoder};
use crate::google::encoded_calls::EncodedCalls;
use crate::google::functions::FunctionVocabulary;
use crate::google::tool_result;
use crate::google::turns::{self, AuthoredTurn, TurnAuthor, TurnEntry};
use crate::google::{PLACEHOLDER, text};
use crate::history::turns::{call_id, result_of};
use crate::json::text_of;
use crate::{History, Report};

/// Encodes a history in its envelope, or as a list of steps.
pub(super) fn write_history(history: &History) -> (Value, Report) {
    let around = history.envelope.own(DIALECT);
    let mut report = Report::default();
    let (system, messages) = instructions(history, around.map(|(member, _)| member));
    let tools = around.and_then(|(_, rest)| rest.get("tools"));
    let mut writer = StepsWriter {
        context: GoogleContext::of_functions(context::declared(tools)),
        results: crate::history::turns::results(&history.messages),
        calls: EncodedCalls::default(),
        image: None,
        report: Report::default(),
        steps: Vec::new(),
        pending: Vec::new(),
    };
    turns::report_foreign_envelope(&history.envelope, DIALECT, &mut report);
    let first = history.messages.len() - messages.len();
    turns::report_instructions(messages, first, &mut report);
    for turn in turns::turns(messages, first, own_around, &mut report) {
        writer.turn(&turn);
    }
    let steps = writer.steps;
    report.absorb(writer.report);
    let document = match around {
        Some((member, rest)) => close(member, rest, steps, system),
        None => steps.into(),
    };
    (document, report)
}

fn own_around(message: &Message) -> Option<&Value> {
    let raw = message.meta.raw_representation.as_ref()?;
    (raw.dialect == DIALECT && raw.json().is_object()).then_some(raw.json())
}

fn close(
    member: &str,
    rest: &Map<String, Value>,
    mut steps: Vec<Value>,
    system: Option<String>,
) -> Value {
    let mut body = rest.clone();
    match member {
        ALONE if steps.len() == 1 => return steps.remove(0),
        ALONE => return steps.into(),
        STEPS => {
            body.insert(STEPS.to_owned(), steps.into());
        }
        INPUT => {
            let contents = input(rest.get(INPUT), steps);
            body.insert(INPUT.to_owned(), contents);
            if let Some(system) = system {
                body.insert(INSTRUCTIONS.to_owned(), system.into());
            }
        }
        _ if steps.is_empty() => {}
        _ => {
            body.insert(STEPS.to_owned(), steps.into());
        }
    }
    body.into()
}

/// The input in its original form, if that is still possible.
fn input(form: Option<&Value>, steps: Vec<Value>) -> Value {
    let form = form.and_then(Value::as_str).unwrap_or_default();
    let contents = match steps.as_slice() {
        [only] if text_of(only, "type") == "user_input" => {
            only.get("content").and_then(Value::as_array).cloned()
        }
        _ => None,
    };
    let Some(mut contents) = contents else {
        return steps.into();
    };
    let is_plain_text = |content: &Value| {
        text_of(content, "type") == "text" && content.as_object().is_some_and(|c| c.len() == 2)
    };
    match (form, contents.as_slice()) {
        (input_form::TEXT, [only]) if is_plain_text(only) => only["text"].clone(),
        (input_form::CONTENT, [_]) => contents.remove(0),
        (input_form::TEXT | input_form::CONTENT | input_form::CONTENTS, _) => contents.into(),
        _ => steps.into(),
    }
}

/// The instructions for the request's field, and the remaining messages.
fn instructions<'a>(history: &'a History, member: Option<&str>) -> (Option<String>, &'a [Message]) {
    let messages = history.messages.as_slice();
    match messages.split_first() {
        Some((first, rest))
            if member == Some(INPUT) && matches!(first.role, Role::System | Role::Developer) =>
        {
            (Some(turns::joined_text(first)), rest)
        }
        _ => (None, messages),
    }
}

struct StepsWriter<'a> {
    context: GoogleContext,
    results: HashMap<&'a CallId, &'a Content>,
    /// How each call was encoded.
    calls: EncodedCalls,
    /// The size of the newest image.
    image: Option<Size>,
    report: Report,
    steps: Vec<Value>,
    /// Contents for the next input or output step.
    pending: Vec<Value>,
}

impl StepsWriter<'_> {
    fn turn(&mut self, turn: &AuthoredTurn<'_>) {
        let start = self.steps.len();
        let kind = if turn.author == TurnAuthor::Model {
            "model_output"
        } else {
            "user_input"
        };
        for entry in &turn.entries {
            match entry {
                TurnEntry::Content(content, location) => {
                    self.image = turns::image_size(content).or(self.image);
                    if let Some(contents) =
                        self.step_content(content, location, turn.around.is_some())
                    {
                        self.pending.push(contents);
                        continue;
                    }
                    if turn.around.is_none() {
                        self.flush(kind);
                    }
                    let steps = self.content(content, location, start);
                    self.steps.extend(steps);
                }
                TurnEntry::Missing(call) => {
                    let steps = self.missing(call);
                    self.steps.extend(steps);
                }
            }
        }
        match turn.around.and_then(Value::as_object) {
            Some(around) => {
                let mut step = around.clone();
                let contents = std::mem::take(&mut self.pending);
                if step.contains_key("content") || !contents.is_empty() {
                    step.insert("content".to_owned(), contents.into());
                }
                self.steps.push(step.into());
            }
            None => self.flush(kind),
        }
    }

    fn flush(&mut self, kind: &str) {
        if !self.pending.is_empty() {
            let contents = std::mem::take(&mut self.pending);
            self.steps.push(json!({"type": kind, "content": contents}));
        }
    }

    /// Encodes a content of an input or output step; `None` for a content that is a step by itself.
    fn step_content(
        &mut self,
        content: &Content,
        location: &str,
        is_within: bool,
    ) -> Option<Value> {
        match content {
            Content::Text(_) | Content::Data(_) | Content::Uri(_) | Content::HostedFile(_) => {
                content::write(content, location, &mut self.report)
            }
            Content::Other(other) if is_within => {
                Some(Value::Object(content::passed_on(other).clone()))
            }
            _ => None,
        }
    }

    fn content(&mut self, content: &Content, location: &str, start: usize) -> Vec<Value> {
        if matches!(content, Content::HostedFile(_)) {
            return Vec::new();
        }
        if let Some(steps) = unchanged(content, &self.context) {
            if call_id(content).is_some() {
                self.note(content, called(&steps));
            }
            return steps;
        }
        if call_id(content).is_some() || matches!(content, Content::FunctionCall(_)) {
            return self.call(content, location, start);
        }
        if let Some(result) = result_of(content) {
            return self.result(&result, location);
        }
        plain(content, location, &mut self.report)
            .into_iter()
            .collect()
    }

    fn call(&mut self, content: &Content, location: &str, start: usize) -> Vec<Value> {
        let result = call_id(content).and_then(|id| self.results.get(&id).copied());
        let acknowledged: &[SafetyCheck] = match result {
            Some(Content::ComputerResult(result)) => &result.acknowledged_safety_checks,
            _ => &[],
        };
        let action_encoder = GoogleActionEncoder {
            vocabulary: FunctionVocabulary::Current,
            image: self.image.or_else(|| result.and_then(turns::image_size)),
        };
        let mut encoder = FunctionCallEncoder {
            action_encoder,
            acknowledged,
            report: &mut self.report,
        };
        let encoded = encode_call::write(content, &mut encoder, location);
        let mut steps = call_steps(content, &encoded);
        if self.is_unsigned(start) && !steps.is_empty() {
            let placeholder = json!({"type": "thought", "signature": PLACEHOLDER});
            steps.insert(0, placeholder);
        }
        self.note(content, encoded);
        steps
    }

    /// Whether no thought or call precedes in this turn: the first call needs a signature.
    fn is_unsigned(&self, start: usize) -> bool {
        self.steps[start..]
            .iter()
            .filter_map(Value::as_object)
            .all(|step| {
                let is_signed = step.contains_key("signature");
                !is_signed && text(step, "type") != Some("function_call")
            })
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
        results(&encoded, result, &mut self.report)
    }

    /// Encodes an error result for a call without a result.
    fn missing(&mut self, call: &Content) -> Vec<Value> {
        let encoded = self.calls.calls_without_result(call, &mut self.report);
        encoded
            .iter()
            .map(|encoded| result_step(encoded, tool_result::unknown(call), None, &mut self.report))
            .collect()
    }
}
