//! Server-sent events with JSON data, passed to the assembler of a dialect.

use serde_json::Value;
use telechir_protocol::json_limits;

use super::decoder::{Delta, StreamDecoder, StreamError};
use super::sse::SseReader;
use crate::precision::ParsingLosses;

/// Assembles a response from its events.
pub(crate) trait EventAssembler: Send {
    /// Takes the next event. `name` is the value of its `event` line.
    fn event(&mut self, name: Option<&str>, event: Value) -> Result<Vec<Delta>, StreamError>;

    /// Called for the final `[DONE]` of some services, which is not JSON.
    fn done(&mut self) {}

    /// The complete response. Adds numbers rounded in JSON strings of the events to `rounded`.
    fn finish(self, rounded: &mut ParsingLosses) -> Result<Value, StreamError>;
}

/// The data of the last event of some services.
const DONE: &str = "[DONE]";

/// Decodes a stream of server-sent events.
pub(crate) struct SseDecoder<A> {
    reader: SseReader,
    assembler: A,
    rounded: ParsingLosses,
}

impl<A: EventAssembler + Default + 'static> SseDecoder<A> {
    pub(crate) fn boxed() -> Box<dyn StreamDecoder> {
        Box::new(Self {
            reader: SseReader::default(),
            assembler: A::default(),
            rounded: ParsingLosses::default(),
        })
    }
}

impl<A: EventAssembler> StreamDecoder for SseDecoder<A> {
    fn push(&mut self, bytes: &[u8]) -> Result<Vec<Delta>, StreamError> {
        let before = self.reader.number();
        let mut deltas = Vec::new();
        for (at, event) in self.reader.push(bytes)?.into_iter().enumerate() {
            if event.data.trim() == DONE {
                self.assembler.done();
                continue;
            }
            let json = json_limits::parse(event.data.as_bytes()).map_err(|error| {
                StreamError::bad_event(before + at + 1, format!("its data is not JSON: {error}"))
            })?;
            self.rounded.check_event(event.data.as_bytes());
            deltas.extend(self.assembler.event(event.name.as_deref(), json)?);
        }
        Ok(deltas)
    }

    /// Some services omit the empty line after the last event.
    fn finish(mut self: Box<Self>, rounded: &mut ParsingLosses) -> Result<Value, StreamError> {
        if self.reader.is_open() {
            let number = self.reader.number() + 1;
            self.push(b"\n\n")
                .map_err(|_| StreamError::truncated(format!("event {number} is incomplete")))?;
        }
        rounded.absorb(self.rounded);
        self.assembler.finish(rounded)
    }
}
