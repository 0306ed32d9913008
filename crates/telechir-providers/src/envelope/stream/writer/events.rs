//! The bytes of a response's events, and what later events repeat of earlier ones.

use serde_json::Value;

use super::frame;
use crate::envelope::api::Api;
use crate::envelope::stream::head::StreamHead;

/// Writes the events of one response.
#[derive(Debug)]
pub(in crate::envelope::stream) struct EventWriter {
    pub(super) api: Api,
    pub(super) head: Option<StreamHead>,
    bytes: Vec<u8>,
    /// Number of events so far.
    pub(super) sequence: u64,
    /// Ids of the calls so far, whose positions are their indexes in a chat message.
    pub(super) calls: Vec<String>,
}

impl EventWriter {
    pub(in crate::envelope::stream) fn new(api: Api) -> Self {
        Self {
            api,
            head: None,
            bytes: Vec::new(),
            sequence: 0,
            calls: Vec::new(),
        }
    }

    pub(in crate::envelope::stream) fn has_started(&self) -> bool {
        self.head.is_some()
    }

    /// The bytes since the last call.
    pub(in crate::envelope::stream) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// A server-sent event with the name of its type.
    pub(super) fn event(&mut self, name: &str, data: &Value) {
        self.sequence += 1;
        let text = format!("event: {name}\ndata: {data}\n\n");
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// A server-sent event without a name.
    pub(super) fn data(&mut self, data: &Value) {
        self.sequence += 1;
        self.bytes
            .extend_from_slice(format!("data: {data}\n\n").as_bytes());
    }

    pub(super) fn done(&mut self) {
        self.bytes.extend_from_slice(b"data: [DONE]\n\n");
    }

    /// A frame of an AWS event stream.
    pub(super) fn frame(&mut self, name: &str, payload: &Value) {
        self.sequence += 1;
        frame::write(name, payload.to_string().as_bytes(), &mut self.bytes);
    }

    pub(super) fn head(&self) -> StreamHead {
        self.head.clone().unwrap_or_default()
    }
}
