//! Assembles an interaction from events: steps that start, grow and stop.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::StreamError;
use crate::google::text;
use crate::precision::{self, ParsingLosses};
use crate::stream::{CallDelta, Delta, EventAssembler};

/// Assembles an interaction from its events.
#[derive(Default)]
pub(super) struct InteractionBuilder {
    interaction: Map<String, Value>,
    steps: BTreeMap<u64, StepBuilder>,
    is_complete: bool,
    number: usize,
    /// The id of the newest event, which a resumed stream may repeat.
    last_id: Option<String>,
}

struct StepBuilder {
    step: Map<String, Value>,
    /// The text of a call's arguments so far.
    arguments: String,
    is_open: bool,
}

/// Maximum number of steps of an interaction.
const MAX_STEPS: usize = 100_000;

impl EventAssembler for InteractionBuilder {
    fn event(&mut self, name: Option<&str>, event: Value) -> Result<Vec<Delta>, StreamError> {
        self.number += 1;
        let Value::Object(mut event) = event else {
            return Err(self.bad("it is not an object"));
        };
        let kind = text(&event, "event_type")
            .or(name)
            .unwrap_or_default()
            .to_owned();
        if let Some(id) = text(&event, "event_id") {
            if self.last_id.as_deref() == Some(id) {
                return Ok(Vec::new());
            }
            self.last_id = Some(id.to_owned());
        }
        if event.get("error").is_some_and(Value::is_object) && !kind.starts_with("step.") {
            return Err(failed(&event));
        }
        match kind.as_str() {
            "error" => Err(failed(&event)),
            "interaction.created" | "interaction.completed" => {
                self.take_interaction(event.shift_remove("interaction"));
                self.is_complete |= kind == "interaction.completed";
                Ok(Vec::new())
            }
            "interaction.status_update" => {
                if let Some(status) = event.shift_remove("status") {
                    self.interaction.insert("status".to_owned(), status);
                }
                Ok(Vec::new())
            }
            "step.start" => self.start(&mut event),
            "step.delta" => self.delta(event),
            "step.stop" => self.stop(&mut event),
            _ => Ok(vec![Delta::Other {
                event: kind,
                json: event.into(),
            }]),
        }
    }

    fn finish(mut self, rounded: &mut ParsingLosses) -> Result<Value, StreamError> {
        if !self.is_complete {
            return Err(StreamError::truncated(
                "the event that ends the interaction",
            ));
        }
        if self.steps.values().any(|step| step.is_open) {
            return Err(StreamError::truncated("the end of a step"));
        }
        // Steps of the last event replace the assembled ones.
        let own = self.interaction.get("steps").and_then(Value::as_array);
        if own.is_none_or(Vec::is_empty) && !self.steps.is_empty() {
            let steps = self.steps.into_values();
            let steps = steps.map(|step| step.into_step(rounded)).collect();
            self.interaction
                .insert("steps".to_owned(), Value::Array(steps));
        }
        self.interaction
            .entry("steps")
            .or_insert_with(|| Value::Array(Vec::new()));
        Ok(self.interaction.into())
    }
}

fn failed(event: &Map<String, Value>) -> StreamError {
    let error = event
        .get("error")
        .and_then(Value::as_object)
        .unwrap_or(event);
    let code = match error.get("code") {
        Some(Value::String(code)) => code.clone(),
        Some(code) => code.to_string(),
        None => "error".to_owned(),
    };
    let message = text(error, "message").unwrap_or("no message");
    let message = format!("{code}: {message}");
    StreamError::Provider { message }
}

impl InteractionBuilder {
    fn bad(&self, problem: &str) -> StreamError {
        StreamError::bad_event(self.number, problem)
    }

    fn take_interaction(&mut self, interaction: Option<Value>) {
        if let Some(Value::Object(interaction)) = interaction {
            self.interaction.extend(interaction);
        }
    }

    fn index(&self, event: &Map<String, Value>) -> Result<u64, StreamError> {
        let index = event.get("index").and_then(Value::as_u64);
        index.ok_or_else(|| self.bad("it lacks `index`"))
    }

    fn start(&mut self, event: &mut Map<String, Value>) -> Result<Vec<Delta>, StreamError> {
        let index = self.index(event)?;
        let Some(Value::Object(step)) = event.shift_remove("step") else {
            return Err(self.bad("it lacks `step`"));
        };
        if self.steps.contains_key(&index) {
            return Err(self.bad("the step was already started"));
        }
        if self.steps.len() == MAX_STEPS {
            return Err(self.bad("too many steps"));
        }
        let mut deltas = Vec::new();
        if let Some(name) = call_name(&step) {
            deltas.push(Delta::Call(CallDelta {
                index,
                call_id: text(&step, "id").map(str::to_owned),
                name: Some(name.to_owned()),
                arguments: String::new(),
            }));
        }
        let open = StepBuilder {
            step,
            arguments: String::new(),
            is_open: true,
        };
        self.steps.insert(index, open);
        Ok(deltas)
    }

    fn delta(&mut self, mut event: Map<String, Value>) -> Result<Vec<Delta>, StreamError> {
        let index = self.index(&event)?;
        let Some(Value::Object(delta)) = event.shift_remove("delta") else {
            return Err(self.bad("it lacks `delta`"));
        };
        let is_open = self.steps.get(&index).is_some_and(|step| step.is_open);
        if !is_open {
            return Err(self.bad("its step is not open"));
        }
        let Some(open) = self.steps.get_mut(&index) else {
            return Ok(Vec::new());
        };
        open.take(index, delta).map_err(|problem| self.bad(problem))
    }

    fn stop(&mut self, event: &mut Map<String, Value>) -> Result<Vec<Delta>, StreamError> {
        let index = self.index(event)?;
        let open = self.steps.get_mut(&index).filter(|step| step.is_open);
        let Some(open) = open else {
            return Err(self.bad("its step is not open"));
        };
        open.is_open = false;
        let is_call = call_name(&open.step).is_some();
        Ok(if is_call {
            vec![Delta::CallEnd { index }]
        } else {
            Vec::new()
        })
    }
}

fn call_name(step: &Map<String, Value>) -> Option<&str> {
    let is_call = text(step, "type") == Some("function_call");
    text(step, "name").filter(|_| is_call)
}

impl StepBuilder {
    /// The step as it would be sent without streaming.
    fn into_step(self, rounded: &mut ParsingLosses) -> Value {
        let Self {
            mut step,
            arguments,
            ..
        } = self;
        if !arguments.is_empty() {
            // Arguments that are not JSON stay a text, which cannot be executed.
            let message = precision::parse_or_string(arguments, rounded);
            step.insert("arguments".to_owned(), message);
        }
        // An empty signature means none; a step that is not streamed omits it.
        if text(&step, "signature") == Some("") {
            step.shift_remove("signature");
        }
        step.into()
    }

    fn take(
        &mut self,
        index: u64,
        mut delta: Map<String, Value>,
    ) -> Result<Vec<Delta>, &'static str> {
        let kind = text(&delta, "type").unwrap_or_default().to_owned();
        let string = |delta: &Map<String, Value>, name| text(delta, name).map(str::to_owned);
        let deltas = match kind.as_str() {
            "text" => {
                let text = string(&delta, "text").ok_or("its `text` is not a text")?;
                self.add_text(&text)?;
                vec![Delta::Text { index, text }]
            }
            "thought_summary" => {
                let content = delta.shift_remove("content").unwrap_or_default();
                let message = content.get("text").and_then(Value::as_str);
                let text = message.unwrap_or_default().to_owned();
                self.list("summary")?.push(content);
                vec![Delta::Reasoning { index, text }]
            }
            "thought_signature" => {
                let more = string(&delta, "signature").ok_or("its `signature` is not a text")?;
                let before = text(&self.step, "signature").unwrap_or_default();
                let signature = format!("{before}{more}");
                self.step.insert("signature".to_owned(), signature.into());
                Vec::new()
            }
            "arguments_delta" => {
                let arguments =
                    string(&delta, "arguments").ok_or("its `arguments` are not a text")?;
                self.arguments.push_str(&arguments);
                vec![Delta::Call(CallDelta {
                    index,
                    arguments,
                    ..CallDelta::default()
                })]
            }
            "text_annotation_delta" => {
                self.annotate(delta.shift_remove("annotations"))?;
                Vec::new()
            }
            "image" | "audio" | "video" | "document" => {
                self.list("content")?.push(Value::Object(delta.clone()));
                vec![Delta::Other {
                    event: kind,
                    json: delta.into(),
                }]
            }
            _ => {
                delta.shift_remove("type");
                let json = Value::Object(delta.clone());
                self.merge(delta);
                vec![Delta::Other { event: kind, json }]
            }
        };
        Ok(deltas)
    }

    fn list(&mut self, name: &str) -> Result<&mut Vec<Value>, &'static str> {
        let list = self
            .step
            .entry(name)
            .or_insert_with(|| Value::Array(Vec::new()));
        list.as_array_mut()
            .ok_or("its step has no list for this content")
    }

    /// Appends to the last content if that is a text.
    fn add_text(&mut self, more: &str) -> Result<(), &'static str> {
        let contents = self.list("content")?;
        let last = contents.last_mut().and_then(Value::as_object_mut);
        if let Some(last) = last.filter(|last| text(last, "type") == Some("text")) {
            let before = text(last, "text").unwrap_or_default();
            let joined = format!("{before}{more}");
            last.insert("text".to_owned(), joined.into());
        } else {
            contents.push(serde_json::json!({"type": "text", "text": more}));
        }
        Ok(())
    }

    fn annotate(&mut self, annotations: Option<Value>) -> Result<(), &'static str> {
        let Some(Value::Array(annotations)) = annotations else {
            return Err("its `annotations` are not a list");
        };
        let last = self.list("content")?.last_mut();
        let last = last
            .and_then(Value::as_object_mut)
            .ok_or("its step has no text to annotate")?;
        let list = last
            .entry("annotations")
            .or_insert_with(|| Value::Array(Vec::new()));
        let list = list
            .as_array_mut()
            .ok_or("the annotations of its step are not a list")?;
        list.extend(annotations);
        Ok(())
    }

    /// Merges fields of a tool's step: texts, lists and objects are extended, other values
    /// replaced.
    fn merge(&mut self, delta: Map<String, Value>) {
        for (name, value) in delta {
            match (self.step.get_mut(&name), value) {
                (Some(Value::String(before)), Value::String(more)) => before.push_str(&more),
                (Some(Value::Array(before)), Value::Array(more)) => before.extend(more),
                (Some(Value::Object(before)), Value::Object(more)) => before.extend(more),
                (_, value) => {
                    self.step.insert(name, value);
                }
            }
        }
    }
}
