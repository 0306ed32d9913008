//! Assembles one content block from its deltas.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::json::text_of;
use crate::precision::{self, ParsingLosses};
use crate::stream::{CallDelta, Delta};

/// A block as received so far.
#[derive(Debug)]
pub(super) struct ConverseBlockBuilder {
    start: Value,
    partial: PartialBlock,
    pub(super) is_ended: bool,
}

#[derive(Debug, Default)]
enum PartialBlock {
    /// No delta yet, and a start without a known kind.
    #[default]
    Nothing,
    Text {
        text: String,
        citations: Vec<Value>,
    },
    Call {
        input: String,
    },
    Result {
        parts: Vec<Value>,
    },
    Thinking {
        text: String,
        signature: String,
    },
    Redacted {
        data: Vec<u8>,
    },
    Image {
        image: Map<String, Value>,
    },
    /// A block of unknown kind, with its deltas by name.
    Other {
        pieces: Map<String, Value>,
    },
}

impl ConverseBlockBuilder {
    /// Creates a block from its `start`; null if it starts with its first delta.
    pub(super) fn new(start: Value) -> Self {
        let has = |name: &str| start.get(name).is_some();
        let partial = if has("toolUse") {
            PartialBlock::Call {
                input: String::new(),
            }
        } else if has("toolResult") {
            PartialBlock::Result { parts: Vec::new() }
        } else if has("image") {
            PartialBlock::Image { image: Map::new() }
        } else {
            PartialBlock::Nothing
        };
        Self {
            start,
            partial,
            is_ended: false,
        }
    }

    /// Whether the same start event again changes nothing.
    pub(super) fn is_repeated_start(&self, start: &Value) -> bool {
        let is_empty = match &self.partial {
            PartialBlock::Nothing => true,
            PartialBlock::Call { input } => input.is_empty(),
            PartialBlock::Result { parts } => parts.is_empty(),
            PartialBlock::Image { image } => image.is_empty(),
            PartialBlock::Text { .. }
            | PartialBlock::Thinking { .. }
            | PartialBlock::Redacted { .. } => false,
            PartialBlock::Other { .. } => false,
        };
        is_empty && !self.is_ended && self.start == *start
    }

    fn call(&self) -> Option<&Value> {
        self.start.get("toolUse")
    }

    /// Whether the block is a call for the client to execute.
    pub(super) fn is_local_call(&self) -> bool {
        self.call()
            .is_some_and(|call| text_of(call, "type") != "server_tool_use")
    }

    /// The delta of its start event.
    pub(super) fn start_delta(&self, index: u64) -> Option<Delta> {
        let call = self.call().filter(|_| self.is_local_call());
        let owned = |call: &Value, name: &str| Some(text_of(call, name).to_owned());
        match call {
            Some(call) => Some(Delta::Call(CallDelta {
                index,
                call_id: owned(call, "toolUseId"),
                name: owned(call, "name"),
                arguments: String::new(),
            })),
            None => {
                let (event, _) = self.start.as_object()?.iter().next()?;
                Some(Delta::Other {
                    event: event.clone(),
                    json: json!({"contentBlockIndex": index, "start": self.start}),
                })
            }
        }
    }

    /// Applies a delta. An error completes a sentence that starts with the block's name.
    pub(super) fn append(
        &mut self,
        index: u64,
        name: &str,
        piece: Value,
    ) -> Result<Option<Delta>, String> {
        let is_local = self.is_local_call();
        if matches!(self.partial, PartialBlock::Nothing) {
            self.partial = first(name, &piece);
        }
        match (&mut self.partial, name) {
            (PartialBlock::Text { text, .. }, "text") => {
                let more = string(&piece, "text")?;
                text.push_str(&more);
                return Ok(Some(Delta::Text { index, text: more }));
            }
            (PartialBlock::Text { citations, .. }, "citation") => citations.push(piece),
            (PartialBlock::Call { input }, "toolUse") => {
                let arguments = text_of(&piece, "input").to_owned();
                input.push_str(&arguments);
                return Ok(is_local.then(|| {
                    Delta::Call(CallDelta {
                        index,
                        arguments,
                        ..CallDelta::default()
                    })
                }));
            }
            (PartialBlock::Result { parts }, "toolResult") => add_parts(parts, piece),
            (PartialBlock::Thinking { text, signature }, "reasoningContent") => {
                signature.push_str(text_of(&piece, "signature"));
                let more = text_of(&piece, "text").to_owned();
                text.push_str(&more);
                let has_text = !more.is_empty();
                return Ok(has_text.then_some(Delta::Reasoning { index, text: more }));
            }
            (PartialBlock::Redacted { data }, "reasoningContent") => {
                let more = STANDARD.decode(text_of(&piece, "redactedContent"));
                data.extend(more.map_err(|_| "has redacted content that is not base64")?);
            }
            (PartialBlock::Image { image }, "image") => match piece {
                Value::Object(more) => image.extend(more),
                _ => return Err("has an image delta that is not an object".to_owned()),
            },
            (PartialBlock::Other { pieces }, _) => {
                let delta = Delta::Other {
                    event: name.to_owned(),
                    json: json!({"contentBlockIndex": index, "delta": {name: piece}}),
                };
                pieces.insert(name.to_owned(), piece);
                return Ok(Some(delta));
            }
            _ => return Err(format!("has a `{name}` delta, but is of another kind")),
        }
        Ok(None)
    }

    /// The complete block; none if it is empty.
    pub(super) fn finish(self, rounded: &mut ParsingLosses) -> Option<Value> {
        let start = self.start;
        Some(match self.partial {
            PartialBlock::Nothing => return None,
            PartialBlock::Text { text, citations } if citations.is_empty() => json!({"text": text}),
            PartialBlock::Text { text, citations } => {
                json!({"citationsContent": {"content": [{"text": text}], "citations": citations}})
            }
            PartialBlock::Call { input } => {
                let input = match input.trim() {
                    "" => json!({}),
                    // Invalid JSON stays text, which is not a valid input, so the call is not executed.
                    _ => precision::parse_or_string(input, rounded),
                };
                json!({"toolUse": with(&start["toolUse"], [("input".to_owned(), input)])})
            }
            PartialBlock::Result { parts } => {
                json!({"toolResult": with(&start["toolResult"], [("content".to_owned(), parts.into())])})
            }
            PartialBlock::Thinking { text, signature } if signature.is_empty() => {
                json!({"reasoningContent": {"reasoningText": {"text": text}}})
            }
            PartialBlock::Thinking { text, signature } => {
                json!({"reasoningContent": {"reasoningText": {"text": text, "signature": signature}}})
            }
            PartialBlock::Redacted { data } => {
                json!({"reasoningContent": {"redactedContent": STANDARD.encode(data)}})
            }
            PartialBlock::Image { image } => {
                json!({"image": with(&start["image"], image)})
            }
            PartialBlock::Other { pieces } => Value::Object(pieces),
        })
    }
}

/// The start of a block extended by `added`; unchanged if it is not an object.
fn with(start: &Value, added: impl IntoIterator<Item = (String, Value)>) -> Value {
    let mut block = start.clone();
    if let Value::Object(members) = &mut block {
        members.extend(added);
    }
    block
}

/// The kind of a block that starts with this delta.
fn first(name: &str, piece: &Value) -> PartialBlock {
    match name {
        "text" | "citation" => PartialBlock::Text {
            text: String::new(),
            citations: Vec::new(),
        },
        "reasoningContent" if piece.get("redactedContent").is_some() => {
            PartialBlock::Redacted { data: Vec::new() }
        }
        "reasoningContent" => PartialBlock::Thinking {
            text: String::new(),
            signature: String::new(),
        },
        // A call or result without a start event has no id, so it is not a call.
        _ => PartialBlock::Other { pieces: Map::new() },
    }
}

fn string(piece: &Value, name: &str) -> Result<String, String> {
    let text = piece.as_str().map(str::to_owned);
    text.ok_or_else(|| format!("has a `{name}` that is not a string"))
}

/// Appends parts to a result; a text continues the text before it.
fn add_parts(parts: &mut Vec<Value>, piece: Value) {
    let more = match piece {
        Value::Array(more) => more,
        one => vec![one],
    };
    for (at, part) in more.into_iter().enumerate() {
        let last = parts.last_mut().and_then(|last| last.get_mut("text"));
        match (last, part.get("text").and_then(Value::as_str)) {
            (Some(Value::String(last)), Some(text)) if at == 0 => last.push_str(text),
            _ => parts.push(part),
        }
    }
}
