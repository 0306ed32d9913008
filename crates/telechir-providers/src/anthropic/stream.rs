//! Assembles a message from stream events; each block has an index.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use telechir_protocol::json_limits;

use super::detect;
use crate::json::{Fields as Block, text};
use crate::precision::ParsingLosses;
use crate::stream::{CallDelta, Delta, EventAssembler};
use crate::{DecodeError, StreamError};

/// Field for a call's input that is not a JSON object. The API accepts it in requests.
pub(super) const INVALID_INPUT: &str = "INVALID_JSON";

/// A message as received so far.
#[derive(Debug, Default)]
pub(crate) struct AnthropicMessageBuilder {
    /// Number of events received.
    number: usize,
    message: Option<Block>,
    blocks: BTreeMap<u64, AnthropicBlockBuilder>,
    is_ended: bool,
    rounded: ParsingLosses,
}

/// A block as received so far.
#[derive(Debug)]
struct AnthropicBlockBuilder {
    /// The block of its start event, to recognize a repeated event.
    initial: Block,
    block: Block,
    /// The JSON text of a call's input so far.
    input: String,
    is_ended: bool,
}

impl EventAssembler for AnthropicMessageBuilder {
    fn event(&mut self, name: Option<&str>, event: Value) -> Result<Vec<Delta>, StreamError> {
        self.number += 1;
        let Value::Object(mut event) = event else {
            return Err(self.bad("it is not an object"));
        };
        let kind = text(&event, "type").or(name).unwrap_or_default().to_owned();
        // Events after the end of the message are ignored.
        if self.is_ended && kind != "error" {
            return Ok(Vec::new());
        }
        match kind.as_str() {
            "ping" => Ok(Vec::new()),
            "error" => Err(failed(event)),
            "message_start" => self.start_message(&mut event),
            "content_block_start" => self.start_block(&mut event),
            "content_block_delta" => self.append(event),
            "content_block_stop" => self.end_block(&event),
            "message_delta" => self.update_message(event),
            "message_stop" => {
                self.message_mut()?;
                self.is_ended = true;
                Ok(Vec::new())
            }
            _ => Ok(vec![other(kind, event)]),
        }
    }

    fn finish(self, rounded: &mut ParsingLosses) -> Result<Value, StreamError> {
        rounded.absorb(self.rounded);
        let Some(mut message) = self.message else {
            return Err(StreamError::truncated("no `message_start` event was found"));
        };
        if !self.is_ended {
            return Err(StreamError::truncated("the end of the message is missing"));
        }
        let mut content = Vec::new();
        for (index, builder) in self.blocks {
            if !builder.is_ended {
                return Err(StreamError::truncated(format!("block {index} has no end")));
            }
            content.push(Value::Object(builder.block));
        }
        // If no block event was received, the blocks of the start event remain.
        if !content.is_empty() || !message.get("content").is_some_and(Value::is_array) {
            message.insert("content".to_owned(), content.into());
        }
        Ok(Value::Object(message))
    }
}

impl AnthropicMessageBuilder {
    fn bad(&self, problem: impl Into<String>) -> StreamError {
        StreamError::bad_event(self.number, problem)
    }

    fn message_mut(&mut self) -> Result<&mut Block, StreamError> {
        let problem = StreamError::bad_event(self.number, "no message has started");
        self.message.as_mut().ok_or(problem)
    }

    fn start_message(&mut self, event: &mut Block) -> Result<Vec<Delta>, StreamError> {
        let Some(Value::Object(message)) = event.shift_remove("message") else {
            return Err(self.bad("it has no `message`"));
        };
        match &self.message {
            Some(started) if text(started, "id") != text(&message, "id") => {
                return Err(self.bad("another message starts before the first has ended"));
            }
            // A repeated event.
            Some(_) => {}
            None => self.message = Some(message),
        }
        Ok(Vec::new())
    }

    fn index(&self, event: &Block) -> Result<u64, StreamError> {
        let index = event.get("index").and_then(Value::as_u64);
        index.ok_or_else(|| self.bad("it has no `index`"))
    }

    fn start_block(&mut self, event: &mut Block) -> Result<Vec<Delta>, StreamError> {
        self.message_mut()?;
        let index = self.index(event)?;
        let Some(Value::Object(block)) = event.shift_remove("content_block") else {
            return Err(self.bad("it has no `content_block`"));
        };
        if let Some(builder) = self.blocks.get(&index) {
            return if builder.initial == block && !builder.is_ended && builder.block == block {
                Ok(Vec::new())
            } else {
                Err(self.bad(format!("block {index} starts twice")))
            };
        }
        let delta = initial_delta(index, &block);
        let builder = AnthropicBlockBuilder {
            initial: block.clone(),
            block,
            input: String::new(),
            is_ended: false,
        };
        self.blocks.insert(index, builder);
        Ok(delta.into_iter().collect())
    }

    fn builder(&mut self, index: u64) -> Result<&mut AnthropicBlockBuilder, StreamError> {
        let problem = match self.blocks.get(&index) {
            None => format!("block {index} has not started"),
            Some(builder) if builder.is_ended => format!("block {index} has ended"),
            Some(_) => String::new(),
        };
        let problem = self.bad(problem);
        let builder = self.blocks.get_mut(&index);
        builder.filter(|builder| !builder.is_ended).ok_or(problem)
    }

    fn append(&mut self, mut event: Block) -> Result<Vec<Delta>, StreamError> {
        let index = self.index(&event)?;
        let Some(Value::Object(delta)) = event.get("delta").cloned() else {
            return Err(self.bad("it has no `delta`"));
        };
        let builder = self.builder(index)?;
        let kind = text(&delta, "type").unwrap_or_default().to_owned();
        match kind.as_str() {
            "input_json_delta" => {
                let arguments = text(&delta, "partial_json").unwrap_or_default().to_owned();
                builder.input.push_str(&arguments);
                if is_call(&builder.block) {
                    return Ok(vec![Delta::Call(CallDelta {
                        index,
                        arguments,
                        ..CallDelta::default()
                    })]);
                }
            }
            "citations_delta" => {
                let citation = delta.get("citation").cloned().unwrap_or_default();
                match builder.block.get_mut("citations") {
                    Some(Value::Array(citations)) => citations.push(citation),
                    _ => {
                        let citations = Value::Array(vec![citation]);
                        builder.block.insert("citations".to_owned(), citations);
                    }
                }
            }
            "signature_delta" => {
                builder.block.extend(without_type(delta));
                return Ok(Vec::new());
            }
            _ => without_type(delta)
                .for_each(|(name, value)| apply_delta(&mut builder.block, name, value)),
        }
        let delta_text = |name: &str| event["delta"][name].as_str().unwrap_or_default().to_owned();
        Ok(vec![match kind.as_str() {
            "text_delta" => Delta::Text {
                index,
                text: delta_text("text"),
            },
            "thinking_delta" => Delta::Reasoning {
                index,
                text: delta_text("thinking"),
            },
            _ => {
                event.insert("index".to_owned(), index.into());
                other(kind, event)
            }
        }])
    }

    /// Completes a block. Invalid input is retained as text, so that the call is not executed.
    fn end_block(&mut self, event: &Block) -> Result<Vec<Delta>, StreamError> {
        let index = self.index(event)?;
        let builder = self.builder(index)?;
        builder.is_ended = true;
        let is_call = is_call(&builder.block);
        let input = std::mem::take(&mut builder.input);
        if !input.trim().is_empty() {
            let read = json_limits::parse(input.as_bytes()).ok();
            let parsed = read.filter(Value::is_object);
            let is_parsed = parsed.is_some();
            let parsed = parsed.unwrap_or_else(|| json!({ INVALID_INPUT: &input }));
            builder.block.insert("input".to_owned(), parsed);
            if is_parsed {
                self.rounded.check(input.as_bytes(), "");
            }
        }
        Ok(is_call
            .then_some(Delta::CallEnd { index })
            .into_iter()
            .collect())
    }

    /// Merges what a message event reports: stop reason, usage, changes to the request.
    fn update_message(&mut self, mut event: Block) -> Result<Vec<Delta>, StreamError> {
        let message = self.message_mut()?;
        if let Some(Value::Object(usage)) = event.shift_remove("usage") {
            let all = message
                .entry("usage")
                .or_insert_with(|| Value::Object(Map::new()));
            match all {
                Value::Object(all) => all.extend(without_nulls(usage)),
                _ => *all = Value::Object(usage),
            }
        }
        if let Some(Value::Object(delta)) = event.shift_remove("delta") {
            message.extend(delta.into_iter().filter(|(_, value)| !value.is_null()));
        }
        message.extend(without_nulls(event).filter(|(name, _)| name != "type"));
        Ok(Vec::new())
    }
}

fn without_nulls(members: Block) -> impl Iterator<Item = (String, Value)> {
    members.into_iter().filter(|(_, value)| !value.is_null())
}

fn without_type(delta: Block) -> impl Iterator<Item = (String, Value)> {
    delta.into_iter().filter(|(name, _)| name != "type")
}

/// Applies a delta to a field: strings and lists are extended, other values replaced.
fn apply_delta(block: &mut Block, name: String, value: Value) {
    match (block.get_mut(&name), value) {
        (Some(_), Value::Null) => {}
        (Some(Value::String(text)), Value::String(more)) => text.push_str(&more),
        (Some(Value::Array(items)), Value::Array(more)) => items.extend(more),
        (_, value) => {
            block.insert(name, value);
        }
    }
}

/// Whether a block is a call for the client to execute.
fn is_call(block: &Block) -> bool {
    text(block, "type") == Some("tool_use")
}

fn initial_delta(index: u64, block: &Block) -> Option<Delta> {
    let non_empty = |name: &str| {
        let text = text(block, name).filter(|text| !text.is_empty());
        text.map(str::to_owned)
    };
    let owned = |name: &str| text(block, name).map(str::to_owned);
    match text(block, "type") {
        Some("text") => non_empty("text").map(|text| Delta::Text { index, text }),
        Some("thinking") => non_empty("thinking").map(|text| Delta::Reasoning { index, text }),
        Some("tool_use") => {
            let (call_id, name) = (owned("id"), owned("name"));
            let input = block.get("input").filter(|input| {
                let members = input.as_object();
                !input.is_null() && !members.is_some_and(Map::is_empty)
            });
            Some(Delta::Call(CallDelta {
                index,
                call_id,
                name,
                arguments: input.map(Value::to_string).unwrap_or_default(),
            }))
        }
        kind => {
            let event = json!({"index": index, "content_block": block});
            Some(Delta::Other {
                event: kind.unwrap_or("content_block_start").to_owned(),
                json: event,
            })
        }
    }
}

fn other(event: String, json: Block) -> Delta {
    Delta::Other {
        event,
        json: Value::Object(json),
    }
}

/// An error event; its type may be only in the event's name.
fn failed(mut event: Block) -> StreamError {
    event.insert("type".to_owned(), "error".into());
    let message = match detect::provider_error(&Value::Object(event)) {
        Some(DecodeError::ProviderError { message }) => message,
        _ => "no details".to_owned(),
    };
    StreamError::Provider { message }
}
