//! Writes a provider's own stream events.

mod anthropic;
mod chat;
mod conversations;
mod converse;
mod events;
mod frame;
mod google;
mod responses;

use serde_json::{Value, json};

use super::content_start::ContentStart;
use super::head::StreamHead;
use crate::envelope::api::Api;
use crate::envelope::members::put;

pub(super) use events::EventWriter;

impl EventWriter {
    pub(super) fn start(&mut self, head: &StreamHead) {
        self.head = Some(head.clone());
        match self.api {
            Api::Anthropic | Api::Invoke => anthropic::start(self, head),
            Api::Converse => converse::start(self),
            Api::Responses => responses::start(self, head),
            Api::Interactions => google::start_interaction(self, head),
            Api::Chat | Api::Mistral => chat::start(self),
            Api::Conversations => conversations::start(self, head),
            Api::Generate | Api::Framework | Api::Agents => {}
        }
    }

    /// Gives the whole response the id, the model and the time that the first event had.
    pub(super) fn keep_head(&self, document: &mut Value) {
        let Some(head) = &self.head else { return };
        let (id, model) = match self.api {
            Api::Generate => ("/responseId", "/modelVersion"),
            Api::Conversations => ("/conversation_id", ""),
            Api::Converse | Api::Agents | Api::Framework => ("", ""),
            _ => ("/id", "/model"),
        };
        if !id.is_empty() {
            put(document, id, head.id.as_str());
        }
        if !model.is_empty() && !head.model.is_empty() {
            put(document, model, head.model.as_str());
        }
    }

    /// Starts a content.
    pub(super) fn open(&mut self, at: usize, start: &ContentStart) {
        if let ContentStart::Call { id, .. } = start {
            self.calls.push(id.clone());
        }
        match self.api {
            Api::Anthropic | Api::Invoke => anthropic::open(self, at, start),
            Api::Converse => converse::open(self, at, start),
            Api::Responses => responses::open(self, at, start),
            Api::Interactions => google::open_step(self, at, start),
            Api::Chat | Api::Mistral => chat::open(self, start),
            Api::Generate | Api::Conversations | Api::Framework | Api::Agents => {}
        }
    }

    /// Adds to a content.
    pub(super) fn grow(&mut self, at: usize, start: &ContentStart, piece: &str) {
        match self.api {
            Api::Anthropic | Api::Invoke => anthropic::grow(self, at, start, piece),
            Api::Converse => converse::grow(self, at, start, piece),
            Api::Responses => responses::grow(self, at, start, piece),
            Api::Interactions => google::grow_step(self, at, start, piece),
            Api::Chat | Api::Mistral => chat::grow(self, start, piece),
            Api::Conversations => conversations::grow(self, at, start, piece),
            Api::Generate => google::text_chunk(self, piece),
            Api::Framework | Api::Agents => {}
        }
    }

    /// Ends a content; `text` is all of it.
    pub(super) fn close(&mut self, at: usize, start: &ContentStart, text: &str) {
        // A call without arguments has an empty object.
        let is_call = matches!(start, ContentStart::Call { .. });
        if is_call && text.trim().is_empty() {
            self.grow(at, start, "{}");
        }
        match self.api {
            Api::Anthropic | Api::Invoke => anthropic::close(self, at),
            Api::Converse => converse::close(self, at),
            Api::Responses => responses::close(self, at, start, text),
            Api::Interactions => google::close_step(self, at),
            _ => {}
        }
    }

    /// Writes a content that is complete.
    pub(super) fn complete(&mut self, at: usize, content: &Value) {
        match self.api {
            Api::Anthropic | Api::Invoke => anthropic::complete(self, at, content),
            Api::Converse => converse::complete(self, at, content),
            Api::Responses => responses::complete(self, at, content),
            Api::Interactions => google::complete_step(self, at, content),
            Api::Chat | Api::Mistral => chat::complete(self, content),
            Api::Conversations => conversations::complete(self, at, content),
            Api::Generate => google::part_chunk(self, content),
            Api::Agents => {
                for (name, payload) in content.as_object().into_iter().flatten() {
                    self.frame(name, payload);
                }
            }
            Api::Framework => {}
        }
    }

    /// Ends the response.
    pub(super) fn end(&mut self, document: &Value) {
        match self.api {
            Api::Anthropic | Api::Invoke => anthropic::end(self, document),
            Api::Converse => converse::end(self, document),
            Api::Responses => responses::end(self, document),
            Api::Interactions => google::end_interaction(self, document),
            Api::Generate => google::end_chunk(self, document),
            Api::Chat | Api::Mistral => chat::end(self, document),
            Api::Conversations => conversations::end(self, document),
            Api::Framework | Api::Agents => {}
        }
    }
}

/// The contents of a response, in the order of its stream.
pub(super) fn contents(api: Api, document: &Value) -> Vec<Value> {
    let list = |pointer: &str| {
        let list = document.pointer(pointer).and_then(Value::as_array);
        list.cloned().unwrap_or_default()
    };
    match api {
        Api::Anthropic | Api::Invoke => list("/content"),
        Api::Converse => list("/output/message/content"),
        Api::Responses => list("/output"),
        Api::Generate => list("/candidates/0/content/parts"),
        Api::Interactions => list("/steps"),
        Api::Conversations => list("/outputs"),
        Api::Agents => list("/completion"),
        Api::Framework => Vec::new(),
        Api::Chat | Api::Mistral => {
            let mut contents = match document.pointer("/choices/0/message/content") {
                Some(Value::String(text)) if !text.is_empty() => {
                    vec![json!({"type": "text", "text": text})]
                }
                Some(Value::Array(parts)) => parts.clone(),
                _ => Vec::new(),
            };
            contents.extend(list("/choices/0/message/tool_calls"));
            contents
        }
    }
}
