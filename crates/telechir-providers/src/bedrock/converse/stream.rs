//! Assembles a response of ConverseStream; each block has an index. Text and thinking start with
//! their first delta, calls with a start event.

mod block_builder;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use block_builder::ConverseBlockBuilder;

use super::JsonObject;

use crate::StreamError;
use crate::precision::ParsingLosses;
use crate::stream::{Delta, EventAssembler};

/// A response as received so far.
#[derive(Debug, Default)]
pub(super) struct ConverseResponseBuilder {
    /// Number of events received.
    number: usize,
    role: Option<Value>,
    blocks: BTreeMap<u64, ConverseBlockBuilder>,
    stop: Option<JsonObject>,
    metadata: JsonObject,
}

impl EventAssembler for ConverseResponseBuilder {
    fn event(&mut self, name: Option<&str>, event: Value) -> Result<Vec<Delta>, StreamError> {
        self.number += 1;
        let name = name.unwrap_or_default();
        let Value::Object(event) = event else {
            return Err(self.bad("it is not an object"));
        };
        if name == "metadata" {
            self.metadata.extend(event);
            return Ok(Vec::new());
        }
        // Only metadata may follow the end of the message.
        if self.stop.is_some() {
            return Ok(Vec::new());
        }
        match name {
            "messageStart" => self.start_message(event),
            "contentBlockStart" => self.start_block(event),
            "contentBlockDelta" => self.append(event),
            "contentBlockStop" => self.end_block(&event),
            "messageStop" => {
                self.stop = Some(event);
                Ok(Vec::new())
            }
            _ => Ok(vec![Delta::Other {
                event: name.to_owned(),
                json: Value::Object(event),
            }]),
        }
    }

    fn finish(self, rounded: &mut ParsingLosses) -> Result<Value, StreamError> {
        let Some(stop) = self.stop else {
            return Err(StreamError::truncated("the end of the message is missing"));
        };
        let mut content = Vec::new();
        for (index, builder) in self.blocks {
            if !builder.is_ended {
                return Err(StreamError::truncated(format!("block {index} has no end")));
            }
            content.extend(builder.finish(rounded));
        }
        let role = self.role.unwrap_or_else(|| "assistant".into());
        let message = json!({"message": {"role": role, "content": content}});
        let mut response = Map::from_iter([("output".to_owned(), message)]);
        response.extend(stop);
        response.extend(self.metadata);
        Ok(Value::Object(response))
    }
}

impl ConverseResponseBuilder {
    fn bad(&self, problem: impl Into<String>) -> StreamError {
        StreamError::bad_event(self.number, problem)
    }

    fn start_message(&mut self, mut event: JsonObject) -> Result<Vec<Delta>, StreamError> {
        let role = event.shift_remove("role");
        if self.role.is_some() && self.role != role {
            return Err(self.bad("another message starts before the first has ended"));
        }
        self.role = role;
        Ok(Vec::new())
    }

    fn index(&self, event: &JsonObject) -> Result<u64, StreamError> {
        let index = event.get("contentBlockIndex").and_then(Value::as_u64);
        index.ok_or_else(|| self.bad("it has no `contentBlockIndex`"))
    }

    fn start_block(&mut self, mut event: JsonObject) -> Result<Vec<Delta>, StreamError> {
        let index = self.index(&event)?;
        let start = event.shift_remove("start").unwrap_or_default();
        if let Some(builder) = self.blocks.get(&index) {
            return if builder.is_repeated_start(&start) {
                Ok(Vec::new())
            } else {
                Err(self.bad(format!("block {index} starts twice")))
            };
        }
        let builder = ConverseBlockBuilder::new(start);
        let delta = builder.start_delta(index);
        self.blocks.insert(index, builder);
        Ok(delta.into_iter().collect())
    }

    fn append(&mut self, mut event: JsonObject) -> Result<Vec<Delta>, StreamError> {
        let index = self.index(&event)?;
        let Some(Value::Object(delta)) = event.shift_remove("delta") else {
            return Err(self.bad("it has no `delta`"));
        };
        let builder = self
            .blocks
            .entry(index)
            .or_insert_with(|| ConverseBlockBuilder::new(Value::Null));
        if builder.is_ended {
            return Err(self.bad(format!("block {index} has ended")));
        }
        let mut deltas = Vec::new();
        for (name, piece) in delta {
            match builder.append(index, &name, piece) {
                Ok(delta) => deltas.extend(delta),
                Err(problem) => return Err(self.bad(format!("block {index} {problem}"))),
            }
        }
        Ok(deltas)
    }

    fn end_block(&mut self, event: &JsonObject) -> Result<Vec<Delta>, StreamError> {
        let index = self.index(event)?;
        // A block without any delta is empty.
        let builder = self
            .blocks
            .entry(index)
            .or_insert_with(|| ConverseBlockBuilder::new(Value::Null));
        if builder.is_ended {
            return Err(self.bad(format!("block {index} ends twice")));
        }
        builder.is_ended = true;
        let is_call = builder.is_local_call();
        Ok(is_call
            .then_some(Delta::CallEnd { index })
            .into_iter()
            .collect())
    }
}
