//! Encodes a history as steps. Contents from this dialect stay unchanged; others are encoded, with
//! results where the API requires them.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use telechir_protocol::{CallId, Content, Message, Role, SafetyCheck, Size, ToolResult};

use super::DIALECT;
use super::content;
use super::envelope::{ALONE, INPUT, INSTRUCTIONS, STEPS, form};
use super::write::{call_steps, called, plain, result_step, results, unchanged};
use crate::google::context::{self, Scene};
use crate::google::encode_action::Speaker;
use crate::google::encode_call::{self, Asked, Asking};
use crate::google::encoded_calls::Calls;
use crate::google::functions::Generation;
use crate::google::tool_result;
use crate::google::turns::{self, Entry, Side, Turn};
use crate::google::{PLACEHOLDER, text};
use crate::{Envelope, History, Report};

/// Encodes a history in its envelope, or as a list of steps.
pub(super) fn write_history(history: &History) -> (Value, Report) {
    let around = match &history.envelope {
        Envelope::Object {
            dialect: DIALECT,
            member,
            rest,
        } => Some((*member, rest)),
        _ => None,
    };
    let mut report = Report::default();
    let (system, messages) = instructions(history, around.map(|(member, _)| member));
    let tools = around.and_then(|(_, rest)| rest.get("tools"));
    let mut writer = Writer {
        scene: Scene::of_functions(context::declared(tools)),
        results: turns::results(&history.messages),
        calls: Calls::default(),
        image: None,
        report: Report::default(),
        steps: Vec::new(),
        said: Vec::new(),
    };
    turns::foreign_envelope(&history.envelope, DIALECT, &mut report);
    let first = history.messages.len() - messages.len();
    turns::note_instructions(messages, first, &mut report);
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
    (raw.dialect == DIALECT && raw.template().is_object()).then_some(raw.template())
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
            let said = input(rest.get(INPUT), steps);
            body.insert(INPUT.to_owned(), said);
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
    let is_words = |content: &Value| {
        text_of(content, "type") == "text" && content.as_object().is_some_and(|c| c.len() == 2)
    };
    match (form, contents.as_slice()) {
        (form::WORDS, [only]) if is_words(only) => only["text"].clone(),
        (form::CONTENT, [_]) => contents.remove(0),
        (form::WORDS | form::CONTENT | form::CONTENTS, _) => contents.into(),
        _ => steps.into(),
    }
}

fn text_of<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The instructions for the request's field, and the remaining messages.
fn instructions<'a>(history: &'a History, member: Option<&str>) -> (Option<String>, &'a [Message]) {
    let messages = history.messages.as_slice();
    match messages.split_first() {
        Some((first, rest))
            if member == Some(INPUT) && matches!(first.role, Role::System | Role::Developer) =>
        {
            (Some(turns::words_of(first)), rest)
        }
        _ => (None, messages),
    }
}

struct Writer<'a> {
    scene: Scene,
    results: HashMap<CallId, &'a Content>,
    /// How each call was encoded.
    calls: Calls,
    /// The size of the newest image.
    image: Option<Size>,
    report: Report,
    steps: Vec<Value>,
    /// Contents for the next input or output step.
    said: Vec<Value>,
}

impl Writer<'_> {
    fn turn(&mut self, turn: &Turn<'_>) {
        let begins = self.steps.len();
        let kind = if turn.side == Side::Model {
            "model_output"
        } else {
            "user_input"
        };
        for entry in &turn.entries {
            match entry {
                Entry::Content(content, place) => {
                    self.image = turns::image_of(content).or(self.image);
                    if let Some(said) = self.words(content, place, turn.around.is_some()) {
                        self.said.push(said);
                        continue;
                    }
                    if turn.around.is_none() {
                        self.say(kind);
                    }
                    let steps = self.content(content, place, begins);
                    self.steps.extend(steps);
                }
                Entry::Missing(call) => {
                    let steps = self.missing(call);
                    self.steps.extend(steps);
                }
            }
        }
        match turn.around.and_then(Value::as_object) {
            Some(around) => {
                let mut step = around.clone();
                let said = std::mem::take(&mut self.said);
                if step.contains_key("content") || !said.is_empty() {
                    step.insert("content".to_owned(), said.into());
                }
                self.steps.push(step.into());
            }
            None => self.say(kind),
        }
    }

    fn say(&mut self, kind: &str) {
        if !self.said.is_empty() {
            let said = std::mem::take(&mut self.said);
            self.steps.push(json!({"type": kind, "content": said}));
        }
    }

    /// Encodes a content of an input or output step; `None` for a content that is a step by itself.
    fn words(&mut self, content: &Content, place: &str, is_within: bool) -> Option<Value> {
        match content {
            Content::Text(_) | Content::Data(_) | Content::Uri(_) | Content::HostedFile(_) => {
                if let (Some(meta), None) = (content.meta(), content::unchanged(content)) {
                    crate::google::unsaid(&mut self.report, place, meta, None, None);
                }
                content::write(content, place, &mut self.report)
            }
            Content::Other(other) if is_within => {
                Some(Value::Object(content::passed_on(other).clone()))
            }
            _ => None,
        }
    }

    fn content(&mut self, content: &Content, place: &str, begins: usize) -> Vec<Value> {
        if matches!(content, Content::HostedFile(_)) {
            return Vec::new();
        }
        if let Some(steps) = unchanged(content, &self.scene) {
            if context::call_id(content).is_some() {
                self.note(content, called(&steps));
            }
            return steps;
        }
        if context::call_id(content).is_some() || matches!(content, Content::FunctionCall(_)) {
            return self.call(content, place, begins);
        }
        if let Some(result) = turns::result_of(content) {
            return self.result(&result, place);
        }
        plain(content, place, &mut self.report)
            .into_iter()
            .collect()
    }

    fn call(&mut self, content: &Content, place: &str, begins: usize) -> Vec<Value> {
        let result = context::call_id(content).and_then(|id| self.results.get(id).copied());
        let acknowledged: &[SafetyCheck] = match result {
            Some(Content::ComputerResult(result)) => &result.acknowledged_safety_checks,
            _ => &[],
        };
        let speaker = Speaker {
            generation: Generation::New,
            image: self.image.or_else(|| result.and_then(turns::image_of)),
        };
        let mut asking = Asking {
            speaker,
            acknowledged,
            report: &mut self.report,
        };
        let asked = encode_call::write(content, &mut asking, place);
        let mut steps = call_steps(content, &asked);
        if self.is_unsigned(begins) && !steps.is_empty() {
            let stand_in = json!({"type": "thought", "signature": PLACEHOLDER});
            steps.insert(0, stand_in);
        }
        self.note(content, asked);
        steps
    }

    /// Whether no thought or call precedes in this turn: the first call needs a signature.
    fn is_unsigned(&self, begins: usize) -> bool {
        self.steps[begins..]
            .iter()
            .filter_map(Value::as_object)
            .all(|step| {
                let is_signed = step.contains_key("signature");
                !is_signed && text(step, "type") != Some("function_call")
            })
    }

    fn note(&mut self, content: &Content, asked: Vec<Asked>) {
        self.scene.note_asked(content, &asked);
        self.calls.note(content, asked);
    }

    fn result(&mut self, result: &ToolResult, place: &str) -> Vec<Value> {
        let asked = self.calls.answered_by(result, place, &mut self.report);
        if asked.is_empty() {
            return Vec::new();
        }
        results(&asked, result, &mut self.report)
    }

    /// Encodes an error result for a call without a result.
    fn missing(&mut self, call: &Content) -> Vec<Value> {
        let asked = self.calls.unanswered(call, &mut self.report);
        asked
            .iter()
            .map(|asked| result_step(asked, tool_result::unknown(call), None, &mut self.report))
            .collect()
    }
}
