//! Decodes event-stream frames of JSON and passes the events to a dialect's [`EventAssembler`].

use serde_json::{Map, Value};
use telechir_protocol::json_limits;

use super::event_stream::{EventFrame, EventFrameReader};
use crate::StreamError;
use crate::json::text_of;
use crate::precision::ParsingLosses;
use crate::stream::{Delta, EventAssembler, StreamDecoder};

/// Decodes a stream of frames. An event's name is its frame's `:event-type`.
pub(super) struct EventStreamResponse<A> {
    reader: EventFrameReader,
    assembler: A,
    rounded: ParsingLosses,
}

impl<A: EventAssembler + Default + 'static> EventStreamResponse<A> {
    pub(super) fn boxed() -> Box<dyn StreamDecoder> {
        Box::new(Self {
            reader: EventFrameReader::default(),
            assembler: A::default(),
            rounded: ParsingLosses::default(),
        })
    }
}

impl<A: EventAssembler> StreamDecoder for EventStreamResponse<A> {
    fn push(&mut self, bytes: &[u8]) -> Result<Vec<Delta>, StreamError> {
        let before = self.reader.number();
        let mut deltas = Vec::new();
        for (at, frame) in self.reader.push(bytes)?.into_iter().enumerate() {
            let event = event(&frame, before + at + 1)?;
            self.rounded.check_event(&frame.payload);
            deltas.extend(self.assembler.event(Some(&frame.name), event)?);
        }
        Ok(deltas)
    }

    fn finish(self: Box<Self>, rounded: &mut ParsingLosses) -> Result<Value, StreamError> {
        if self.reader.is_open() {
            let number = self.reader.number() + 1;
            return Err(StreamError::truncated(format!("frame {number} is cut off")));
        }
        rounded.absorb(self.rounded);
        self.assembler.finish(rounded)
    }
}

/// The event in a frame, without the padding that hides its length.
fn event(frame: &EventFrame, number: usize) -> Result<Value, StreamError> {
    let json = if frame.payload.is_empty() {
        Ok(Value::Object(Map::new()))
    } else {
        json_limits::parse(&frame.payload)
    };
    if frame.kind != "event" {
        return Err(exception(frame, &json.unwrap_or_default()));
    }
    let mut event =
        json.map_err(|error| StreamError::bad_event(number, format!("it is not JSON: {error}")))?;
    if let Some(members) = event.as_object_mut() {
        members.shift_remove(PADDING);
    }
    Ok(event)
}

const PADDING: &str = "p";

/// The error in an exception frame or in an error frame, which has no body.
fn exception(frame: &EventFrame, body: &Value) -> StreamError {
    let message = [
        text_of(body, "originalMessage"),
        text_of(body, "message"),
        text_of(body, "Message"),
        &frame.message,
        "no details",
    ];
    let message = message.into_iter().find(|message| !message.is_empty());
    let message = format!("{}: {}", frame.name, message.unwrap_or_default());
    StreamError::Provider { message }
}
