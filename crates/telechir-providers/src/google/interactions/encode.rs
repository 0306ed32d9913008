//! Encodes a history as steps. Contents from this dialect stay unchanged; others are encoded, with
//! results where the API requires them.

use serde_json::{Map, Value, json};
use telechir_protocol::{Content, Message, Role};

use super::DIALECT;
use super::content;
use super::encode_step::Steps;
use super::envelope::{ALONE, INPUT, INSTRUCTIONS, STEPS, input_form};
use crate::google::PLACEHOLDER;
use crate::google::call_encoder::CallEncoder;
use crate::google::turns::{self, AuthoredTurn, TurnAuthor, TurnEntry};
use crate::json::text_of;
use crate::{History, Report};

/// Encodes a history in its envelope, or as a list of steps.
pub(super) fn write_history(history: &History) -> (Value, Report) {
    let around = history.envelope.own(DIALECT);
    let mut report = Report::default();
    let (system, messages) = instructions(history, around.map(|(member, _)| member));
    let tools = around.and_then(|(_, rest)| rest.get("tools"));
    let mut writer = StepsWriter {
        encoder: CallEncoder::new(history, tools),
        steps: Vec::new(),
        pending: Vec::new(),
    };
    let first = history.messages.len() - messages.len();
    for turn in turns::turns(history, first, DIALECT, &mut report) {
        writer.turn(&turn);
    }
    let steps = writer.steps;
    report.absorb(writer.encoder.report);
    let document = match around {
        Some((member, rest)) => close(member, rest, steps, system),
        None => steps.into(),
    };
    (document, report)
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
    encoder: CallEncoder<'a>,
    steps: Vec<Value>,
    /// Contents for the next input or output step.
    pending: Vec<Value>,
}

impl<'a> StepsWriter<'a> {
    fn turn(&mut self, turn: &AuthoredTurn<'a>) {
        let start = self.steps.len();
        let kind = if turn.author == TurnAuthor::Model {
            "model_output"
        } else {
            "user_input"
        };
        for entry in &turn.entries {
            match entry {
                TurnEntry::Content(content, location) => {
                    self.encoder.see(content);
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
                TurnEntry::Missing(call) => self.steps.extend(self.encoder.missing::<Steps>(call)),
            }
        }
        match turn.around.and_then(Value::as_object) {
            Some(around) => {
                let mut step = around.clone();
                let contents = std::mem::take(&mut self.pending);
                if !contents.is_empty() || step.get("content").is_some_and(|list| !list.is_null()) {
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
                content::write(content, location, &mut self.encoder.report)
            }
            Content::Other(other) if is_within => {
                Some(Value::Object(content::passed_on(other).clone()))
            }
            _ => None,
        }
    }

    fn content(&mut self, content: &'a Content, location: &str, start: usize) -> Vec<Value> {
        if matches!(content, Content::HostedFile(_)) {
            return Vec::new();
        }
        if let Some(steps) = self.encoder.unchanged::<Steps>(content) {
            return steps;
        }
        let mut steps = self.encoder.encode::<Steps>(content, location);
        if steps.first().is_some_and(is_call) && self.is_unsigned(start) {
            steps.insert(0, json!({"type": "thought", "signature": PLACEHOLDER}));
        }
        steps
    }

    /// Whether no thought or call precedes in this turn: the first call needs a signature.
    fn is_unsigned(&self, start: usize) -> bool {
        let is_signed = |step: &Value| step.get("signature").is_some() || is_call(step);
        !self.steps[start..].iter().any(is_signed)
    }
}

fn is_call(step: &Value) -> bool {
    text_of(step, "type") == "function_call"
}
